import FileKit
import FoundationEssentials
import Glibc
import TransferCore
import TransferModel
import TransferStore

/// Checks for `--check-config` the groups, units, files and folders that a configuration names, with the rights of the
/// user who runs it.
struct ConfigurationTrial {
    let configuration: Configuration
    /// The PATH of a daemon; nil if there is none.
    var searchPath: String?

    private var settings: DaemonSettings { configuration.settings }
    private var isSystem: Bool { configuration.paths.system }

    /// The settings whose group, unit, file or folder cannot be used, in the table's order, each with the reason.
    func problems() -> [(name: String, message: String)] {
        let found: [String: String?] = [
            "socket": socketFault,
            "stateDirectory": stateFault, "adminGroup": groupFault, "allowedUnits": unitFault,
            "knownHosts": settings.knownHosts == nil ? nil : fileFault(configuration.knownHosts),
            "session.directory": directoryFault, "session.caFile": certificateFault,
            "credentialHelper": isSystem ? nil : helperFault, "maximumConnectionsPerUser": connectionsFault,
        ]
        // systemd creates the folders of the system daemon, for another user than the one who runs this check.
        let passedOver: Set = isSystem ? ["socket", "stateDirectory"] : []
        return SettingsTable.all.compactMap { setting in
            if passedOver.contains(setting.name), configuration.origin(of: setting.name) == .default { return nil }
            return found[setting.name].flatMap { $0 }.map { (setting.name, $0) }
        }
    }

    /// Why the socket cannot be used. A socket that a killed daemon left behind is not a mistake.
    private var socketFault: String? {
        let path = configuration.socket
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            return "\(path) exists and is not a socket; move it away, or name another path."
        }
        return folderFault(Self.above(path))
    }

    private var stateFault: String? {
        let path = configuration.stateDirectory
        do {
            try TransferStore.check(folder: path)
            return Self.kernelsFault(path, Self.existing(path))
        } catch {
            return (error as? TransferError)?.message ?? "\(error)"
        }
    }

    /// A fault if `place` is in proc(5) or sysfs(5). Their folders look writable to root, but no file can be created
    /// there.
    private static func kernelsFault(_ path: String, _ place: String) -> String? {
        func device(_ path: String) -> dev_t? {
            var status = stat()
            return stat(path, &status) == 0 ? status.st_dev : nil
        }
        guard let own = device(place), own == device("/proc") || own == device("/sys"), own != device("/") else {
            return nil
        }
        return
            "\(path) cannot be used: \(place) belongs to the kernel, and no file can be made there; name another folder."
    }

    private var connectionsFault: String? {
        let (all, own) = (settings.maximumConnections, settings.maximumConnectionsPerUser)
        guard configuration.origin(of: "maximumConnectionsPerUser") != .default, own > all else { return nil }
        return "\(own) is more than maximumConnections (\(all)), which also holds for one user; make it at most that."
    }

    /// The default group may be missing. Then only root is an administrator.
    private var groupFault: String? {
        guard isSystem, configuration.origin(of: "adminGroup") != .default,
            !GroupMembership.exists(settings.adminGroup)
        else { return nil }
        return "there is no group \(settings.adminGroup); create it, or name another one."
    }

    private var unitFault: String? {
        settings.allowedUnits.first { !UnitName.isValid($0) }.map {
            "\"\($0)\" is not the full name of a systemd unit; write it as in import.service."
        }
    }

    /// A name without a slash is looked up in the daemon's PATH.
    private var helperFault: String? {
        guard let program = settings.credentialHelper?.split(separator: " ").first.map(String.init) else { return nil }
        if program.contains("/") { return programFault(program) }
        let path = searchPath ?? "/usr/local/bin:/usr/bin:/bin"
        let places = path.split(separator: ":").map { "\($0)/\(program)" }
        return places.contains { programFault($0) == nil }
            ? nil : "there is no program \(program) in \(path); name another one, or give its path."
    }

    private func programFault(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return "\(path): \(errorText(errno)); name an existing program." }
        guard status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else {
            return "\(path) is not a program that can be run; make it executable (chmod +x) or name another one."
        }
        return nil
    }

    /// Not for the system daemon, which creates the users' folders below its own.
    private var directoryFault: String? {
        isSystem || settings.session.directory == nil ? nil : configuration.downloadDirectory.flatMap(folderFault)
    }

    private var certificateFault: String? {
        guard let path = settings.session.caFile.map(configuration.paths.expanded) else { return nil }
        if let fault = fileFault(path) { return fault }
        switch FileText.read(path, limit: 16 << 20) {
        case .missing: return "\(path) does not exist; name an existing file."
        case .failed(let reason): return "\(path) cannot be read: \(reason)."
        case .text(let text):
            return Self.holdsCertificate(text) ? nil : "\(path) contains no PEM certificate; name a file that does."
        }
    }

    /// Whether a block of base64 (RFC 7468) begins like a certificate in DER.
    static func holdsCertificate(_ text: String) -> Bool {
        let blocks = text.split(separator: "-----BEGIN ").dropFirst()
        return blocks.contains { block in
            guard block.hasPrefix("CERTIFICATE-----") || block.hasPrefix("TRUSTED CERTIFICATE-----"),
                let begin = block.firstIndex(where: \.isNewline), let end = block.firstRange(of: "-----END ")
            else { return false }
            let body = block[begin..<end.lowerBound].filter { !$0.isWhitespace }
            return Data(base64Encoded: String(body))?.first == 0x30
        }
    }

    private func fileFault(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return "\(path): \(errorText(errno)); name an existing file." }
        guard status.st_mode & S_IFMT == S_IFREG else { return "\(path) is not a regular file." }
        return access(path, R_OK) == 0 ? nil : "\(path) cannot be read: \(errorText(errno))."
    }

    /// Why this user cannot create the folder, or cannot write to it if it exists.
    private func folderFault(_ path: String) -> String? {
        var place = path
        while true {
            var status = stat()
            if stat(place, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFDIR else { return "\(place) is not a folder; name another one." }
                if let fault = Self.kernelsFault(path, place) { return fault }
                guard access(place, W_OK | X_OK) != 0 else { return nil }
                let what = place == path ? "written in" : "made: \(place) cannot be written in"
                return "\(path) cannot be \(what) (\(errorText(errno))); change its rights or name another folder."
            }
            guard errno == ENOENT, place.count > 1 else {
                return "\(path) cannot be used (\(errorText(errno))); name another folder."
            }
            place = Self.above(place)
        }
    }

    private static func above(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// The path itself, or else the nearest existing folder above it.
    private static func existing(_ path: String) -> String {
        var place = path
        while access(place, F_OK) != 0, place.count > 1 { place = above(place) }
        return place
    }
}

import FileKit
import Glibc
import TransferCore
import TransferModel

/// The program that serves a scheme, as it was found.
struct HelperProgram: Hashable, Sendable {
    var path: String
    var identity: FileIdentity
    /// A program that was changed may speak otherwise.
    var changed: Int64
}

/// Where the programs lie that serve the schemes which dld does not know: the first folder that has one counts.
///
/// A user's daemon takes files of the user and of root that not everybody can write. A system daemon takes files that only
/// root can change: they and all folders on their way are root's, so that nobody can put another in their place between the
/// look and the start. Its calls block.
package struct HelperFolders: Sendable {
    private let folders: [String]
    private let isSystem: Bool

    /// - Parameter home: of the daemon's user; a system daemon looks there for nothing.
    package init(isSystem: Bool, home: String?) {
        let shared = ["/usr/local/lib/dld/schemes", "/usr/lib/dld/schemes"]
        let own = home.flatMap { isSystem || $0.isEmpty ? nil : "\($0)/.local/lib/dld/schemes" }
        self.init(isSystem: isSystem, folders: [own].compactMap { $0 } + shared)
    }

    init(isSystem: Bool, folders: [String]) {
        self.isSystem = isSystem
        self.folders = folders
    }

    /// The program of a scheme.
    /// - Throws: `request.bad_url` with the reason and the folders.
    func program(of scheme: String) throws(TransferError) -> HelperProgram {
        var refusal: String?
        guard URLScheme.isName(scheme), URLScheme(rawValue: scheme).map({ $0 == .helper }) ?? true else {
            throw URLRules.unknown(scheme: scheme)
        }
        for folder in folders {
            switch look(for: scheme, in: folder) {
            case .program(let program): return program
            case .refused(let reason): refusal = refusal ?? "\(folder)/\(scheme) is not used: \(reason)"
            case .absent: break
            }
        }
        throw URLRules.unknown(
            scheme: scheme,
            refusal ?? "no helper for it is in \(folders.joined(separator: ", ")): install one, or correct the URL")
    }

    /// The schemes that have a helper, sorted.
    package func available() -> [String] {
        var found: Set<String> = []
        for folder in folders {
            guard let entries = opendir(folder) else { continue }
            defer { closedir(entries) }
            while let entry = readdir(entries) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if URLScheme.isName(name) { found.insert(name) }
            }
        }
        return found.filter { (try? program(of: $0)) != nil }.sorted()
    }

    // MARK: One file

    private enum Look {
        case absent
        case refused(String)
        case program(HelperProgram)
    }

    private func look(for scheme: String, in folder: String) -> Look {
        let path = "\(folder)/\(scheme)"
        guard let resolved = realpath(path, nil) else { return errno == ENOENT ? .absent : .refused(errorText(errno)) }
        defer { free(resolved) }
        let program = String(cString: resolved)
        var status = stat()
        guard stat(program, &status) == 0 else { return .absent }
        guard isRegular(status) else { return .refused("it is not a regular file") }
        if let reason = mistrust(status) { return .refused("it \(reason)") }
        if isSystem, let reason = mistrustedFolder(of: program) ?? mistrustedFolder(of: path) {
            return .refused(reason)
        }
        guard access(program, X_OK) == 0 else { return .refused("it is not executable") }
        return .program(
            HelperProgram(path: program, identity: FileIdentity(status), changed: nanoseconds(status.st_ctim)))
    }

    /// Why a file or folder could be somebody else's; nil if it is not.
    private func mistrust(_ status: stat) -> String? {
        guard status.st_uid == 0 || !isSystem && status.st_uid == geteuid() else {
            return isSystem ? "does not belong to root" : "belongs to another user"
        }
        if status.st_mode & 0o002 != 0 { return "can be written by others" }
        // A user's group is mostly the user alone.
        return isSystem && status.st_mode & 0o020 != 0 ? "can be written by its group" : nil
    }

    /// - Parameter path: absolute; a link in it is looked at as it is, and where it leads by another call.
    private func mistrustedFolder(of path: String) -> String? {
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            let name = folder.isEmpty ? "/" : String(folder)
            var status = stat()
            guard lstat(name, &status) == 0 else { return "\(name) cannot be looked at" }
            if isLink(status) {
                if status.st_uid != 0 { return "\(name) does not belong to root" }
                continue
            }
            if let reason = mistrust(status) { return "\(name) \(reason)" }
        }
        return nil
    }
}

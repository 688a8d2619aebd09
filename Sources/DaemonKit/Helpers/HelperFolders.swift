import FileKit
import Glibc
import TransferCore
import TransferModel

/// The program that serves a scheme, as found on the disk.
struct HelperProgram: Hashable, Sendable {
    var path: String
    var identity: FileIdentity
    /// The time of the file's last change: a changed program may behave differently.
    var changed: Int64
}

/// Finds the helpers for schemes that dld does not know. The first folder that has one decides.
///
/// A user's daemon accepts files of the user and of root that are not writable by everybody. A system daemon accepts
/// only files that nobody but root can change: the file and all folders on its path must belong to root, so that nobody
/// can replace it between the check and the start. The calls block.
package struct HelperFolders: Sendable {
    private let folders: [String]
    private let isSystem: Bool

    /// - Parameter home: the home of the daemon's user. A system daemon ignores it.
    package init(isSystem: Bool, home: String?) {
        let shared = ["/usr/local/lib/dld/schemes", "/usr/lib/dld/schemes"]
        let own = home.flatMap { isSystem || $0.isEmpty ? nil : "\($0)/.local/lib/dld/schemes" }
        self.init(isSystem: isSystem, folders: [own].compactMap { $0 } + shared)
    }

    init(isSystem: Bool, folders: [String]) {
        self.isSystem = isSystem
        self.folders = folders
    }

    /// Returns the helper for a scheme.
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

    /// Returns the schemes that have a helper, sorted.
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

    /// Returns why somebody else could have changed a file or folder; nil if nobody could.
    private func mistrust(_ status: stat) -> String? {
        guard status.st_uid == 0 || !isSystem && status.st_uid == geteuid() else {
            return isSystem ? "does not belong to root" : "belongs to another user"
        }
        if status.st_mode & 0o002 != 0 { return "can be written by others" }
        // A user's own group usually has no other member.
        return isSystem && status.st_mode & 0o020 != 0 ? "can be written by its group" : nil
    }

    /// - Parameter path: absolute. A symbolic link in it is checked itself; another call checks its target.
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

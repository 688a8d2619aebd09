import CLinux
import Glibc
import TransferModel

/// The only gate to the file system for paths that clients name, for reading and for writing.
///
/// A user's own daemon has exactly that user's rights, so the kernel decides. The system daemon has rights that its
/// clients lack, and must not lend them out. It opens only what is below `<root>/<uid>/`, relative to an open
/// descriptor and without following symbolic links (`PathsBeneath`). Everything else is `permission.denied`. All calls
/// block: run them in a `BlockingPool`.
package struct FileAccess: Sendable {
    package enum Mode: Sendable, Hashable {
        case user
        /// `root` is the daemon's own folder, with one folder for each user id.
        case system(root: String)
    }

    package let mode: Mode
    /// The folder with the daemon's own files. Nothing is delivered there.
    private let stateFolder: String?
    private let beneath: PathsBeneath

    package init(mode: Mode, stateFolder: String? = nil, beneath: PathsBeneath = .available) {
        self.mode = mode
        self.stateFolder = stateFolder
        self.beneath = beneath
    }

    /// Opens the folder `path` for delivery on behalf of `owner`.
    /// - Parameter create: creates missing folders (mode 0777 minus the umask).
    /// - Throws: `permission.denied`, `destination.bad_path`, `destination.not_writable`, `disk.*`.
    package func openFolder(_ path: String, owner: UserID, create: Bool) throws(TransferError) -> Folder {
        let start = try base(for: path, owner: owner)
        var current = start.descriptor
        for component in start.components {
            current = try step(into: component, of: current, path: path, owner: owner, create: create)
        }
        let folder = try Folder(path: path, descriptor: current)
        if let stateFolder {
            var own = stat()
            if stat(stateFolder, &own) == 0, FileIdentity(own) == folder.identity {
                throw TransferError(
                    .destinationBadPath, "\(path) is the daemon's own state folder; name another folder.",
                    details: ["path": .string(path)])
            }
        }
        return folder
    }

    /// Opens a local file that a client wants to be read: a source, a body, a key, a `file:` URL.
    /// - Throws: `permission.denied`, `source.unreadable` (also if it is not a regular file).
    package func openForReading(_ path: String, owner: UserID) throws(TransferError) -> OpenedFile {
        let start = try base(for: path, owner: owner)
        // O_NONBLOCK: a FIFO without a writer must not block the thread. It is refused right after.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let (descriptor, code) = retrying { () -> Int32 in
            isConfined
                ? beneath.open(start.components, beneath: start.descriptor.rawValue, flags)
                : Glibc.open(path, flags)
        }
        guard descriptor >= 0 else {
            if isConfined { try refuse(path, of: owner, code) }
            throw .source(errno: code, path)
        }
        return try OpenedFile(path: path, descriptor: Descriptor(descriptor))
    }

    /// The folder for downloads of clients that name none.
    package func homeFolder(of owner: UserID) -> String? {
        switch mode {
        case .user: nil
        case .system(let root): root + "/\(owner)"
        }
    }

    /// In system mode: creates `<root>/<uid>/`, which only that user and the daemon share, through an ACL. Has no
    /// effect in user mode.
    package func prepareFolder(of owner: UserID) throws(TransferError) {
        guard case .system(let root) = mode else { return }
        if mkdir(root, 0o711) != 0, errno != EEXIST { throw .destination(errno: errno, "create", root) }
        try Self.makePassable(root)
        let path = root + "/\(owner)"
        let isNew = mkdir(path, 0o700) == 0
        if !isNew, errno != EEXIST { throw .destination(errno: errno, "create", path) }
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .destination(errno: errno, "open", path) }
        let folder = Descriptor(descriptor)
        try AccessControlList.shared(between: owner, and: UserID(geteuid())).apply(to: folder.rawValue, path: path)
    }

    /// Users must be able to reach their folders, but not to list what is next to them. The state folder and `root` get
    /// only the search bit for everybody, whatever the umask. The contents of the state folder are private by their own
    /// modes.
    private static func makePassable(_ root: String) throws(TransferError) {
        for path in [root, root + "/.."] {
            let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard folder >= 0 else { throw .destination(errno: errno, "open", path) }
            let descriptor = Descriptor(folder)
            guard let status = FileKit.status(of: descriptor.rawValue), status.st_mode & 0o011 != 0o011,
                status.st_uid == geteuid()
            else { continue }
            if fchmod(descriptor.rawValue, status.st_mode & 0o7777 | 0o011) != 0 {
                throw .destination(errno: errno, "share", path)
            }
        }
    }

    // MARK: - Walking

    private struct Start {
        var descriptor: Descriptor
        var components: [String]
    }

    /// Tells whether files are opened only below a folder of the daemon.
    package var isConfined: Bool {
        switch mode {
        case .user: false
        case .system: true
        }
    }

    private func base(for path: String, owner: UserID) throws(TransferError) -> Start {
        try PathRules.requireAbsolute(path)
        switch mode {
        case .user:
            return Start(
                descriptor: try Self.open(folder: "/", named: path), components: PathRules.components(of: path))
        case .system(let root):
            let home = PathRules.normalized(root) + "/\(owner)"
            // No links are followed below, so resolving `..` in the text gives the same result as the kernel.
            let wanted = PathRules.normalized(path)
            guard wanted == home || wanted.hasPrefix(home + "/") else { throw denied(path, owner) }
            try prepareFolder(of: owner)
            return Start(
                descriptor: try Self.open(folder: home, named: path),
                components: PathRules.components(of: String(wanted.dropFirst(home.count))))
        }
    }

    private static func open(folder: String, named path: String) throws(TransferError) -> Descriptor {
        let descriptor = Glibc.open(folder, DLD_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .destination(errno: errno, "open", path) }
        return Descriptor(descriptor)
    }

    private func step(
        into component: String, of folder: Descriptor, path: String, owner: UserID, create: Bool
    ) throws(TransferError) -> Descriptor {
        var (descriptor, code) = enter(component, of: folder)
        if descriptor < 0, code == ENOENT, create {
            if mkdirat(folder.rawValue, component, 0o777) != 0, errno != EEXIST {
                throw .destination(errno: errno, "create", path)
            }
            (descriptor, code) = enter(component, of: folder)
        }
        guard descriptor >= 0 else {
            if isConfined, Self.meansEscape(code) { throw denied(path, owner) }
            throw .destination(errno: code, "open", path)
        }
        return Descriptor(descriptor)
    }

    private func enter(_ component: String, of folder: Descriptor) -> (Int32, Int32) {
        let first = enter(component, of: folder, flags: O_RDONLY)
        // A folder that one may write to and search, but not list, is still a valid destination.
        return first.0 < 0 && first.1 == EACCES ? enter(component, of: folder, flags: DLD_O_PATH) : first
    }

    private func enter(_ component: String, of folder: Descriptor, flags: Int32) -> (Int32, Int32) {
        let flags = flags | O_DIRECTORY | O_CLOEXEC
        return retrying { () -> Int32 in
            isConfined
                ? beneath.open([component], beneath: folder.rawValue, flags)
                : openat(folder.rawValue, component, flags)
        }
    }

    /// Tells whether the path leaves its folder or contains a symbolic link.
    private static func meansEscape(_ code: Int32) -> Bool { code == EXDEV || code == ELOOP || code == EAGAIN }

    /// Throws what a failed open means if the file's user does not open it in person.
    private func refuse(_ path: String, of owner: UserID, _ code: Int32) throws(TransferError) {
        if Self.meansEscape(code) { throw denied(path, owner) }
        guard code == EACCES else { return }
        throw TransferError(
            .sourceUnreadable,
            "Cannot read \(path): the daemon runs as another user, and the file's mode does not let that user read it. "
                + "Let it read the file: setfacl -m u:\(geteuid()):r \(path)",
            details: ["path": .string(path), "errno": .integer(Int64(code))])
    }

    private func denied(_ path: String, _ owner: UserID) -> TransferError {
        let folder = homeFolder(of: owner) ?? ""
        return TransferError(
            .permissionDenied,
            "\(path): the system daemon reads and writes only in your own folder, \(folder), and follows no symbolic "
                + "link there.",
            details: ["path": .string(path), "folder": .string(folder)])
    }
}

/// A regular file open for reading, with its attributes at that moment.
package final class OpenedFile: Sendable {
    package let path: String
    package let identity: FileIdentity
    package let size: ByteCount
    /// Seconds since 1970.
    package let modificationTime: Int64
    private let descriptor: Descriptor

    package var fileDescriptor: Int32 { descriptor.rawValue }
    /// A path that leads to this very file as long as this object lives, for code that accepts only paths.
    package var descriptorPath: String { "/proc/self/fd/\(descriptor.rawValue)" }

    package init(path: String, descriptor: Descriptor) throws(TransferError) {
        guard let status = FileKit.status(of: descriptor.rawValue) else { throw .source(errno: errno, path) }
        guard isRegular(status) else {
            throw TransferError(
                .sourceUnreadable, "\(path) is not a regular file.", details: ["path": .string(path)])
        }
        self.path = path
        self.descriptor = descriptor
        identity = FileIdentity(status)
        size = ByteCount(Int64(status.st_size))
        modificationTime = Int64(status.st_mtim.tv_sec)
    }
}

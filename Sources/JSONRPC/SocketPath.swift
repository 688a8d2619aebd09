import Glibc

/// The path of a Unix socket. It is refused if it cannot work, and a socket left there by a crash is removed.
package struct SocketPath: Sendable, Hashable {
    package let path: String
    /// The mode of folders that must be created; nil if the folder must exist.
    package var folderMode: mode_t?
    package var socketMode: mode_t

    package struct Unusable: Error, Hashable, Sendable, CustomStringConvertible {
        package var description: String
        /// Tells whether a living process listens there.
        package var isTaken: Bool

        package init(description: String, isTaken: Bool = false) {
            self.description = description
            self.isTaken = isTaken
        }
    }

    /// - Throws: `Unusable` if the path is not absolute, or its name does not fit into a socket address.
    package init(_ path: String, folderMode: mode_t? = 0o700, socketMode: mode_t = 0o600) throws(Unusable) {
        guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0) else {
            throw Unusable(description: "The socket's path must be absolute and name a file: \(path)")
        }
        let name = path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        guard path.utf8.count <= SocketAddressPath.longest || name <= SocketAddressPath.longestName else {
            throw Unusable(
                description: """
                    The socket's name has \(name) bytes, in a path of \(path.utf8.count); there it may have at most \
                    \(SocketAddressPath.longestName): \(path). Choose a shorter one.
                    """)
        }
        self.path = path
        self.folderMode = folderMode
        self.socketMode = socketMode
    }

    /// Creates the folder, and removes a socket on which nobody listens any more.
    /// - Throws: `Unusable` if a process listens there, or if something else has the name.
    package func prepare() throws(Unusable) {
        if let folderMode { try makeFolders(above: path, mode: folderMode) }
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw unusable("cannot be looked at")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Unusable(description: "\(path) exists and is not a socket; move it away.")
        }
        try refuseListener()
        guard unlink(path) == 0 || errno == ENOENT else { throw unusable("is stale and cannot be removed") }
    }

    /// Creates the socket and listens on it. Its mode is set before a client can connect. Blocks if the folder does.
    /// - Throws: `Unusable`, also for what `prepare` refuses.
    package func open() throws(Unusable) -> OpenSocket {
        try prepare()
        guard let place = SocketAddressPath(path) else { throw unusable("cannot be made") }
        defer { place.close() }
        let descriptor = try makeSocket()
        guard place.withAddress({ bind(descriptor, $0, $1) }) == 0, chmod(path, socketMode) == 0,
            Glibc.listen(descriptor, OpenSocket.backlog) == 0
        else {
            let error = unusable("cannot be made")
            _ = Glibc.close(descriptor)
            throw error
        }
        return OpenSocket(descriptor: descriptor, file: SocketFile(path: path))
    }

    /// Changes nothing.
    /// - Throws: `Unusable` if a process listens there.
    package func requireFree() throws(Unusable) {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { try refuseListener() }
    }

    /// A refused `connect` proves that the socket is stale.
    private func refuseListener() throws(Unusable) {
        guard let place = SocketAddressPath(path) else { throw unusable("cannot be looked at") }
        defer { place.close() }
        let descriptor = try makeSocket()
        defer { _ = Glibc.close(descriptor) }
        guard place.withAddress({ connect(descriptor, $0, $1) }) == 0 || (errno != ECONNREFUSED && errno != ENOENT)
        else { return }
        throw Unusable(
            description: "Another daemon listens on \(path) already; talk to that one, stop it, or name another socket "
                + "with --socket and another state folder with --state-dir.", isTaken: true)
    }

    private func makeSocket() throws(Unusable) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw unusable("cannot be made") }
        return descriptor
    }

    private func makeFolders(above path: String, mode: mode_t) throws(Unusable) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        if access(folder, F_OK) == 0 { return }
        try makeFolders(above: folder, mode: mode)
        guard mkdir(folder, mode) == 0 || errno == EEXIST else {
            throw Unusable(
                description: "The socket's folder \(folder) cannot be made: \(String(cString: strerror(errno))).")
        }
    }

    private func unusable(_ what: String) -> Unusable {
        Unusable(description: "The socket \(path) \(what): \(String(cString: strerror(errno))).")
    }
}

/// A socket that already listens, and its file.
package struct OpenSocket: Sendable {
    let descriptor: Int32
    let file: SocketFile

    /// Closes it before a server uses it.
    package func discard() {
        _ = Glibc.close(descriptor)
        file.remove()
    }

    /// How many connections the kernel holds until they are accepted: enough for many clients at once.
    static let backlog: Int32 = 1024
}

/// A socket's file as it was created.
struct SocketFile: Sendable {
    let path: String
    private let identity: Identity?

    /// Inode numbers are reused at once, but not together with the time of the last change.
    private struct Identity: Equatable {
        var device: dev_t
        var inode: ino_t
        var seconds: time_t
        var nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            inode = status.st_ino
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
        }

        /// Tells whether it may be the same file: changing the mode of a socket or linking it does not make another
        /// one.
        func isInode(of other: Identity) -> Bool { device == other.device && inode == other.inode }
    }

    init(path: String) {
        self.path = path
        identity = Identity(path)
    }

    /// Tells whether clients that use this name reach this socket. The kernel keeps the inode as long as the socket is
    /// open, so that no other file gets its number.
    var isInPlace: Bool {
        guard let identity, let now = Identity(path) else { return false }
        return now.isInode(of: identity)
    }

    /// Removes the file, unless another file has its name by now.
    func remove() {
        guard let identity, Identity(path) == identity else { return }
        unlink(path)
    }
}

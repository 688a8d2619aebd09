import Glibc

/// A Unix socket's place in the file system: refused where it cannot work, and rid of what a crash left there.
package struct SocketPath: Sendable, Hashable {
    /// `sun_path` has 108 bytes with its NUL (unix(7)).
    package static let longest = 107

    package let path: String
    /// Mode of the folder where it has to be created.
    package var folderMode: mode_t
    package var socketMode: mode_t

    package struct Unusable: Error, Hashable, Sendable, CustomStringConvertible {
        package var description: String
    }

    /// - Throws: `Unusable` where the path is too long or not absolute.
    package init(_ path: String, folderMode: mode_t = 0o700, socketMode: mode_t = 0o600) throws(Unusable) {
        guard path.utf8.count <= Self.longest else {
            throw Unusable(
                description: """
                    The socket's path has \(path.utf8.count) bytes and a Unix socket takes at most \(Self.longest): \
                    \(path). Choose a shorter one with --socket or DLD_SOCKET.
                    """)
        }
        guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0) else {
            throw Unusable(description: "The socket's path must be absolute and name a file: \(path)")
        }
        self.path = path
        self.folderMode = folderMode
        self.socketMode = socketMode
    }

    /// Makes the folder and removes a socket that nobody listens on any more.
    /// - Throws: `Unusable` where somebody listens there, or the name is taken by something else.
    package func prepare() throws(Unusable) {
        try makeFolders(above: path, mode: folderMode)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw unusable("cannot be looked at")
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw Unusable(description: "\(path) exists and is no socket; move it away.")
        }
        if try somebodyListens() {
            throw Unusable(description: "Another daemon listens on \(path) already.")
        }
        guard unlink(path) == 0 || errno == ENOENT else { throw unusable("is stale and cannot be removed") }
    }

    /// Makes the socket and listens on it; its mode is set before anybody can connect.
    /// - Throws: `Unusable`, also for what `prepare` refuses.
    func listen(backlog: Int32) throws(Unusable) -> (descriptor: Int32, file: SocketFile) {
        try prepare()
        let descriptor = try makeSocket()
        guard withAddress({ bind(descriptor, $0, $1) }) == 0, chmod(path, socketMode) == 0,
            Glibc.listen(descriptor, backlog) == 0
        else {
            let error = unusable("cannot be made")
            _ = Glibc.close(descriptor)
            throw error
        }
        return (descriptor, SocketFile(path: path))
    }

    /// A `connect` that is refused is the proof that the socket is stale.
    private func somebodyListens() throws(Unusable) -> Bool {
        let descriptor = try makeSocket()
        defer { _ = Glibc.close(descriptor) }
        return withAddress { connect(descriptor, $0, $1) } == 0 || (errno != ECONNREFUSED && errno != ENOENT)
    }

    private func makeSocket() throws(Unusable) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw unusable("cannot be made") }
        return descriptor
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private func makeFolders(above path: String, mode: mode_t) throws(Unusable) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        if access(folder, F_OK) == 0 { return }
        try makeFolders(above: folder, mode: 0o755)
        guard mkdir(folder, mode) == 0 || errno == EEXIST else {
            throw Unusable(
                description: "The socket's folder \(folder) cannot be made: \(String(cString: strerror(errno))).")
        }
    }

    private func unusable(_ what: String) -> Unusable {
        Unusable(description: "The socket \(path) \(what): \(String(cString: strerror(errno))).")
    }
}

/// A socket's file as it was when it was made.
struct SocketFile: Sendable {
    private let path: String
    private let identity: Identity?

    /// Inode numbers are used again at once; with the time of the last change they are not.
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
    }

    init(path: String) {
        self.path = path
        identity = Identity(path)
    }

    /// Removes the file unless another one has its name by now.
    func remove() {
        guard let identity, Identity(path) == identity else { return }
        unlink(path)
    }
}

import Glibc

/// Blocking calls on sockets, for threads that may block.
enum PlainSocket {
    /// Connects to a port of 127.0.0.1.
    static func connect(to port: UInt16) throws -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        return try connect(AF_INET, &address, named: "port \(port)")
    }

    /// Connects to a socket in the file system (unix(7)).
    static func connect(toPath path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SupportError("socket path too long: \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try connect(AF_UNIX, &address, named: path)
    }

    private static func connect<Address>(
        _ family: Int32, _ address: inout Address, named name: String
    ) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SupportError("socket: errno \(errno)") }
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard status == 0 else {
            let code = errno
            close(descriptor)
            throw SupportError("connect to \(name): errno \(code)")
        }
        return descriptor
    }

    /// The next bytes; nil at the end, also if the connection breaks.
    static func receive(from socket: Int32, atMost limit: Int) -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: limit)
        while true {
            let count = recv(socket, &piece, limit, 0)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(piece[..<count]) : nil
        }
    }

    /// Tells whether all bytes could be sent.
    static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

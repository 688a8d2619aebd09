import Glibc
import Threading

/// A TCP socket that listens on an IPv4 address.
package final class ListeningSocket: Sendable {
    package let port: UInt16
    private let descriptor: Int32

    /// Uses a port that no other socket of these tests has or had (see `freePort`).
    /// - Parameter isNarrow: limits what connections accept before anybody reads it, to less than 2 MB on both sides
    ///   together. The loopback's own segments of 64 KiB would let a sender write four times as much into its socket.
    package convenience init(host: String = "127.0.0.1", isNarrow: Bool = false) throws {
        try self.init(host: host, port: try Self.freePort(on: host), isNarrow: isNarrow)
    }

    /// Listens on a free port, even if another process takes the first port found before this one listens there.
    package static func onFreePort(of host: String = "127.0.0.1", isNarrow: Bool = false) throws -> ListeningSocket {
        for _ in 0..<20 {
            if let socket = try? ListeningSocket(host: host, isNarrow: isNarrow) { return socket }
        }
        return try ListeningSocket(host: host, isNarrow: isNarrow)
    }

    package init(host: String = "127.0.0.1", port: UInt16, isNarrow: Bool = false) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SupportError("socket: errno \(errno)") }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        if isNarrow {
            var (segment, window) = (Int32(1400), Int32(1 << 15))
            setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 128) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard bound else {
            let code = errno
            close(descriptor)
            throw SupportError("listen on \(host):\(port): errno \(code)")
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// The next connection; nil after `isStopping` returns true.
    package func accept(until isStopping: () -> Bool) -> Int32? {
        while !isStopping() {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 50) > 0 else { continue }
            let connection = Glibc.accept(descriptor, nil, nil)
            guard connection >= 0 else { continue }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            // Small, so that the bytes "sent" are close to the bytes received.
            var size: Int32 = 1 << 17
            setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            var on: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            return connection
        }
        return nil
    }

    private static let given = Guarded(Set<UInt16>())

    /// A free port for a server that binds it later. Each port is given only once, so that nothing meant for an old
    /// server reaches another one. It is not a port that the kernel gives to connections and to sockets without a port
    /// (ip_local_port_range), so nobody else takes it meanwhile.
    package static func freePort(on host: String = "127.0.0.1") throws -> UInt16 {
        for _ in 0..<1000 {
            let port = UInt16.random(in: 10_000..<rows.lowerBound)
            guard given.withLock({ $0.insert(port).inserted }),
                (try? ListeningSocket(host: host, port: port)) != nil
            else { continue }
            return port
        }
        throw SupportError("no free port was found")
    }

    /// The range for ports in a row, separate from single ports.
    private static let rows: Range<UInt16> = 26_000..<32_000
    private static let nextRow = Guarded(rows.lowerBound)

    /// Free ports in a row, free at every address of this machine. They are given again after all others.
    package static func freePorts(_ count: UInt16) throws -> ClosedRange<UInt16> {
        for _ in 0..<1000 {
            let first = nextRow.withLock { next in
                if rows.upperBound - next < count { next = rows.lowerBound }
                defer { next += count }
                return next
            }
            let row = first...(first + count - 1)
            if row.allSatisfy({ (try? ListeningSocket(host: "0.0.0.0", port: $0)) != nil }) { return row }
        }
        throw SupportError("no \(count) free ports in a row were found")
    }
}

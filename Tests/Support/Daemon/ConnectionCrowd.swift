import Glibc
import Threading

/// Many connections to the daemon's socket at once, without a thread for each.
package final class ConnectionCrowd: Sendable {
    private let sockets = Guarded<[Int32]>([])

    /// Raises the limit of open descriptors to the most that this process may have (setrlimit(2)).
    package init() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    deinit { close() }

    /// Opens further connections, as long as the daemon accepts them or the kernel queues them.
    package func connect(_ count: Int, to path: String) async throws {
        try await Threads.run { [sockets] in
            for _ in 0..<count {
                let socket = try PlainSocket.connect(toPath: path)
                sockets.withLock { $0.append(socket) }
            }
        }
    }

    /// Returns what the daemon said on the connections that it ended, once no more end.
    package func refusals() async -> [String] {
        let all = sockets.withLock { $0 }
        var found: [String] = []
        var last = -1
        // Accepted connections get nothing; all others end.
        _ = await eventually(within: 60, every: 0.2) {
            defer { last = found.count }
            found = all.compactMap { Self.peeked($0) }
            return found.count == last && !found.isEmpty
        }
        return found
    }

    /// The bytes that wait on an ended connection; nil if it is open.
    private static func peeked(_ socket: Int32) -> String? {
        var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 0) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = recv(socket, &bytes, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }

    /// Sends bytes over the first connection, together with `count` descriptors of /dev/null (unix(7), SCM_RIGHTS).
    package func send(_ bytes: [UInt8], handingOver count: Int) throws {
        guard let socket = sockets.withLock({ $0.first }) else { throw SupportError("not connected") }
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { Glibc.close(null) }
        // struct cmsghdr: length, level and type, then the descriptors.
        let length = 16 + 4 * count
        var control = [UInt64](repeating: 0, count: (length + 7) / 8)
        control[0] = UInt64(length)
        control[1] = UInt64(UInt32(SOL_SOCKET)) | UInt64(1) << 32
        control.withUnsafeMutableBytes { control in
            for index in 0..<count { control.storeBytes(of: null, toByteOffset: 16 + 4 * index, as: Int32.self) }
        }
        var bytes = bytes
        let sent = bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
                }
            }
        }
        guard sent == bytes.count else { throw SupportError("sendmsg: \(sent), errno \(errno)") }
    }

    /// Reads `count` lines from the first connection.
    package func lines(_ count: Int) async throws -> [String] {
        guard let socket = sockets.withLock({ $0.first }) else { throw SupportError("not connected") }
        return try await Threads.run {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let deadline = ContinuousClock.now + .seconds(60)
            while text.count(where: { $0 == 10 }) < count {
                guard ContinuousClock.now < deadline else { throw SupportError("too few lines in 60 s") }
                var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard poll(&waiting, 1, 100) > 0 else { continue }
                let length = recv(socket, &buffer, buffer.count, 0)
                guard length > 0 else { throw SupportError("the daemon closed the connection") }
                text += buffer[..<length]
            }
            return text.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    package func close() {
        sockets.withLock { sockets in
            for socket in sockets { Glibc.close(socket) }
            sockets = []
        }
    }
}

import Glibc
import Threading

/// A relay at 127.0.0.2 in front of a real server of this machine, at the same port. After the server has sent a number
/// of bytes, it passes nothing on. Its connections stay open, like those of a machine that hangs.
package final class SilentRelay: Sendable {
    package static let host = UploadRelay.host
    private let isOver = ConditionLock(false)

    /// - Parameter count: the server's bytes that still arrive, in each connection.
    package init(to port: UInt16, after count: Int) throws {
        let listener = try ListeningSocket(host: Self.host, port: port)
        let isOver = isOver
        try Threads.start {
            while let client = listener.accept(until: { isOver.withLock { $0 } }) {
                let served: Void? = try? Threads.start { Self.serve(client, port, count, isOver) }
                if served == nil { close(client) }
            }
        }
    }

    deinit {
        isOver.withLock { $0 = true }
        isOver.broadcast()
    }

    private static func serve(_ client: Int32, _ port: UInt16, _ count: Int, _ isOver: ConditionLock<Bool>) {
        defer { close(client) }
        guard let server = try? PlainSocket.connect(to: port) else { return }
        defer { close(server) }
        let isForwarded = ConditionLock(false)
        let forwards: Void? = try? Threads.start {
            while let bytes = PlainSocket.receive(from: client, atMost: 1 << 16), PlainSocket.send(bytes, to: server) {}
            isForwarded.withLock { $0 = true }
            isForwarded.broadcast()
        }
        guard forwards != nil else { return }
        var left = count
        while left > 0, let bytes = PlainSocket.receive(from: server, atMost: min(left, 1 << 16)),
            PlainSocket.send(bytes, to: client)
        { left -= bytes.count }
        // A server that ended by itself has not become silent.
        if left <= 0 { _ = isOver.wait { $0 ? true : nil } }
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
        _ = isForwarded.wait { $0 ? true : nil }
    }
}

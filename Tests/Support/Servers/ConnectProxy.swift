import Glibc
import Threading

/// A proxy that connects to ports of this machine (RFC 9110 section 9.3.6) for clients that send its user name and
/// password.
package final class ConnectProxy: Sendable {
    package static let user = "anna"
    package static let password = "Zq7proxyqZ"
    package static let realm = "the proxy"

    package let port: UInt16
    private let isOver = Guarded(false)
    private let seen = Guarded<[Bool]>([])

    package init() throws {
        let listener = try ListeningSocket.onFreePort()
        port = listener.port
        let (isOver, seen) = (isOver, seen)
        try Threads.start {
            while let client = listener.accept(until: { isOver.withLock { $0 } }) {
                let served: Void? = try? Threads.start { Self.serve(client, seen) }
                if served == nil { close(client) }
            }
        }
    }

    deinit { isOver.withLock { $0 = true } }

    /// For each CONNECT, whether it had the right credentials.
    package var requests: [Bool] { seen.withLock { $0 } }

    private static func serve(_ client: Int32, _ seen: Guarded<[Bool]>) {
        defer { close(client) }
        let right = "Proxy-Authorization: Basic " + Base64Text.encode(Array("\(user):\(password)".utf8))
        while let head = head(from: client) {
            let lines = head.split(separator: "\r\n")
            let isRight = lines.contains { $0 == right }
            seen.withLock { $0.append(isRight) }
            guard isRight else {
                let answer =
                    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"\(realm)\"\r\nContent-Length: 0\r\n\r\n"
                guard PlainSocket.send(Array(answer.utf8), to: client) else { return }
                continue
            }
            let target = lines.first?.split(separator: " ").dropFirst().first
            guard let port = target?.split(separator: ":").last.flatMap({ UInt16($0) }),
                let server = try? PlainSocket.connect(to: port)
            else { return }
            defer { close(server) }
            if PlainSocket.send(Array("HTTP/1.1 200 Connected\r\n\r\n".utf8), to: client) { pass(client, server) }
            return
        }
    }

    private static func head(from client: Int32) -> String? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard let byte = PlainSocket.receive(from: client, atMost: 1) else { return nil }
            bytes += byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func pass(_ client: Int32, _ server: Int32) {
        let isForwarded = ConditionLock(false)
        let forwards: Void? = try? Threads.start {
            copy(from: client, to: server)
            isForwarded.withLock { $0 = true }
            isForwarded.broadcast()
        }
        guard forwards != nil else { return }
        copy(from: server, to: client)
        shutdown(client, Int32(SHUT_RDWR))
        _ = isForwarded.wait { $0 ? true : nil }
    }

    private static func copy(from one: Int32, to other: Int32) {
        while let bytes = PlainSocket.receive(from: one, atMost: 1 << 16), PlainSocket.send(bytes, to: other) {}
        shutdown(other, Int32(SHUT_WR))
    }
}

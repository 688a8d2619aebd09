import Glibc
import Threading

@testable import CurlEngine

/// A raw-socket HTTP server. The test controls every byte. It has one thread per connection.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        var method: String
        var target: String
        var headers: [(name: String, value: String)]
        var body: [UInt8]
        /// Counted from 0 over all connections.
        var number: Int

        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
        var rangeStart: Int? {
            header("Range").flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) }
        }
    }

    /// One accepted connection, as the script sees it.
    struct Connection: Sendable {
        let descriptor: Int32

        /// Returns false if the peer has closed the connection.
        @discardableResult func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        @discardableResult func send(_ bytes: [UInt8]) -> Bool {
            bytes.withUnsafeBytes { buffer in
                var done = 0
                while done < buffer.count {
                    guard let base = buffer.baseAddress else { return true }
                    let count = Glibc.send(descriptor, base + done, buffer.count - done, Int32(MSG_NOSIGNAL))
                    if count <= 0 { return false }
                    done += count
                }
                return true
            }
        }

        /// Blocks until the peer closes the connection.
        func awaitClose() {
            var byte: UInt8 = 0
            while recv(descriptor, &byte, 1, 0) > 0 {}
        }
    }

    enum Next { case keepAlive, close }
    typealias Script = @Sendable (Request, Connection) -> Next

    /// What the threads share. They may run a moment longer than the server object exists.
    private final class Shared: Sendable {
        struct Log {
            var requests: [Request] = []
            var open: [Int32] = []
            var accepted = 0
        }
        let script: Script
        let log = Guarded(Log())
        init(_ script: @escaping Script) { self.script = script }

        func record(_ request: Request) -> Request {
            log.withLock { log in
                var numbered = request
                numbered.number = log.requests.count
                log.requests.append(numbered)
                return numbered
            }
        }
    }

    let port: Int
    private let listener: Int32
    private let shared: Shared

    init(_ script: @escaping Script) throws {
        let shared = Shared(script)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard bound else { throw TestFailure("cannot listen: errno \(errno)") }
        self.shared = shared
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        guard NamedThread.start("test-origin", { Self.serve(listener, shared) }) else {
            throw TestFailure("no thread")
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        shared.log.withLock { log in
            for connection in log.open { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
    var requests: [Request] { shared.log.withLock { $0.requests } }
    var connectionCount: Int { shared.log.withLock { $0.accepted } }

    private static func serve(_ listener: Int32, _ shared: Shared) {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            shared.log.withLock { log in
                log.open.append(descriptor)
                log.accepted += 1
            }
            if !NamedThread.start("test-origin", { converse(descriptor, shared) }) { close(descriptor) }
        }
        close(listener)
    }

    private static func converse(_ descriptor: Int32, _ shared: Shared) {
        var buffered: [UInt8] = []
        while let request = read(descriptor, &buffered) {
            let next = shared.script(shared.record(request), Connection(descriptor: descriptor))
            if next == .close { break }
        }
        shared.log.withLock { log in
            log.open.removeAll { $0 == descriptor }
            _ = close(descriptor)
        }
    }

    private static func read(_ descriptor: Int32, _ buffered: inout [UInt8]) -> Request? {
        while true {
            if let request = parse(&buffered) { return request }
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            buffered.append(contentsOf: chunk.prefix(count))
        }
    }

    private static func parse(_ buffered: inout [UInt8]) -> Request? {
        let end: [UInt8] = [13, 10, 13, 10]
        guard let length = (0..<max(0, buffered.count - 3)).first(where: { Array(buffered[$0..<$0 + 4]) == end })
        else { return nil }
        let lines = String(decoding: buffered.prefix(length), as: UTF8.self).split(separator: "\r\n")
        let first = lines.first?.split(separator: " ") ?? []
        guard first.count == 3 else { return nil }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingSpaces())
        }
        let size = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard buffered.count >= length + 4 + size else { return nil }
        let body = Array(buffered[(length + 4)..<(length + 4 + size)])
        buffered.removeFirst(length + 4 + size)
        return Request(method: String(first[0]), target: String(first[1]), headers: headers, body: body, number: 0)
    }
}

extension Substring {
    /// Returns the text without spaces and tabs at both ends.
    func trimmingSpaces() -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(String(drop(while: isBlank).reversed()).drop(while: isBlank).reversed())
    }
}

import Glibc
import Threading

@testable import CurlEngine

/// A raw-socket HTTP server that reads a request piece by piece, as the test says, with one thread per connection.
final class UploadServer: Sendable {
    /// The header of a request.
    struct Head: Sendable {
        var method: String
        var target: String
        var headers: [(name: String, value: String)]

        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
        var length: Int { header("Content-Length").flatMap { Int($0) } ?? 0 }
    }

    /// One accepted connection. Only its own thread uses it.
    final class Connection {
        /// Counted from 0.
        let number: Int
        private let descriptor: Int32
        private var buffered: [UInt8] = []

        init(_ descriptor: Int32, number: Int) {
            self.descriptor = descriptor
            self.number = number
        }

        /// Returns nil if the peer has closed the connection.
        func readHead() -> Head? {
            let end: [UInt8] = [13, 10, 13, 10]
            while true {
                if let length = buffered.indices.dropLast(3).first(where: { Array(buffered[$0..<$0 + 4]) == end }) {
                    let lines = String(decoding: buffered[..<length], as: UTF8.self).split(separator: "\r\n")
                    buffered.removeFirst(length + 4)
                    let first = lines[0].split(separator: " ")
                    let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
                        guard let colon = line.firstIndex(of: ":") else { return nil }
                        return (String(line[..<colon]), line[line.index(after: colon)...].trimmingSpaces())
                    }
                    return Head(method: String(first[0]), target: String(first[1]), headers: headers)
                }
                if !fill() { return nil }
            }
        }

        /// Returns up to `count` bytes. Fewer are returned only if the peer has closed the connection.
        func read(_ count: Int) -> [UInt8] {
            while buffered.count < count, fill() {}
            defer { buffered.removeFirst(min(count, buffered.count)) }
            return Array(buffered.prefix(count))
        }

        /// Returns the entire body. Sends a 100 first if the request waits for it.
        func readBody(of head: Head) -> [UInt8] {
            goOn(head)
            return read(head.length)
        }

        /// Sends a 100 if the request waits for it.
        func goOn(_ head: Head) {
            if head.header("Expect") != nil { send("HTTP/1.1 100 Continue\r\n\r\n") }
        }

        /// Reads more of the body. Returns the number of bytes, which is 0 if the peer has closed the connection.
        func readSome(atMost count: Int) -> Int {
            if buffered.isEmpty, !fill() { return 0 }
            let taken = min(count, buffered.count)
            buffered.removeFirst(taken)
            return taken
        }

        /// Returns everything until the peer closes the connection.
        func readToEnd() -> [UInt8] {
            while fill() {}
            return buffered
        }

        /// Tells whether the peer sent anything within the time.
        func hasBytes(within milliseconds: Int32) -> Bool {
            if !buffered.isEmpty { return true }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return Glibc.poll(&poll, 1, milliseconds) > 0 && fill()
        }

        /// Breaks the connection with a reset (tcp(7)). A connect(2) to no address has the same effect as a close
        /// without lingering.
        func reset() {
            var nowhere = sockaddr()
            nowhere.sa_family = sa_family_t(AF_UNSPEC)
            connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
        }

        private func fill() -> Bool {
            var chunk = [UInt8](repeating: 0, count: 256 << 10)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return false }
            buffered.append(contentsOf: chunk[..<count])
            return true
        }

        @discardableResult func send(_ text: String) -> Bool {
            ScriptedServer.Connection(descriptor: descriptor).send(text)
        }

        /// Sends a final answer with a body of plain text.
        func answer(_ status: Int, _ fields: [String] = [], _ body: String = "") {
            answer(status, fields, body: Array(body.utf8))
        }

        func answer(_ status: Int, _ fields: [String] = [], body: [UInt8]) {
            let lines = fields.map { "\($0)\r\n" }.joined()
            let head = "HTTP/1.1 \(status) X\r\n\(lines)Content-Length: \(body.count)\r\n\r\n"
            ScriptedServer.Connection(descriptor: descriptor).send(Array(head.utf8) + body)
        }
    }

    private final class Shared: Sendable {
        struct Log {
            var open: [Int32] = []
            var accepted = 0
            var isClosed = false
        }
        let log = Guarded(Log())
    }

    let port: Int
    private let listener: Int32
    private let shared = Shared()

    /// `receiveBuffer` limits the bytes that the system accepts before the script reads them.
    init(receiveBuffer: Int32? = nil, _ script: @escaping @Sendable (Connection) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        guard bound else { throw TestFailure("cannot listen: errno \(errno)") }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let shared = self.shared
        guard NamedThread.start("test-upload", { Self.serve(listener, shared, script) }) else {
            throw TestFailure("no thread")
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        shared.log.withLock { log in
            log.isClosed = true
            for connection in log.open { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
    var connectionCount: Int { shared.log.withLock { $0.accepted } }

    private static func serve(
        _ listener: Int32, _ shared: Shared, _ script: @escaping @Sendable (Connection) -> Void
    ) {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            let number = shared.log.withLock { log in
                log.open.append(descriptor)
                log.accepted += 1
                return log.accepted - 1
            }
            let started = NamedThread.start("test-upload") {
                script(Connection(descriptor, number: number))
                shared.log.withLock { log in
                    log.open.removeAll { $0 == descriptor }
                    _ = close(descriptor)
                }
            }
            if !started { close(descriptor) }
        }
        close(listener)
    }
}

/// Notes that the threads of a script leave.
final class Notes<Value: Sendable>: Sendable {
    private let values = Guarded<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

import Glibc
import Threading

/// A server that accepts uploads by the rules of one protocol, keeps what a cut connection brought, and records every
/// request.
///
/// It uses plain sockets and a thread for each connection, like `MisbehavingOrigin`; but here, the request is long.
package final class UploadServer: UploadHolder {
    /// One request and its result.
    package struct Record: Sendable {
        package var method: String
        package var path: String
        package var headers: [(name: String, value: String)]
        /// The body bytes that arrived.
        package var received = 0
        /// 0 if it was never answered.
        package var status = 0
        package var phase = UploadPhase.append
        /// The connection ended before the body.
        package var isCut = false

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package let port: UInt16
    package let files = UploadedFiles()
    private let shared: Shared

    /// - Parameters:
    ///   - rules: answer the requests.
    ///   - script: the faults.
    package init(_ rules: any UploadRules, _ script: [UploadFault] = []) throws {
        let listener = try ListeningSocket.onFreePort(isNarrow: true)
        port = listener.port
        let shared = Shared(script)
        self.shared = shared
        let files = files
        try Threads.start {
            while let connection = listener.accept(until: { shared.isStopping }) {
                guard shared.opened(connection) else { break }
                do {
                    try Threads.start {
                        UploadConnection(socket: connection, shared: shared, rules: rules, files: files).serve()
                    }
                } catch {
                    shared.closed(connection)
                }
            }
        }
    }

    deinit { shared.stop() }

    package func url(_ path: String = "/files/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The requests that arrived, in order: those of one method, or all.
    package func requests(_ method: String? = nil) -> [Record] {
        shared.state.withLock { state in state.records.filter { method == nil || $0.method == method } }
    }

    package func requests(in phase: UploadPhase) -> [Record] { requests().filter { $0.phase == phase } }

    /// The body bytes of all requests of a method.
    package func received(_ method: String) -> Int { requests(method).reduce(0) { $0 + $1.received } }

    package var received: Int { requests().reduce(0) { $0 + $1.received } }

    /// Reads no further than the gate until `release()`. So a test can act on a running upload, however long the test
    /// takes.
    package func hold(_ gate: UploadGate) {
        shared.state.withLock { state in
            state.gate = gate
            state.gates += 1
        }
    }
    package func release() { shared.state.withLock { $0.gate = nil } }
    package let overrun = 0

    /// Ends every open connection. The server continues to listen.
    package func dropConnections() { shared.dropConnections() }

    final class Shared: Sendable {
        struct State {
            var records: [Record] = []
            var connections: Set<Int32> = []
            var isStopping = false
            var gate: UploadGate?
            /// How many gates there were.
            var gates = 0
        }
        let state = Guarded(State())
        private let script: [UploadFault]

        init(_ script: [UploadFault]) { self.script = script }

        var isStopping: Bool { state.withLock { $0.isStopping } }
        var gate: (UploadGate, number: Int)? { state.withLock { state in state.gate.map { ($0, state.gates) } } }
        /// Returns false and closes the socket if the server must stop.
        func opened(_ socket: Int32) -> Bool {
            state.withLock { state in
                guard !state.isStopping else {
                    close(socket)
                    return false
                }
                state.connections.insert(socket)
                return true
            }
        }

        func closed(_ socket: Int32) {
            state.withLock { state in
                state.connections.remove(socket)
                close(socket)
            }
        }

        func dropConnections() {
            state.withLock { state in
                for socket in state.connections { shutdown(socket, Int32(SHUT_RDWR)) }
            }
        }

        func stop() {
            state.withLock { state in
                state.isStopping = true
                state.gate = nil
            }
            dropConnections()
        }

        func began(_ record: Record) -> (index: Int, disturbance: UploadDisturbance) {
            state.withLock { state in
                state.records.append(record)
                let turn = state.records.count { $0.phase == record.phase }
                let due = script.filter { $0.phase == record.phase && $0.turns.contains(turn) }
                return (state.records.count - 1, UploadDisturbance(acts: due.map(\.act)))
            }
        }

        func received(_ count: Int, of index: Int) { state.withLock { $0.records[index].received += count } }
        func answered(_ status: Int, _ index: Int) { state.withLock { $0.records[index].status = status } }
        func cut(_ index: Int) { state.withLock { $0.records[index].isCut = true } }
    }
}

/// How one protocol answers requests.
package protocol UploadRules: Sendable {
    func answer(_ request: UploadExchange) throws
    func phase(of request: UploadServer.Record) -> UploadPhase
    func claim(_ offset: Int) -> (String, String)
}

/// One request that is being answered: its header, its body as it arrives, and the answer.
package final class UploadExchange {
    package let method: String
    package let path: String
    package let files: UploadedFiles
    /// The length that the header announces.
    package let length: Int
    private let headers: [(name: String, value: String)]
    private let connection: UploadConnection
    private let index: Int
    private var left: Int
    /// The last gate that its client lived to see.
    private var lastGate = 0
    let disturbance: UploadDisturbance
    /// The rules did not get the whole body.
    private(set) var isShort = false

    init(_ record: UploadServer.Record, _ files: UploadedFiles, _ connection: UploadConnection) {
        (index, disturbance) = connection.shared.began(record)
        method = record.method
        path = record.path
        headers = record.headers
        self.files = files
        self.connection = connection
        length = record.header("Content-Length").flatMap { Int($0) } ?? 0
        left = length
    }

    package struct Gone: Error {}

    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The next bytes of the body; nil at its end.
    /// - Throws: `Gone` if the connection ends first.
    package func read() throws -> ArraySlice<UInt8>? {
        let taken = length - left
        if let kept = disturbance.kept, taken >= kept {
            while left > 0 { _ = try take(atMost: left) }
            isShort = length > kept
        }
        if let stop = disturbance.stop, taken >= stop { isShort = left > 0 }
        guard left > 0, !isShort else { return nil }
        let limits = [disturbance.cut, disturbance.kept, disturbance.stop].compactMap(\.self).map { $0 - taken }
        return try take(atMost: limits.reduce(min(left, try room(after: taken)), min))
    }

    /// The bytes that may be read now, at least one. Waits at a closed gate until it opens. What a client sent that has
    /// died by then is lost, as if the server had broken down. Otherwise it would pass the gate that is set for the
    /// next client.
    private func room(after taken: Int) throws -> Int {
        var turns = 0
        while let (gate, number) = connection.shared.gate {
            let room = gate.room(taken: taken, held: files.total)
            if room <= 0 { usleep(2000) }
            turns += 1
            if number != lastGate || room <= 0 && turns.isMultiple(of: 16) {
                guard LoopbackPeer.isOpen(of: connection.socket) else {
                    connection.shared.cut(index)
                    throw Gone()
                }
                lastGate = number
            }
            if room > 0 { return room }
        }
        return left
    }

    private func take(atMost limit: Int) throws -> ArraySlice<UInt8> {
        do {
            guard limit > 0 else { throw Gone() }
            let piece = try connection.take(atMost: min(limit, 1 << 16))
            left -= piece.count
            connection.shared.received(piece.count, of: index)
            return piece
        } catch {
            connection.shared.cut(index)
            throw error
        }
    }

    /// The rest of the body.
    package func readAll() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try read() { bytes += piece }
        return bytes
    }

    package func reply(_ status: Int, _ headers: [(String, String)] = [], body: String = "") throws {
        var (status, headers, missing) = (status, headers, 0)
        if status >= 200 { (status, headers, missing) = try disturbed(status, headers, connection.rules) }
        connection.shared.answered(status, index)
        var text = "HTTP/1.1 \(status) Whatever\r\n"
        for header in headers { text += "\(header.0): \(header.1)\r\n" }
        if status != 204, status >= 200 { text += "Content-Length: \(body.utf8.count)\r\n" }
        // After an answer before the end of the body, nothing can follow on the connection.
        if left > 0, status >= 200 { text += "Connection: close\r\n" }
        text += "\r\n"
        guard missing == 0 else {
            try connection.send(Array(text.utf8.dropLast(missing)))
            throw Gone()
        }
        try connection.send(Array((text + (method == "HEAD" ? "" : body)).utf8))
    }

    /// Reads until nothing more comes.
    func waitForEnd() { connection.drain() }

    var isDrained: Bool { left == 0 }
}

/// One connection: requests in, answers out.
final class UploadConnection {
    let socket: Int32
    let shared: UploadServer.Shared
    let rules: any UploadRules
    private let files: UploadedFiles
    private var buffer: [UInt8] = []

    init(socket: Int32, shared: UploadServer.Shared, rules: any UploadRules, files: UploadedFiles) {
        self.socket = socket
        self.shared = shared
        self.rules = rules
        self.files = files
    }

    func serve() {
        defer { shared.closed(socket) }
        do {
            while var record = try readHead() {
                record.phase = rules.phase(of: record)
                let exchange = UploadExchange(record, files, self)
                if exchange.isWelcome, record.header("Expect")?.lowercased() == "100-continue" {
                    try send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                }
                try exchange.meet(rules)
                guard exchange.isDrained else { return linger() }
            }
        } catch {
            return
        }
    }

    /// Unread bytes at a close would reset the connection, and lose the answer with it (RFC 9112 section 9.6).
    private func linger() {
        shutdown(socket, Int32(SHUT_WR))
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        drain()
    }

    func drain() {
        while (try? receive()) == true { buffer = [] }
    }

    private func readHead() throws -> UploadServer.Record? {
        var found = Self.headLength(of: buffer)
        while found == nil {
            guard buffer.count < 1 << 16, try receive() else { return nil }
            found = Self.headLength(of: buffer)
        }
        let end = found ?? 0
        // Only the header is decoded: repairing invalid UTF-8 in the body would be slow.
        let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n")
        buffer.removeSubrange(..<(end + 4))
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
        return UploadServer.Record(method: String(words[0]), path: String(words[1]), headers: headers)
    }

    /// The bytes before the empty line.
    private static func headLength(of bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            var index = 3
            while index < bytes.count {
                if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                    return index - 3
                }
                index += 1
            }
            return nil
        }
    }

    func take(atMost limit: Int) throws -> ArraySlice<UInt8> {
        if buffer.isEmpty, !(try receive()) { throw UploadExchange.Gone() }
        let piece = Array(buffer.prefix(limit))
        buffer.removeSubrange(..<piece.count)
        return piece[...]
    }

    private func receive() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(socket, &piece, piece.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw UploadExchange.Gone() }
            buffer += piece[..<count]
            return count > 0
        }
    }

    func send(_ bytes: [UInt8]) throws {
        guard PlainSocket.send(bytes, to: socket) else { throw UploadExchange.Gone() }
    }
}

import Glibc
import Threading

/// A server that takes uploads by one protocol's rules, keeps what a cut connection brought, and records every request.
///
/// Plain sockets and a thread for each connection, as `MisbehavingOrigin`; here it is the request that is long.
package final class UploadServer: Sendable {
    /// One request, with what became of it.
    package struct Record: Sendable {
        package var method: String
        package var path: String
        package var headers: [(name: String, value: String)]
        /// Body bytes that arrived.
        package var received = 0
        /// 0 where it was never answered.
        package var status = 0

        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package let port: UInt16
    package let files = UploadedFiles()
    private let shared: Shared

    /// - Parameter rules: how requests are answered.
    package init(_ rules: any UploadRules) throws {
        let listener = try ListeningSocket()
        port = listener.port
        let shared = Shared()
        self.shared = shared
        let files = files
        try Threads.start {
            while let connection = listener.accept(until: { shared.isStopping }) {
                shared.opened(connection)
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

    /// What arrived, in order; of one method or all.
    package func requests(_ method: String? = nil) -> [Record] {
        shared.state.withLock { state in state.records.filter { method == nil || $0.method == method } }
    }

    /// Body bytes of all requests of a method.
    package func received(_ method: String) -> Int { requests(method).reduce(0) { $0 + $1.received } }

    /// Ends every open connection; the server goes on listening.
    package func dropConnections() { shared.dropConnections() }

    final class Shared: Sendable {
        struct State {
            var records: [Record] = []
            var connections: Set<Int32> = []
            var isStopping = false
        }
        let state = Guarded(State())

        var isStopping: Bool { state.withLock { $0.isStopping } }
        func opened(_ socket: Int32) { state.withLock { _ = $0.connections.insert(socket) } }

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
            state.withLock { $0.isStopping = true }
            dropConnections()
        }

        func began(_ record: Record) -> Int {
            state.withLock { state in
                state.records.append(record)
                return state.records.count - 1
            }
        }

        func received(_ count: Int, of index: Int) { state.withLock { $0.records[index].received += count } }
        func answered(_ status: Int, _ index: Int) { state.withLock { $0.records[index].status = status } }
    }
}

/// How one protocol answers.
package protocol UploadRules: Sendable {
    func answer(_ request: UploadExchange) throws
}

/// One request that is being answered: its head, its body as it comes, and the way back.
package final class UploadExchange {
    package let method: String
    package let path: String
    package let files: UploadedFiles
    /// Bytes the head announces.
    package let length: Int
    private let headers: [(name: String, value: String)]
    private let connection: UploadConnection
    private let index: Int
    private var left: Int

    init(_ record: UploadServer.Record, _ index: Int, _ files: UploadedFiles, _ connection: UploadConnection) {
        method = record.method
        path = record.path
        headers = record.headers
        self.files = files
        self.index = index
        self.connection = connection
        length = record.header("Content-Length").flatMap { Int($0) } ?? 0
        left = length
    }

    package struct Gone: Error {}

    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The next bytes of the body; nil at its end.
    /// - Throws: `Gone` where the connection ends before.
    package func read() throws -> ArraySlice<UInt8>? {
        guard left > 0 else { return nil }
        let piece = try connection.take(atMost: min(left, 1 << 16))
        left -= piece.count
        connection.shared.received(piece.count, of: index)
        return piece
    }

    /// The rest of the body.
    package func readAll() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try read() { bytes += piece }
        return bytes
    }

    package func reply(_ status: Int, _ headers: [(String, String)] = [], body: String = "") throws {
        connection.shared.answered(status, index)
        var text = "HTTP/1.1 \(status) Whatever\r\n"
        for header in headers { text += "\(header.0): \(header.1)\r\n" }
        if status != 204, status >= 200 { text += "Content-Length: \(body.utf8.count)\r\n" }
        // An answer before the end of the body leaves the connection where nothing can follow.
        if left > 0, status >= 200 { text += "Connection: close\r\n" }
        try connection.send(Array((text + "\r\n" + (method == "HEAD" ? "" : body)).utf8))
    }

    var isDrained: Bool { left == 0 }
}

/// One connection: requests in, answers out.
final class UploadConnection {
    let socket: Int32
    let shared: UploadServer.Shared
    private let rules: any UploadRules
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
            while let record = try readHead() {
                let exchange = UploadExchange(record, shared.began(record), files, self)
                if record.header("Expect")?.lowercased() == "100-continue" {
                    try send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                }
                try rules.answer(exchange)
                guard exchange.isDrained else { return }
            }
        } catch {
            return
        }
    }

    private func readHead() throws -> UploadServer.Record? {
        while true {
            let text = String(decoding: buffer, as: UTF8.self)
            if text.contains("\r\n\r\n") { break }
            guard buffer.count < 1 << 16 else { return nil }
            guard try receive() else { return nil }
        }
        var end = 0
        while !buffer[end...].starts(with: Array("\r\n\r\n".utf8)) { end += 1 }
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
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw UploadExchange.Gone() }
            rest = rest.dropFirst(count)
        }
    }
}

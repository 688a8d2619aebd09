import Glibc
import Threading

/// An HTTP/1.1 server in this process that follows its script, right or wrong, and records every request.
///
/// It uses plain sockets and a thread for each connection, so that nothing between the script and the wire can repair
/// an answer.
package final class MisbehavingOrigin: Sendable {
    package let host: String
    package let port: UInt16
    private let shared: Shared

    /// - Parameters:
    ///   - host: the IPv4 address to listen on.
    ///   - port: nil for a free port.
    package init(host: String = "127.0.0.1", port: UInt16? = nil) throws {
        self.host = host
        let listener = try port.map { try ListeningSocket(host: host, port: $0) } ?? .onFreePort(of: host)
        self.port = listener.port
        let shared = Shared()
        self.shared = shared
        try Threads.start {
            while let connection = listener.accept(until: { shared.isStopping }) {
                guard let number = shared.opened(connection) else {
                    close(connection)
                    continue
                }
                do {
                    try Threads.start { Connection(socket: connection, number: number, shared: shared).serve() }
                } catch {
                    shared.closed(connection)
                }
            }
        }
    }

    deinit { shared.stop() }

    package func url(_ path: String) -> String { "http://\(host):\(port)\(path)" }

    /// Sets the path's answers: one for each request in turn. The last one answers all further requests.
    package func serve(_ path: String, _ behaviours: Behaviour...) { script(path, behaviours) }

    /// Like `serve`, with a list.
    package func script(_ path: String, _ behaviours: [Behaviour]) {
        shared.state.withLock { $0.scripts[path] = behaviours }
    }

    /// Sets the answer for every path without a script.
    package func serveEverything(_ behaviour: Behaviour) {
        shared.state.withLock { $0.fallback = behaviour }
    }

    /// The requests that arrived, in order: those for one path, or all.
    package func requests(_ path: String? = nil) -> [RecordedRequest] {
        shared.state.withLock { state in state.requests.filter { path == nil || $0.request.path == path } }
    }

    /// The body bytes given to the kernel for a path.
    package func bytesSent(_ path: String) -> Int64 { requests(path).reduce(0) { $0 + $1.bodyBytes } }

    /// The most requests that were being answered at one time.
    package var peak: Int { shared.state.withLock { $0.peak } }

    /// Ends every open connection. The origin continues to listen.
    package func dropConnections() { shared.dropConnections() }

    /// Stops answering connections.
    package func stop() { shared.stop() }
}

extension MisbehavingOrigin {
    final class Shared: Sendable {
        struct State {
            var scripts: [String: [Behaviour]] = [:]
            var fallback: Behaviour?
            var requests: [RecordedRequest] = []
            var connections: Set<Int32> = []
            var connectionCount = 0
            var active = 0
            var peak = 0
            var isStopping = false
        }
        let state = Guarded(State())

        var isStopping: Bool { state.withLock { $0.isStopping } }

        func opened(_ socket: Int32) -> Int? {
            state.withLock { state in
                guard !state.isStopping else { return nil }
                state.connections.insert(socket)
                state.connectionCount += 1
                return state.connectionCount
            }
        }

        /// Closed under the lock: the descriptor's number must not be reused while another thread may shut it down.
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

        /// Records a request and returns its answer.
        func began(_ request: OriginRequest) -> (index: Int, behaviour: Behaviour) {
            state.withLock { state in
                let path = request.path
                var behaviour = state.fallback ?? .status(404)
                if let script = state.scripts[path], let last = script.last {
                    let earlier = state.requests.reduce(0) { $0 + ($1.request.path == path ? 1 : 0) }
                    behaviour = earlier < script.count ? script[earlier] : last
                }
                state.requests.append(RecordedRequest(request: request))
                state.active += 1
                state.peak = max(state.peak, state.active)
                return (state.requests.count - 1, behaviour)
            }
        }

        func note(_ index: Int, status: Int, bytes: Int) {
            state.withLock { state in
                if status > 0 { state.requests[index].status = status }
                state.requests[index].bodyBytes += Int64(bytes)
            }
        }

        /// Notes that the answer to a request has ended, complete or not.
        func ended(_ index: Int, isWhole: Bool) {
            state.withLock { state in
                state.active -= 1
                state.requests[index].isFinished = isWhole
            }
        }
    }
}

/// One connection: requests in, scripted answers out, until one side ends it.
private struct Connection {
    let socket: Int32
    let number: Int
    let shared: MisbehavingOrigin.Shared

    func serve() {
        defer { shared.closed(socket) }
        var buffer: [UInt8] = []
        while let request = readRequest(&buffer) {
            let (index, behaviour) = shared.began(request)
            let reply = Reply(
                socket: socket, isStopping: { shared.isStopping },
                note: { status, bytes in shared.note(index, status: status, bytes: bytes) })
            do {
                try behaviour.respond(request, reply)
                shared.ended(index, isWhole: true)
            } catch {
                shared.ended(index, isWhole: false)
                return
            }
            if reply.closes || request.header("Connection")?.lowercased() == "close" { return }
        }
    }

    private func readRequest(_ buffer: inout [UInt8]) -> OriginRequest? {
        let end = Array("\r\n\r\n".utf8)
        var place = buffer.firstRange(of: end)
        while place == nil {
            guard buffer.count < 1 << 20, receive(&buffer) else { return nil }
            place = buffer.firstRange(of: end)
        }
        guard let place else { return nil }
        let lines = String(decoding: buffer[..<place.lowerBound], as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        buffer.removeSubrange(..<place.upperBound)
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop(while: { $0 == " " })
            return (String(line[..<colon]), String(value))
        }
        var request = OriginRequest(
            method: String(words[0]), target: String(words[1]), headers: headers, body: [], connection: number)
        let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
        while buffer.count < length { guard receive(&buffer) else { return nil } }
        request.body = Array(buffer[..<length])
        buffer.removeSubrange(..<length)
        return request
    }

    private func receive(_ buffer: inout [UInt8]) -> Bool {
        var piece = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = recv(socket, &piece, piece.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN, !shared.isStopping { continue }
            guard count > 0 else { return false }
            buffer.append(contentsOf: piece[..<count])
            return true
        }
    }
}

extension [UInt8] {
    fileprivate func firstRange(of pattern: [UInt8]) -> Range<Int>? {
        guard count >= pattern.count, let first = pattern.first else { return nil }
        var index = 0
        while index <= count - pattern.count {
            guard let next = self[index...].firstIndex(of: first), next <= count - pattern.count else { return nil }
            if self[next..<next + pattern.count].elementsEqual(pattern) { return next..<next + pattern.count }
            index = next + 1
        }
        return nil
    }
}

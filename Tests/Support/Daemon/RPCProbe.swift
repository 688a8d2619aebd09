import FoundationEssentials
import Glibc
import Threading
import TransferModel

/// An error answer of the daemon.
package struct RPCFailure: Error, CustomStringConvertible {
    package var rpcCode: Int64
    package var message: String
    package var data: JSONValue?
    /// The stable code, such as `task.not_found`.
    package var code: String { data?["code"]?.stringValue ?? "" }
    /// The field that is wrong, if there is one.
    package var field: String? { data?["details"]?["field"]?.stringValue }
    package var description: String { "\(rpcCode) \(code): \(message)" }
}

/// The client's end of the socket, with nothing between the test and the bytes: lines out, lines in.
///
/// Calls block a separate thread. Only one call may run at a time.
package final class RPCProbe: Sendable {
    private struct State {
        var buffer: [UInt8] = []
        var scanned = 0
        var events: [JSONValue] = []
        var nextID: Int64 = 1
    }

    private let descriptor: Int32
    private let state = Guarded(State())

    /// - Parameter uid: connects as this user (and the group with the same number); needs root.
    package init(_ socketPath: String, uid: UInt32? = nil) async throws {
        descriptor = try await Threads.run {
            // The thread ends after this, so that nothing else ever runs with the other identity.
            if let uid { try ThreadIdentity.become(uid) }
            return try PlainSocket.connect(toPath: socketPath)
        }
    }

    deinit { close(descriptor) }

    /// Ends the connection while the object still exists.
    package func disconnect() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    // MARK: - Calls

    /// - Throws: `RPCFailure` for an error answer.
    @discardableResult
    package func call(
        _ method: String, _ parameters: JSONValue = [:], within limit: Double = 60
    ) async throws -> JSONValue {
        let id = state.withLock { state -> Int64 in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let request: JSONValue = [
            "jsonrpc": "2.0", "id": .integer(id), "method": .string(method), "params": parameters,
        ]
        try await send(line: request)
        while true {
            let answer = try await nextMessage(within: limit)
            guard let answerID = answer["id"] else {
                state.withLock { $0.events.append(answer) }
                continue
            }
            guard answerID == .integer(id) else { throw SupportError("an answer to something else: \(answer)") }
            return try Self.result(of: answer)
        }
    }

    /// Returns the answer's result.
    /// - Throws: `RPCFailure` if it is an error.
    package static func result(of answer: JSONValue) throws -> JSONValue {
        if let error = answer["error"] {
            throw RPCFailure(
                rpcCode: error["code"]?.integerValue ?? 0, message: error["message"]?.stringValue ?? "",
                data: error["data"])
        }
        guard let result = answer["result"] else { throw SupportError("neither result nor error: \(answer)") }
        return result
    }

    /// The next complete notification. Those that came during calls come first.
    package func nextNotification(within limit: Double = 60) async throws -> JSONValue {
        let kept = state.withLock { state -> JSONValue? in
            guard let first = state.events.first else { return .none }
            state.events.removeFirst()
            return first
        }
        return if let kept { kept } else { try await nextMessage(within: limit) }
    }

    /// The parameters of the next `event` notification. Those that came during calls come first.
    package func nextEvent(within limit: Double = 60) async throws -> JSONValue {
        while true {
            let message = try await nextNotification(within: limit)
            if message["method"]?.stringValue == "event", let parameters = message["params"] { return parameters }
        }
    }

    /// The events up to the first one of this type, inclusive.
    package func events(until type: String, within limit: Double = 60) async throws -> [JSONValue] {
        var events: [JSONValue] = []
        while true {
            let event = try await nextEvent(within: limit)
            events.append(event)
            if event["type"]?.stringValue == type { return events }
        }
    }

    // MARK: - Lines

    package func send(line: JSONValue) async throws {
        try await send(JSONCoding.encode(line) + [UInt8(ascii: "\n")])
    }

    /// Sends any bytes. Returns false if the daemon has closed the connection meanwhile.
    @discardableResult
    package func send(_ bytes: [UInt8]) async throws -> Bool {
        let descriptor = descriptor
        return try await Threads.run {
            var offset = 0
            while offset < bytes.count {
                let count = bytes[offset...].withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }

    /// The next message.
    /// - Throws: `SupportError` if the connection ends or the limit passes.
    package func nextMessage(within limit: Double = 60) async throws -> JSONValue {
        guard let line = try await nextLine(within: limit) else {
            throw SupportError("the daemon closed the connection")
        }
        return try ForeignJSON.value(line)
    }

    /// The next line without its LF; nil if the daemon closed the connection.
    package func nextLine(within limit: Double = 60) async throws -> [UInt8]? {
        if let line = takeLine() { return line }
        return try await Threads.run { [self] in
            let deadline = ContinuousClock.now + .seconds(limit)
            while ContinuousClock.now < deadline {
                guard try receive(milliseconds: 100) else { return nil }
                if let line = takeLine() { return line }
            }
            throw SupportError("no line within \(limit) s")
        }
    }

    private func takeLine() -> [UInt8]? {
        state.withLock { state in
            guard let end = state.buffer[state.scanned...].firstIndex(of: UInt8(ascii: "\n")) else {
                state.scanned = state.buffer.count
                return nil
            }
            let line = Array(state.buffer[..<end])
            state.buffer.removeSubrange(...end)
            state.scanned = 0
            return line
        }
    }

    /// Returns false at the end of the connection.
    private func receive(milliseconds: Int32) throws -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return true }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count < 0, errno == EINTR || errno == EAGAIN { return true }
        guard count > 0 else { return false }
        state.withLock { $0.buffer.append(contentsOf: piece[..<count]) }
        return true
    }
}

/// Gives one thread the identity of another user. Linux keeps credentials for each thread, and SO_PEERCRED reports
/// those of the thread that connected.
enum ThreadIdentity {
    private typealias SystemCall = @convention(c) (Int, Int, Int, Int) -> Int

    #if arch(x86_64)
        private static let setgroups = 116
        private static let setresuid = 117
        private static let setresgid = 119
    #else
        private static let setgroups = 159
        private static let setresuid = 147
        private static let setresgid = 149
    #endif

    /// Glibc's own setresuid changes every thread; the raw call changes only this one.
    static func become(_ uid: UInt32) throws {
        guard let symbol = dlsym(nil, "syscall") else { throw SupportError("no syscall(2)") }
        let call = unsafeBitCast(symbol, to: SystemCall.self)
        let id = Int(uid)
        guard call(setgroups, 0, 0, 0) == 0, call(setresgid, id, id, id) == 0, call(setresuid, id, id, id) == 0 else {
            throw SupportError("cannot become user \(uid): errno \(errno)")
        }
    }
}

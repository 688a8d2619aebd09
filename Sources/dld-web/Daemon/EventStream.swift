import FoundationEssentials
import NIOConcurrencyHelpers
import NIOCore
import TransferModel

/// The texts of server-sent events (HTML Standard, section 9.2).
enum EventFrame {
    /// What may be dropped for a reader that is slow.
    enum Kind: Sendable { case log, progress, stats }

    static let heartbeat = ByteBuffer(string: ":\n\n")

    static func hello(head: Int64?, isUp: Bool) -> ByteBuffer {
        let data: JSONValue = [
            "head": head.map { .integer($0) } ?? .null, "now": .string("\(Timestamp.now())"), "daemon": state(isUp),
        ]
        return ByteBuffer(string: "retry: 1000\nevent: hello\ndata: \(text(data))\n\n")
    }

    static func log(_ sequence: Int64, _ event: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: Array("event: log\nid: \(sequence)\ndata: ".utf8) + event + Array("\n\n".utf8))
    }

    static func progress(_ event: [UInt8]) -> ByteBuffer { plain("progress", event) }
    static func stats(_ stats: [UInt8]) -> ByteBuffer { plain("stats", stats) }
    static func daemon(isUp: Bool) -> ByteBuffer {
        plain("daemon", JSONCoding.encode(["state": state(isUp)] as JSONValue))
    }
    static func resync(head: Int64) -> ByteBuffer {
        plain("resync", JSONCoding.encode(["head": .integer(head)] as JSONValue))
    }

    private static func state(_ isUp: Bool) -> JSONValue { isUp ? "up" : "away" }
    private static func text(_ value: JSONValue) -> String { String(decoding: JSONCoding.encode(value), as: UTF8.self) }
    private static func plain(_ name: String, _ data: [UInt8]) -> ByteBuffer {
        ByteBuffer(bytes: Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8))
    }
}

/// One open `/events`. What its reader does not take waits here, within a bound.
final class EventStream: Sendable {
    private struct State {
        var waiting: [(frame: ByteBuffer, kind: EventFrame.Kind)] = []
        var bytes = 0
        /// The newest event, for a reader that has to begin anew.
        var head: Int64 = 0
        var isLive = false
        var isScheduled = false
        var hasEnded = false
        /// Those who wait until everything has been taken.
        var drains: [CheckedContinuation<Void, Never>] = []
    }

    /// Over this, in bytes, progress is dropped, and then everything.
    static let bound = 256 << 10

    /// The sign-in session that ends it.
    let session: String
    private let channel: any Channel
    /// Writes a piece of the body; on the channel's loop.
    private let write: @Sendable (ByteBuffer) -> Void
    private let state = NIOLockedValueBox(State())

    init(session: String, channel: any Channel, write: @escaping @Sendable (ByteBuffer) -> Void) {
        (self.session, self.channel, self.write) = (session, channel, write)
    }

    var isLive: Bool { state.withLockedValue { $0.isLive } }
    var hasEnded: Bool { state.withLockedValue { $0.hasEnded } }

    func becomeLive(head: Int64?) {
        state.withLockedValue { state in
            state.isLive = true
            state.head = head ?? 0
        }
    }

    /// - Parameter head: the newest event, if it has changed.
    func send(_ frame: ByteBuffer, _ kind: EventFrame.Kind, head: Int64? = nil) {
        let mustFlush = state.withLockedValue { state in
            guard !state.hasEnded else { return false }
            if let head { state.head = head }
            state.waiting.append((frame, kind))
            state.bytes += frame.readableBytes
            // A stream that is not live yet is filled page by page, each after the one before has been taken.
            if state.isLive, state.bytes > Self.bound { shed(&state) }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustFlush { channel.eventLoop.execute { self.flush() } }
    }

    private func shed(_ state: inout State) {
        state.waiting.removeAll { $0.kind != .log }
        state.bytes = state.waiting.reduce(0) { $0 + $1.frame.readableBytes }
        guard state.bytes > Self.bound else { return }
        // What is said of the daemon comes again with the next change; the head says where to begin.
        state.waiting = [(EventFrame.resync(head: state.head), .log)]
        state.bytes = 0
    }

    /// Writes what the reader takes now; on the channel's loop.
    func flush() {
        while channel.isWritable {
            let frame = state.withLockedValue { state -> ByteBuffer? in
                guard !state.waiting.isEmpty else { return nil }
                let frame = state.waiting.removeFirst().frame
                state.bytes -= frame.readableBytes
                return frame
            }
            guard let frame else { break }
            write(frame)
        }
        let drains = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            state.isScheduled = !state.waiting.isEmpty
            guard state.waiting.isEmpty else { return [] }
            defer { state.drains = [] }
            return state.drains
        }
        for drain in drains { drain.resume() }
    }

    /// Waits until the reader has taken everything, or has gone.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLockedValue { state in
                guard !state.waiting.isEmpty, !state.hasEnded else { return true }
                state.drains.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    /// Ends the response, and so the connection.
    func end() { channel.eventLoop.execute { self.channel.close(promise: nil) } }

    /// The connection has ended.
    func ended() {
        let drains = state.withLockedValue { state in
            state.hasEnded = true
            (state.waiting, state.bytes) = ([], 0)
            defer { state.drains = [] }
            return state.drains
        }
        for drain in drains { drain.resume() }
    }
}

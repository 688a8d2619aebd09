import NIOConcurrencyHelpers
import NIOCore

/// One client. Its requests begin in order, and its answers and notifications leave through one limited queue.
package final class RPCConnection: Sendable {
    /// The work between the socket and the handler.
    private struct State {
        var lines: [[UInt8]] = []
        /// The bytes of these lines, and of the long line that is being answered.
        var lineBytes = 0
        /// The length of the long line whose requests are being answered or come next.
        var longBytes: Int?
        var requests: [Pending] = []
        /// The index of the next entry of `requests`.
        var next = 0
        var inFlight = 0
        var isPumping = false
        var isReadHeld = false
        var isInputEnded = false
        var isClosed = false

        var hasWork: Bool { next < requests.count || !lines.isEmpty }
        /// All requests of the last line are answered.
        var isThrough: Bool { next >= requests.count && inFlight == 0 }
    }

    private struct Pending: Sendable {
        var entry: RPCLine.Entry
        var batch: BatchAnswers?
    }

    private enum Work {
        case line([UInt8])
        case request(Pending)
    }

    /// Unique among the connections of this process.
    package let id: Int
    package let peer: PeerIdentity

    private let state = NIOLockedValueBox(State())
    private let channel: any Channel
    private let registry: ConnectionRegistry
    private var limits: RPCLimits { registry.limits }
    private let handler: any RequestHandler
    private let queue: OutgoingQueue

    init(
        id: Int, peer: PeerIdentity, channel: any Channel, registry: ConnectionRegistry, handler: any RequestHandler
    ) {
        self.id = id
        self.peer = peer
        self.channel = channel
        self.registry = registry
        self.handler = handler
        let box = WeakConnection()
        queue = OutgoingQueue(channel: channel, of: peer.uid, registry: registry) {
            box.connection?.kick()
            box.connection?.resumeReading()
        }
        box.set(self)
    }

    package var isClosed: Bool { state.withLockedValue { $0.isClosed } }
    /// The client sends no further requests: its input has ended.
    package var isLeaving: Bool { state.withLockedValue { $0.isInputEnded || $0.isClosed } }
    /// Bytes that wait to be sent.
    package var queuedBytes: Int { queue.bytes }
    /// The client must read before more is done for it.
    package var isCrowded: Bool { queue.isCrowded }
    /// The bytes of received lines that are not answered. A short line counts until its requests have begun.
    var heldBytes: Int { state.withLockedValue { $0.lineBytes } }

    /// Sends one line made of `pieces`, and adds the LF. A client that is too far behind is dropped.
    package func send(_ pieces: [UInt8]...) {
        queue.append { buffer in
            let count = pieces.reduce(1) { $0 + $1.count }
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
                var end = 0
                for piece in pieces {
                    piece.withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: space[end...]).copyMemory(from: $0)
                    }
                    end += piece.count
                }
                space[end] = UInt8(ascii: "\n")
                return count
            }
        }
    }

    /// Sends a line that is made, without its LF, when the client has read what came before. Such lines stay in order, but
    /// others overtake them. A client that is much too far behind is dropped.
    package func sendLater(_ line: @escaping @Sendable () -> [UInt8]) { queue.appendLater(line) }

    /// Suspends while many bytes wait to be sent. Returns false if the connection is closed.
    package func waitForRoom() async -> Bool { await queue.waitForRoom() }

    package func close() { queue.close() }

    /// Begins the requests that have waited since the handler was not ready. Returns at once.
    package func goOn() { Task { self.pump() } }
}

// MARK: - From the channel

extension RPCConnection {
    func receive(_ line: [UInt8]) {
        state.withLockedValue { state in
            state.lines.append(line)
            state.lineBytes += line.count
        }
        kick()
    }

    /// Tells whether more may be read now. If not, reading resumes later by itself.
    func mayRead() -> Bool {
        state.withLockedValue { state in
            state.isReadHeld = !hasRoom(state)
            return !state.isReadHeld
        }
    }

    /// Notes that the client will send nothing more. It gets the answers to its requests, then the connection closes.
    func inputEnded() {
        state.withLockedValue { $0.isInputEnded = true }
        closeIfDone()
    }

    /// Sends an error that belongs to no request, then closes.
    func refuse(_ error: RPCError) {
        send(RPCText.answer(id: nil, error: error))
        queue.closeWhenEmpty()
    }

    func channelClosed() {
        let isFirst = state.withLockedValue { state in
            defer {
                state.isClosed = true
                state.lineBytes = state.longBytes ?? 0
                state.lines = []
                state.requests = []
                state.next = 0
            }
            return !state.isClosed
        }
        let isAnswering = state.withLockedValue { $0.longBytes != nil }
        if !isAnswering { registry.endLong(self) }
        endLongIfThrough()
        queue.close()
        if isFirst { handler.closed(self) }
    }

    private func hasRoom(_ state: State) -> Bool {
        state.lines.count + (state.requests.count - state.next) + state.inFlight < limits.inFlight
            && state.lineBytes < limits.line && !queue.isCrowded
    }

    fileprivate func resumeReading() {
        let resumes = state.withLockedValue { state in
            guard state.isReadHeld, hasRoom(state) else { return false }
            state.isReadHeld = false
            return true
        }
        if resumes { channel.read() }
    }

    private func closeIfDone() {
        let isDone = state.withLockedValue { $0.isInputEnded && !$0.hasWork && $0.inFlight == 0 && !$0.isPumping }
        if isDone { queue.closeWhenEmpty() }
    }
}

// MARK: - Requests

extension RPCConnection {
    /// Starts the pump if there is work and no pump runs. Only one pump at a time keeps requests in order.
    private func kick() {
        let starts = state.withLockedValue { state in
            guard !state.isPumping, state.hasWork, !state.isClosed else { return false }
            state.isPumping = true
            return true
        }
        if starts { Task { self.pump() } }
    }

    private func pump() {
        while true {
            // `isPumping` stays true until `goOn` starts the next pump, so that nothing overtakes what waits.
            guard handler.isReady(for: self) else { return }
            guard let work = nextWork() else { break }
            switch work {
            case .line(let line): unpack(line)
            case .request(let pending): begin(pending)
            }
        }
        endLongIfThrough()
        resumeReading()
        closeIfDone()
    }

    private func nextWork() -> Work? {
        state.withLockedValue { state in
            if state.next < state.requests.count {
                // A client that does not read is not served further.
                guard state.inFlight < limits.inFlight, !queue.isCrowded else {
                    state.isPumping = false
                    return nil
                }
                state.inFlight += 1
                defer { state.next += 1 }
                return .request(state.requests[state.next])
            }
            // A long request is answered alone.
            guard let line = state.lines.first, state.longBytes == nil,
                line.count <= limits.longLine || state.inFlight == 0
            else {
                state.isPumping = false
                return nil
            }
            if line.count > limits.longLine {
                // `isPumping` stays true until `goOn` starts the next pump.
                guard registry.beginLong(self) else { return nil }
                state.longBytes = line.count
            } else {
                state.lineBytes -= line.count
            }
            state.requests = []
            state.next = 0
            state.lines.removeFirst()
            return .line(line)
        }
    }

    /// Passes on the place of a long request after it is answered.
    private func endLongIfThrough() {
        let isEnd = state.withLockedValue { state in
            guard let bytes = state.longBytes, state.isThrough else { return false }
            state.longBytes = nil
            state.lineBytes -= bytes
            return true
        }
        guard isEnd else { return }
        registry.endLong(self)
        kick()
        // The next read returns its share of the common memory.
        channel.read()
    }

    private func unpack(_ line: [UInt8]) {
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
        do throws(RPCError) {
            let parsed = try RPCLine(line, batchLimit: limits.batch)
            let batch = parsed.isBatch ? BatchAnswers(expected: parsed.entries.count, of: peer.uid, registry) : nil
            let pending = parsed.entries.map { Pending(entry: $0, batch: batch) }
            state.withLockedValue { if !$0.isClosed { $0.requests = pending } }
        } catch {
            send(RPCText.answer(id: nil, error: error))
        }
    }

    private func begin(_ pending: Pending) {
        if case .request(let request) = pending.entry, pending.batch?.isFull ?? false {
            let refusal = request.id.map { RPCText.answer(id: $0, error: BatchAnswers.noRoom) }
            return finish(pending, with: refusal, then: nil)
        }
        if case .request(let request) = pending.entry, registry.owesTooMuch(to: peer.uid) {
            return finish(pending, with: request.id.map { RPCText.answer(id: $0, error: Self.unread) }, then: nil)
        }
        switch pending.entry {
        case .invalid(let id, let error): finish(pending, with: RPCText.answer(id: id, error: error), then: nil)
        case .request(let request):
            Task.immediate {
                let answer = await self.handler.answer(request, from: self)
                let text = request.id.map { Self.text(answer.result, id: $0) }
                self.finish(pending, with: text, then: answer.afterwards)
            }
        }
    }

    private static let unread = RPCError.limitReached(
        "Your clients have left too many bytes of answers unread; read them, or close their connections.")

    private static func text(_ result: Result<[UInt8], RPCError>, id: [UInt8]) -> [UInt8] {
        switch result {
        case .success(let result): RPCText.answer(id: id, result: result)
        case .failure(let error): RPCText.answer(id: id, error: error)
        }
    }

    private func finish(_ pending: Pending, with text: [UInt8]?, then afterwards: (@Sendable () -> Void)?) {
        if let batch = pending.batch {
            if let whole = batch.add(text, afterwards) {
                if let text = whole.text { send(text) }
                whole.afterwards.forEach { $0() }
            }
        } else {
            if let text { send(text) }
            afterwards?()
        }
        state.withLockedValue { $0.inFlight -= 1 }
        endLongIfThrough()
        kick()
        resumeReading()
        closeIfDone()
    }
}

/// Collects the answers to one batch. Above a limit of bytes, no further request of the batch begins.
private final class BatchAnswers: Sendable {
    private struct State {
        var missing: Int
        var text: [UInt8] = []
        var afterwards: [@Sendable () -> Void] = []
        /// Bytes that are counted here, and not in the queue yet.
        var owed = 0
    }
    private let state: NIOLockedValueBox<State>
    private let uid: UInt32
    private let registry: ConnectionRegistry

    init(expected: Int, of uid: UInt32, _ registry: ConnectionRegistry) {
        state = NIOLockedValueBox(State(missing: expected))
        self.uid = uid
        self.registry = registry
    }

    deinit { registry.owe(-state.withLockedValue { $0.owed }, to: uid) }

    /// Returns the whole answer once the last part has come (without a text if the batch had only notifications); nil
    /// before.
    func add(
        _ text: [UInt8]?, _ afterwards: (@Sendable () -> Void)?
    ) -> (text: [UInt8]?, afterwards: [@Sendable () -> Void])? {
        let (whole, count) = state.withLockedValue { state in
            let before = state.owed
            state.missing -= 1
            if let text {
                state.text.append(state.text.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
                state.text += text
            }
            if let afterwards { state.afterwards.append(afterwards) }
            if state.missing == 0, !state.text.isEmpty { state.text.append(UInt8(ascii: "]")) }
            state.owed = state.missing == 0 ? 0 : state.text.count
            let text = state.text.isEmpty ? nil : state.text
            return (state.missing == 0 ? (text, state.afterwards) : nil, state.owed - before)
        }
        registry.owe(count, to: uid)
        return whole
    }

    /// No further request of the batch begins.
    var isFull: Bool {
        let count = state.withLockedValue { $0.text.count }
        return count > registry.limits.outgoing || count > 0 && registry.owesMuch(to: uid)
    }

    static let noRoom = RPCError.tooLarge(
        "The answers to this batch, or those that your clients have not read, are too long together, and this request "
            + "was not begun; read them, and ask in several.")
}

/// Lets a queue call back the connection that owns it, without keeping it alive.
private final class WeakConnection: Sendable {
    private struct Reference: Sendable { weak var value: RPCConnection? }
    private let reference = NIOLockedValueBox(Reference())
    func set(_ connection: RPCConnection) { reference.withLockedValue { $0.value = connection } }
    var connection: RPCConnection? { reference.withLockedValue { $0.value } }
}

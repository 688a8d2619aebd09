import CurlEngine
import FileKit
import Threading
import TransferCore
import TransferModel
import TransferRPC

/// Sends the body of one task to the client of its session. Pieces go out as they arrive, as long as the client has
/// given credit and reads. Nothing of the body is kept except a piece that is being decoded, and what a cache would store.
package final class BodyStream: BodyReceiver {
    private struct State {
        /// The bytes that the client is still ready to receive.
        var credit: Int64 = 0
        var body = StreamedBody()
        /// The client has been told of the answer.
        var isOpen = false
        /// The transfer is paused until it is woken.
        var isHeld = false
        /// Since when it has been paused at one offset, in milliseconds of the boot clock.
        var stuck: (at: ByteCount, since: Int64)?
        var wake: (@Sendable () -> Void)?
        var decodes = false
        var decoding: StreamedDecoding?
        /// A whole body that is here; the client has yet to get what is beyond the offset.
        var stored: [UInt8]?
        /// Tells how many bytes of a body a cache would keep; nil without a cache.
        var room: (@Sendable (ResponseHead) -> Int)?
        /// What has been sent, for the cache, and the most that it keeps; nil for bodies that it does not.
        var copy: (bytes: [UInt8], most: Int)?
    }

    /// The most bytes decoded before other transfers get a turn.
    private static let turn = 256 << 10

    let task: TaskID
    let session: SessionKey
    private let sink: any EventSink
    private let prefix: [UInt8]
    private let state = Guarded(State())

    package init(task: TaskID, session: SessionKey, to sink: any EventSink) {
        self.task = task
        self.session = session
        self.sink = sink
        prefix = Array(
            "{\"jsonrpc\":\"2.0\",\"method\":\"\(RPCCatalog.dataNotification)\",\"params\":{\"task\":\(task),\"offset\":"
                .utf8)
    }

    // MARK: The client

    /// The client that receives the body.
    var client: Int { sink.id }

    /// Adds to the credit. A sum that overflows counts as the largest value.
    /// - Returns: the remaining credit.
    @discardableResult
    package func give(_ bytes: ByteCount) -> ByteCount {
        let (credit, wake) = state.withLock { state in
            let (sum, overflows) = state.credit.addingReportingOverflow(bytes.rawValue)
            state.credit = overflows ? .max : sum
            return (state.credit, Self.wakeHeld(&state))
        }
        wake?()
        return ByteCount(credit)
    }

    /// Milliseconds without credit, or without reading, after which the stream leaves its slot.
    private static let patience: Int64 = 10_000

    /// Whether the client has taken no bytes for a while, although there are some. Called once or twice a second.
    /// - Parameter boot: milliseconds of the boot clock.
    func isStuck(at boot: Int64) -> Bool {
        state.withLock { state in
            guard state.isHeld, state.isOpen else {
                state.stuck = nil
                return false
            }
            if state.stuck?.at != state.body.offset { state.stuck = (state.body.offset, boot) }
            return boot - (state.stuck?.since ?? boot) >= Self.patience
        }
    }

    // MARK: The attempt

    /// What the client has received, and of which answer.
    var body: StreamedBody { state.withLock { $0.body } }

    /// Prepares for an exchange.
    /// - Parameters:
    ///   - decodes: the body is wanted without its content codings.
    ///   - room: how many bytes of the body the outcome is to have, for a cache.
    package func prepare(decodes: Bool, keeping room: (@Sendable (ResponseHead) -> Int)? = nil) {
        state.withLock { state in
            state.isOpen = false
            state.isHeld = false
            // An answer that supplied no byte does not bind the next one.
            if state.body.offset == .zero { state.body.acceptance = nil }
            state.decodes = decodes
            state.decoding = nil
            state.room = room
            state.copy = nil
        }
    }

    /// Lets the body follow, because the client has been told of the answer.
    package func open() {
        let wake = state.withLock { state in
            state.isOpen = true
            return Self.wakeHeld(&state)
        }
        wake?()
    }

    /// Ends the exchange: no more of its bytes come.
    /// - Returns: its outcome, with what the client has received. A coded body must have been complete. If a cache has
    ///   room for the body, the outcome has it.
    func ended(_ outcome: ExchangeOutcome) -> ExchangeOutcome {
        let known = state.withLock { state in
            defer { (state.wake, state.decoding, state.room, state.copy) = (nil, nil, nil, nil) }
            if state.body.acceptance == nil, case .accept(let acceptance)? = outcome.verdict {
                state.body.acceptance = acceptance
            }
            return state
        }
        let decoding = known.decoding
        var outcome = outcome
        outcome.offset = known.body.offset
        if known.room != nil {
            outcome.keep(known.copy.flatMap { Int64($0.bytes.count) == outcome.offset.rawValue ? $0.bytes : nil })
        }
        guard let decoding, outcome.end == .finished else { return outcome }
        do throws(TransferError) {
            try decoding.end()
        } catch {
            outcome.end = .stopped(.failure(error, retryAfter: nil))
        }
        return outcome
    }

    /// The client gets a stored body, also in later attempts, or has all of the one that arrived.
    func isWhole(_ stored: [UInt8]? = nil) {
        state.withLock { state in
            state.body.isWhole = true
            state.stored = stored
        }
    }

    /// Sends what is left of a stored body, if there is one.
    func sendStored() async throws { if let stored = state.withLock({ $0.stored }) { try await send(stored) } }

    /// Sends a body that is here already, as the client gives credit.
    /// - Throws: `CancellationError` if the run is stopped meanwhile.
    func send(_ bytes: [UInt8]) async throws {
        let (turns, turn) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.wake = { turn.yield() } }
        defer { state.withLock { $0.wake = nil } }
        open()
        var (sent, waiting) = (min(bytes.count, Int(offset.rawValue)), turns.makeAsyncIterator())
        while true {
            let taken = bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            sent += taken
            guard sent < bytes.count else { return }
            guard await waiting.next() != nil else { throw CancellationError() }
        }
    }

    // MARK: The engine

    package var offset: ByteCount { state.withLock { $0.body.offset } }

    package func begin(_ head: ResponseHead, wake: @escaping @Sendable () -> Void) {
        let most = state.withLock { $0.room }?(head) ?? 0
        state.withLock { state in
            state.wake = wake
            if most > 0, state.body.offset == .zero { state.copy = ([], most) }
            if case .coded(let codings) = AnswerBody(head, decodes: state.decodes) {
                state.decoding = StreamedDecoding(codings)
            }
        }
    }

    package func take(_ bytes: UnsafeRawBufferPointer) -> BodyReception {
        if let decoding = state.withLock({ $0.decoding }) { return take(bytes, decoding) }
        let taken = send(bytes)
        return taken == bytes.count ? .taken : .held(taken)
    }

    private func take(_ coded: UnsafeRawBufferPointer, _ decoding: StreamedDecoding) -> BodyReception {
        var budget = Self.turn
        do throws(TransferError) {
            let used = try decoding.decode(coded) { decoded in
                let taken = send(UnsafeRawBufferPointer(rebasing: decoded.prefix(budget)))
                budget -= taken
                return taken
            }
            guard let used else { return .taken }
            if budget == 0 { state.withLock { $0.wake }?() }
            return .held(used)
        } catch {
            return .refused(error)
        }
    }

    /// Sends as much as the credit allows. Returns how many bytes were sent.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        var sent = 0
        while sent < bytes.count, let piece = claim(atMost: min(bytes.count - sent, Bounds.streamPiece)) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[sent..<sent + piece.count])
            sink.send(line(part, at: piece.offset))
            state.withLock { state in
                guard let copy = state.copy else { return }
                if copy.bytes.count + part.count > copy.most { state.copy = nil } else { state.copy?.bytes += part }
            }
            sent += piece.count
        }
        return sent
    }

    /// Claims a piece that may be sent now; nil if there is none. Then the transfer is woken later, or is held until its
    /// session has ended if the client is gone.
    private func claim(atMost wanted: Int) -> (offset: Int64, count: Int)? {
        let (isCrowded, isClosed) = (sink.isCrowded, sink.isClosed)
        let piece = state.withLock { state -> (offset: Int64, count: Int)? in
            guard state.isOpen, !isCrowded, !isClosed, state.credit > 0 else {
                state.isHeld = true
                return nil
            }
            let count = min(Int64(wanted), state.credit)
            defer { state.body.offset += ByteCount(count) }
            state.credit -= count
            return (state.body.offset.rawValue, Int(count))
        }
        if isCrowded { Task { if await sink.waitForRoom() { state.withLock { Self.wakeHeld(&$0) }?() } } }
        return piece
    }

    private static func wakeHeld(_ state: inout State) -> (@Sendable () -> Void)? {
        guard state.isHeld else { return nil }
        state.isHeld = false
        return state.wake
    }

    private func line(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> [UInt8] {
        let place = Array("\(offset),\"base64\":\"".utf8)
        let end = prefix.count + place.count
        return [UInt8](unsafeUninitializedCapacity: end + Base64.length(of: bytes.count) + 3) { line, length in
            let raw = UnsafeMutableRawBufferPointer(line)
            raw.copyBytes(from: prefix)
            UnsafeMutableRawBufferPointer(rebasing: raw[prefix.count...]).copyBytes(from: place)
            let text = Base64.encode(bytes, into: UnsafeMutableRawBufferPointer(rebasing: raw[end...]))
            UnsafeMutableRawBufferPointer(rebasing: raw[(end + text)...]).copyBytes(from: "\"}}".utf8)
            length = end + text + 3
        }
    }
}

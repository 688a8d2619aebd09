import Threading
import TransferModel
import TransferRPC

/// One client's position in the log, and the events that it wants.
final class Subscription: Sendable {
    private struct State {
        var cursor: SequenceNumber
        var isWoken = false
        /// The client knows the subscription's name.
        var isBegun = false
        var isEnded = false
        /// Volatile events that came before `begin`.
        var early: [TailEvent] = []
        var waiter: CheckedContinuation<Bool, Never>?
        var lastProgress: [TaskID: LiveFigures] = [:]
        var nextProgressAt: ContinuousClock.Instant?
    }

    let name: String
    let sink: any EventSink
    let filter: EventFilter
    /// The peer's own user id, which owns the durable name.
    let peer: UserID
    let subscriber: String?
    /// nil if the client wants no progress.
    let progressInterval: Duration?
    private let prefix: [UInt8]
    private let state: Guarded<State>

    init(
        name: String, sink: any EventSink, filter: EventFilter, peer: UserID, subscriber: String?,
        progressInterval: Duration?, cursor: SequenceNumber
    ) {
        self.name = name
        self.sink = sink
        self.filter = filter
        self.peer = peer
        self.subscriber = subscriber
        self.progressInterval = progressInterval
        prefix = Array(
            "{\"jsonrpc\":\"2.0\",\"method\":\"\(RPCCatalog.eventNotification)\",\"params\":{\"subscription\":\"\(name)\""
                .utf8)
        state = Guarded(State(cursor: cursor))
    }

    var cursor: SequenceNumber { state.withLock { $0.cursor } }
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// Allows sending, and sends the volatile events that came before.
    func begin() {
        state.withLock { state in
            state.isBegun = true
            for event in state.early { sendLater(event) }
            state.early = []
        }
    }

    /// Sends an event that has no number in the log. Any number of them may come at once.
    func deliver(_ event: TailEvent) {
        state.withLock { state in
            guard !state.isEnded else { return }
            if state.isBegun { sendLater(event) } else { state.early.append(event) }
        }
    }

    /// Wakes the pump, because there may be new events.
    func wake() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isWoken = state.waiter == nil
            return state.waiter
        }
        waiter?.resume(returning: true)
    }

    func end() {
        let waiter = state.withLock { state in
            state.isEnded = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: false)
    }

    /// Suspends until there may be new events. Returns false if the subscription has ended.
    func waitForWake() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.isEnded { return false }
                if state.isWoken {
                    state.isWoken = false
                    return true
                }
                state.waiter = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Sends a page and moves the cursor to its end. It holds the lock, so that no progress event is sent in between or
    /// later.
    func deliver(_ page: EventPage) {
        state.withLock { state in
            guard !state.isEnded else { return }
            var told = state.cursor
            for event in page.events {
                if let lost = page.lost, let number = event.record.sequence {
                    told = tellGap(after: told, before: min(number, lost))
                    told = max(told, number)
                }
                send(event.text)
            }
            if let lost = page.lost, page.cursor >= SequenceNumber(lost.rawValue - 1) {
                _ = tellGap(after: told, before: lost)
            }
            state.cursor = page.cursor
        }
    }

    /// Reports a gap at its position, so that the numbers only grow. Retention removes events of some owners and keeps
    /// older ones of others.
    /// - Returns: the last number that the client knows of now.
    private func tellGap(after told: SequenceNumber, before first: SequenceNumber) -> SequenceNumber {
        let last = SequenceNumber(first.rawValue - 1)
        guard last > told else { return told }
        send(EventRecord.lagged(first: first, owner: peer, at: .now()).wireMembers)
        return last
    }

    /// Sends the figures that are due and new, provided that every stored event before them has been sent.
    /// - Parameter moment: returns the head of the log, and the tasks that ended before it.
    func deliver(
        _ progress: [ProgressEvent], at now: ContinuousClock.Instant,
        moment: () -> (head: SequenceNumber, ended: Set<TaskID>)
    ) {
        guard let progressInterval, sink.queuedBytes < Self.progressBound else { return }
        state.withLock { own in
            guard own.isBegun, !own.isEnded, own.nextProgressAt.map({ now >= $0 }) ?? true else { return }
            let (head, ended) = moment()
            guard own.cursor >= head else { return }
            own.nextProgressAt = now + progressInterval
            var last: [TaskID: LiveFigures] = [:]
            for event in progress where !ended.contains(event.figures.task) && filter.matches(event.event.record) {
                last[event.figures.task] = event.figures.live
                if own.lastProgress[event.figures.task] != event.figures.live { send(event.event.text) }
            }
            own.lastProgress = last
        }
    }

    /// If more bytes than this wait, progress is skipped: later figures replace it.
    private static let progressBound = 64 << 10

    private func send(_ members: [UInt8]) { sink.send(prefix, members, [UInt8(ascii: "}")]) }

    private func sendLater(_ event: TailEvent) {
        sink.sendLater { [prefix] in prefix + event.text + [UInt8(ascii: "}")] }
    }
}

/// A task's progress on its way to subscribers.
struct ProgressEvent: Sendable {
    let figures: ProgressFigures
    let event: TailEvent

    init(_ figures: ProgressFigures, at time: Timestamp) {
        self.figures = figures
        let live = figures.live
        var payload = JSONMembers(room: 160)
        payload.add("phase", live.phase.rawValue)
        payload.add("bytesReceived", live.bytesReceived)
        payload.add("bytesExpected", live.bytesExpected)
        payload.add("bytesSent", live.bytesSent)
        payload.add("bytesToSend", live.bytesToSend)
        if let decoded = live.bytesDecoded { payload.add("bytesDecoded", decoded) }
        payload.add("rate", live.rate.rawValue)
        if let eta = live.eta { payload.add("eta", eta.rawValue) }
        if let offset = live.resumedFrom { payload.add("resumedFrom", offset) }
        event = TailEvent(
            EventRecord(
                time: time, type: .taskProgress, session: figures.session, task: figures.task, payload: payload))
    }
}

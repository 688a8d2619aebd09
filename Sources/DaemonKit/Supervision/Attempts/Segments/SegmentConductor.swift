import CurlEngine
import Threading
import TransferCore
import TransferModel

/// Carries out the decisions of a `SegmentedDownload`: runs its exchanges side by side, each with an end that may move,
/// and reports events to it from any thread.
final class SegmentConductor: FileCourse {
    private struct State {
        var machine: SegmentedDownload
        var board: PartBoard
        var running: [SegmentID: RunningExchange] = [:]
        /// Exchanges that the machine itself has stopped.
        var stopped: Set<SegmentID> = []
        var isCancelled = false
        /// A pause, a preemption or a shutdown stopped an exchange.
        var wasInterrupted = false
        /// A complete body that came at once; it is in no file.
        var gathered: [UInt8]?
        /// Why gathered bytes could not be written.
        var failure: (any Error)?
        /// Called when no exchange runs any more.
        var then: (@Sendable (NextStep<Arrival>) -> Void)?
    }

    private let attempt: DownloadAttempt
    private let part: PartFile
    /// The bytes held of a file with gaps; nil if the first exchange itself reports where it resumes.
    private let held: ByteCount?
    private let context: TransferContext
    private let ends = SegmentBounds()
    private let state: Guarded<State>

    private var run: TransferRun { attempt.run }
    private var recorder: RunRecorder { attempt.recorder }
    private var engine: any ExchangePerforming { attempt.tools.engine }
    private var hosts: HostConnections { attempt.tools.slots.hosts }

    init(_ machine: SegmentedDownload, _ attempt: DownloadAttempt, _ held: HeldPart) {
        self.attempt = attempt
        part = held.part
        context = attempt.run.context(observedBy: attempt.recorder)
        self.held = held.checkpoint.flatMap { $0.ranges.isEmpty ? nil : $0.held }
        let board = attempt.tools.engine.board(for: held.part, held.checkpoint, context: context)
        state = Guarded(State(machine: machine, board: board))
    }

    // MARK: The course

    /// Starts the first exchanges.
    func begin(then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        state.withLock { $0.then = then }
        recorder.beginsSegments(held: held)
        watch()
        run.counters.setTransferring(false)
        step { $0.begin(at: $1, $2) }
    }

    /// Takes over an exchange that began alone and whose body is on its way to the file. `accepted` and `ended` report
    /// what happens to it.
    /// - Parameter then: as in `perform`.
    /// - Returns: the id of the exchange here.
    func adopt(
        _ exchange: Exchange, _ bound: SegmentBound, then: @escaping @Sendable (NextStep<Arrival>) -> Void
    ) -> SegmentID? {
        let now = attempt.tools.time.reading().boot
        watch()
        let adopted = state.withLock { state -> SegmentID? in
            state.then = then
            guard case .run(let id, _, _)? = state.machine.lead(exchange, at: now).first else { return nil }
            ends.add(id, bound)
            return id
        }
        if adopted != nil { recorder.beginsSegments(held: held, hasAnswer: true) }
        return adopted
    }

    var board: PartBoard { state.withLock { $0.board } }

    private func watch() {
        run.watch(samples: { [weak self] in self?.sampled() }, segments: { [weak self] in self?.figures() ?? [] })
    }

    /// Starts over with one exchange, because the part file is empty.
    func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<Arrival>) -> Void) {
        let fresh = engine.board(for: part, nil, context: context)
        state.withLock { state in
            state.board = fresh
            state.gathered = nil
            state.then = then
        }
        watch()
        step { machine, now, _ in machine.lead(exchange, at: now) }
    }

    func mustPrepare(_ exchange: Exchange) -> Bool { false }
    func prepare(_ exchange: Exchange) async throws -> Exchange { exchange }
    func willPerform(_ exchange: Exchange) async throws {}
    func store(_ progress: UploadProgress) async throws {
        try await attempt.tools.keep(progress, of: attempt.record.id)
    }
    func restart(because cause: TransferError) async throws {
        try await attempt.restart(part, because: cause, keeping: nil)
    }
    func stopped() async throws {}
    func error(of failure: AttemptFailure) -> any Error { failure }

    func cancel() {
        let running = state.withLock { state in
            state.isCancelled = true
            return state.running
        }
        for exchange in running.values { exchange.cancel() }
    }

    var claimsAnew: Bool { true }
    var gathered: [UInt8]? { state.withLock { $0.gathered } }
    var asked: Set<String?> { state.withLock { $0.machine.asked } }
    var brought: [String?: ByteRangeSet] { state.withLock { $0.machine.bringers } }

    /// Ends the course when no exchange runs any more. The written bytes are durable, or about to be delivered.
    private func conclude(_ step: Step<Arrival>) {
        run.watch(samples: nil, segments: nil)
        let (board, next) = state.withLock { ($0.board, Self.next(step, $0)) }
        let isDelivered: Bool =
            switch next {
            case .success(.finished?), .success(.restart?): true
            case .success, .failure: false
            }
        board.finish(syncing: !isDelivered) { [self] in
            let (then, gathered) = state.withLock { state in
                defer { state.then = nil }
                return (state.then, state.gathered)
            }
            if case .success(.finished(let arrival)?) = next, gathered == nil, !board.written.covers(arrival.total) {
                then?(.failure(Self.incomplete))
            } else {
                then?(next)
            }
        }
    }

    private static func next(_ step: Step<Arrival>, _ state: State) -> NextStep<Arrival> {
        if let failure = state.failure { return .failure(failure) }
        return .success(state.wasInterrupted || state.isCancelled ? nil : step)
    }

    private static let incomplete = TransferError(
        .internal, "Parts of the file are missing although all seemed to have arrived; please report it.")

    // MARK: Events in

    private func step(_ body: (inout SegmentedDownload, Int64, SegmentBounds) -> [SegmentedDownload.Effect]) {
        perform(stepped(body))
    }

    /// Returns the machine's effects. New segments have their ends before anybody asks for them.
    private func stepped(
        _ body: (inout SegmentedDownload, Int64, SegmentBounds) -> [SegmentedDownload.Effect]
    ) -> [SegmentedDownload.Effect] {
        let now = attempt.tools.time.reading().boot
        return state.withLock { state in
            let effects = body(&state.machine, now, ends)
            for case .run(let id, _, let range) in effects { ends.add(id, range) }
            return effects
        }
    }

    private func sampled() {
        guard let known = state.withLock({ $0.machine.isParted ? $0.machine.hosts : nil }) else { return }
        let spare = known.reduce(0) { $0 + hosts.spare($1) }
        step { $0.sampled(spare: spare, at: $1, $2) }
    }

    // MARK: Effects out

    private func perform(_ effects: [SegmentedDownload.Effect]) {
        for effect in effects {
            switch effect {
            case .run(let id, let exchange, _): fetch(id, exchange)
            case .abort(let id):
                let exchange = state.withLock { state in
                    state.stopped.insert(id)
                    return state.running[id]
                }
                exchange?.cancel()
            case .conclude(let step): conclude(step)
            }
        }
    }

    private func fetch(_ id: SegmentID, _ exchange: Exchange) {
        guard let bound = ends[id] else { return }
        let host = state.withLock { $0.machine.host(of: id) } ?? run.host
        hosts.opened(host)
        let board = board
        let segment = Segment(bound: bound, board: board) { [weak self] in self?.accepted(id, $0, $1) }
        recorder.begins(exchange)
        let exchange = engine.start(exchange, into: part, sending: nil, as: segment, context: context) { outcome in
            self.ended(id, at: host, outcome)
        }
        runs(id, exchange)
    }

    /// Notes that an exchange runs and can be stopped.
    func runs(_ id: SegmentID, _ exchange: RunningExchange) {
        let isUnwanted = state.withLock { state in
            if !ends.isOver(id) { state.running[id] = exchange }
            return state.isCancelled || state.stopped.contains(id)
        }
        if isUnwanted { exchange.cancel() }
    }

    func accepted(_ id: SegmentID, _ head: ResponseHead, _ acceptance: Acceptance) {
        step { $0.accepted(id, head, acceptance, at: $1, $2) }
    }

    func ended(_ id: SegmentID, at host: String, _ outcome: ExchangeOutcome) {
        hosts.closed(host)
        state.withLock { state in
            state.running[id] = nil
            if case .aborted = outcome.end, !state.stopped.contains(id) { state.wasInterrupted = true }
        }
        let effects = stepped { machine, now, ends in
            ends.remove(id)
            return machine.ended(id, outcome, at: now, ends)
        }
        guard let bytes = outcome.gathered else { return perform(effects) }
        let isAll = effects.allSatisfy { effect in
            switch effect {
            case .conclude: true
            case .run, .abort: false
            }
        }
        guard isAll else { return place(bytes, before: effects) }
        state.withLock { $0.gathered = bytes }
        perform(effects)
    }

    /// Writes gathered bytes to the file, because more follows them. A body that is gathered completely is delivered
    /// from memory.
    private func place(_ bytes: [UInt8], before effects: [SegmentedDownload.Effect]) {
        Task {
            do {
                try await attempt.tools.files.write(bytes, to: part)
            } catch {
                state.withLock { $0.failure = error }
            }
            perform(effects)
        }
    }

    // MARK: Figures

    /// The ranges of the file that are held or being fetched, in order; empty while there is only one stream.
    private func figures() -> [SegmentView] {
        let (machine, written) = state.withLock { ($0.machine, $0.board.written) }
        let plan = machine.plan
        guard let plan, plan.running.count > 1 || plan.held.ranges.count > 1 else { return [] }
        let held = plan.held.ranges.map { SegmentView($0, received: $0.count, active: false) }
        let running = plan.running.map { id, segment in
            let present = written.ranges.first { $0.start <= segment.range.start && $0.end > segment.range.start }
            let received = present.map { min($0.end, segment.range.end) - segment.range.start } ?? .zero
            return SegmentView(segment.range, received: received, active: true, url: machine.url(of: id))
        }
        return (held + running).sorted { $0.start < $1.start }
    }
}

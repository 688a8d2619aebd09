import CurlEngine
import Threading
import TransferCore
import TransferModel

/// Carries out what a `SegmentedDownload` decides: runs its exchanges side by side, each with an end that may move, and
/// tells it what happens, from whichever thread.
final class SegmentConductor: Sendable {
    private struct State {
        var machine: SegmentedDownload
        var board: SegmentBoard
        var running: [SegmentID: RunningExchange] = [:]
        /// Exchanges that the machine itself wants stopped.
        var stopped: Set<SegmentID> = []
        var isCancelled = false
        /// An exchange was stopped by somebody else: pause, preemption, shutdown.
        var wasInterrupted = false
        var conclusion: Step?
        /// A body that came at once and whole, and is in no file.
        var gathered: [UInt8]?
        /// Why gathered bytes could not be kept.
        var failure: (any Error)?
        /// Called once there is a conclusion.
        var waiter: (@Sendable () -> Void)?
    }

    private let part: PartFile
    private let engine: any ExchangePerforming
    private let context: TransferContext
    private let run: TransferRun
    private let hosts: HostConnections
    private let time: any TimeSource
    private let ends = SegmentBounds()
    private let keep: @Sendable ([UInt8]) async throws -> Void
    private let observer: SegmentObserver
    private let state: Guarded<State>

    init(
        _ machine: SegmentedDownload, held: HeldPart, recorder: RunRecorder, run: TransferRun,
        engine: any ExchangePerforming,
        hosts: HostConnections, time: any TimeSource,
        keeping keep: @escaping @Sendable ([UInt8]) async throws -> Void
    ) {
        self.keep = keep
        part = held.part
        self.engine = engine
        self.run = run
        self.hosts = hosts
        self.time = time
        context = TransferContext(
            task: run.task, session: run.session, counters: run.counters, observer: recorder)
        observer = SegmentObserver(recorder, resuming: held.checkpoint)
        let board = engine.board(for: held.part, held.checkpoint, context: context)
        state = Guarded(State(machine: machine, board: board))
    }

    /// Puts the first exchanges on the network; called once, before all else.
    func begin() {
        run.watch(samples: { [weak self] in self?.sampled() }, segments: { [weak self] in self?.figures() ?? [] })
        run.counters.setTransferring(false)
        step { $0.begin(at: $1, $2) }
    }

    /// As `whenOver`; the exchanges are stopped where the calling task is cancelled.
    private func wait() async {
        if state.withLock({ $0.conclusion != nil }) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in whenOver { continuation.resume() } }
        } onCancel: {
            cancel()
        }
    }

    /// What arrived, in the file or gathered, once everything has; nil where the run was stopped. What was written is
    /// durable, or about to be delivered.
    /// - Parameter restart: drops what is held before everything begins anew.
    /// - Throws: why the attempt failed.
    func arrival(
        restart: (TransferError) async throws -> Void
    ) async throws -> (arrival: Arrival, gathered: [UInt8]?)? {
        defer { run.watch(samples: nil, segments: nil) }
        while true {
            await wait()
            let conclusion = takeConclusion()
            let board = state.withLock { $0.board }
            let isInterrupted = state.withLock { $0.wasInterrupted || $0.isCancelled } || Task.isCancelled
            if let failure = state.withLock({ $0.failure }) {
                await board.settle(syncing: true)
                throw failure
            }
            switch conclusion {
            case .finished(let arrival) where !isInterrupted:
                await board.settle(syncing: false)
                let gathered = state.withLock { $0.gathered }
                guard gathered != nil || board.written.covers(arrival.total) else {
                    throw TransferError(
                        .internal, "Parts of the file are missing although all seemed to have come; please report it.")
                }
                return (arrival, gathered)
            case .restart(let cause, then: let exchange) where !isInterrupted:
                await board.settle(syncing: false)
                try await restart(cause)
                beginAgain(exchange)
            case .failed(let failure) where !isInterrupted:
                await board.settle(syncing: true)
                throw failure
            case .finished, .restart, .failed:
                await board.settle(syncing: true)
                return nil
            case .run, .store, .uploaded:
                await board.settle(syncing: true)
                throw TransferError(.internal, "A download took a step of uploads; please report it.")
            }
        }
    }

    private func takeConclusion() -> Step {
        state.withLock { state in
            defer { state.conclusion = nil }
            return state.conclusion ?? .failed(Self.lost)
        }
    }

    /// With the part emptied.
    private func beginAgain(_ exchange: Exchange) {
        let fresh = engine.board(for: part, nil, context: context)
        state.withLock { state in
            state.board = fresh
            state.gathered = nil
        }
        step { machine, now, _ in machine.lead(exchange, at: now) }
    }

    private static let lost = AttemptFailure(
        error: TransferError(.internal, "A download ended without a conclusion; please report it."),
        disposition: .transient(after: nil))

    // MARK: Events in

    private func step(_ body: (inout SegmentedDownload, Int64, SegmentBounds) -> [SegmentedDownload.Effect]) {
        perform(stepped(body))
    }

    /// What the machine says; its new segments have their ends before anybody asks for them.
    private func stepped(
        _ body: (inout SegmentedDownload, Int64, SegmentBounds) -> [SegmentedDownload.Effect]
    ) -> [SegmentedDownload.Effect] {
        let now = time.reading().boot
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
            case .conclude(let step):
                let waiter = state.withLock { state in
                    state.conclusion = step
                    defer { state.waiter = nil }
                    return state.waiter
                }
                waiter?()
            }
        }
    }

    private func fetch(_ id: SegmentID, _ exchange: Exchange) {
        guard let bound = ends[id] else { return }
        let host = state.withLock { $0.machine.host(of: id) } ?? run.host
        hosts.opened(host)
        let segment = Segment(bound: bound, board: state.withLock { $0.board }) { [weak self] head, acceptance in
            self?.step { $0.accepted(id, head, acceptance, at: $1, $2) }
        }
        var context = context
        context.observer = observer
        observer.begins(exchange)
        let exchange = engine.start(exchange, into: part, sending: nil, as: segment, context: context) { outcome in
            self.ended(id, at: host, outcome)
        }
        let isUnwanted = state.withLock { state in
            if !ends.isOver(id) { state.running[id] = exchange }
            return state.isCancelled || state.stopped.contains(id)
        }
        if isUnwanted { exchange.cancel() }
    }

    private func ended(_ id: SegmentID, at host: String, _ outcome: ExchangeOutcome) {
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

    /// What was gathered is delivered from memory where it is all; here something follows behind it, in the file.
    private func place(_ bytes: [UInt8], before effects: [SegmentedDownload.Effect]) {
        Task {
            do {
                try await keep(bytes)
            } catch {
                state.withLock { $0.failure = error }
            }
            perform(effects)
        }
    }

    /// Places that were asked for something, as checkpoints name them.
    var asked: Set<String?> { state.withLock { $0.machine.asked } }

    /// Which bytes came from where.
    var brought: [String?: ByteRangeSet] { state.withLock { $0.machine.bringers } }

    // MARK: Figures

    /// The parts of the file that are held or being fetched, in order; empty while there is one stream only.
    private func figures() -> [SegmentFigures] {
        let (machine, written) = state.withLock { ($0.machine, $0.board.written) }
        let plan = machine.plan
        guard let plan, plan.running.count > 1 || plan.held.ranges.count > 1 else { return [] }
        let held = plan.held.ranges.map { SegmentFigures($0, received: $0.count, isActive: false) }
        let running = plan.running.map { id, segment in
            let present = written.ranges.first { $0.start <= segment.range.start && $0.end > segment.range.start }
            let received = present.map { min($0.end, segment.range.end) - segment.range.start } ?? .zero
            return SegmentFigures(segment.range, received: received, isActive: true, url: machine.url(of: id))
        }
        return (held + running).sorted { $0.range.start < $1.range.start }
    }
}

extension SegmentConductor: Awaited {
    /// Calls `body`, on any thread, when nothing runs any more.
    func whenOver(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.conclusion == nil { state.waiter = body }
            return state.conclusion != nil
        }
        if isOver { body() }
    }

    func cancel() {
        let running = state.withLock { state in
            state.isCancelled = true
            return state.running
        }
        for exchange in running.values { exchange.cancel() }
    }
}

/// One part of a file that is held or being fetched.
package struct SegmentFigures: Sendable, Hashable {
    package var range: ByteRange
    package var received: ByteCount
    package var isActive: Bool
    /// Where it is asked from, of a file with several places.
    package var url: String?

    init(_ range: ByteRange, received: ByteCount, isActive: Bool, url: String? = nil) {
        self.range = range
        self.received = received
        self.isActive = isActive
        self.url = url
    }
}

import CurlEngine
import DaemonSetup
import FileKit
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Stores what the engine observes of one run, in order, without making the engine wait.
///
/// `RecordingMachine` decides what is stored when. A checkpoint without notes is stored in one transaction with those
/// of other runs (`CheckpointKeeper`).
final class RunRecorder: TransferObserver {
    /// Shows the header of an answer to the client, and calls back when its body may follow.
    typealias Asking = @Sendable (ResponseHead, @escaping @Sendable () -> Void) -> Void

    private typealias Machine = RecordingMachine<@Sendable () -> Void>

    private struct State {
        var machine: Machine
        /// Waits for what is being stored.
        var closer: (@Sendable (Machine.Batch) -> Void)?
        /// Set while a file is fetched in segments.
        var segments: (held: ByteCount?, hasAnswer: Bool)?
    }

    private let record: TaskRecord
    private let run: TransferRun
    /// False if nothing is written to a file. Then only the last answer counts, and the caller stores it.
    private let keepsAnswers: Bool
    /// Told when the client knows the answer whose body it receives.
    private let stream: BodyStream?
    /// Told of each answer's header.
    private let cache: TaskCache?
    private let patience: StorePatience
    private let keeper: CheckpointKeeper
    private let time: any TimeSource
    private let logger: Logger
    /// nil if no client is asked.
    private let ask: Asking?
    private let state: Guarded<State>

    init(
        record: TaskRecord, run: TransferRun, keepsAnswers: Bool, stream: BodyStream? = nil, cache: TaskCache? = nil,
        patience: StorePatience,
        keeper: CheckpointKeeper, time: any TimeSource, logger: Logger,
        asking ask: Asking? = nil
    ) {
        self.ask = ask
        self.record = record
        self.run = run
        self.keepsAnswers = keepsAnswers
        self.stream = stream
        self.cache = cache
        self.patience = patience
        self.keeper = keeper
        self.time = time
        self.logger = logger
        state = Guarded(State(machine: Machine(known: record.checkpoint)))
    }

    /// The checkpoint that the store has of this run's part file, or of an earlier one.
    var knownCheckpoint: Checkpoint? { state.withLock { $0.machine.known } }

    /// Notes that the part file was moved, with the checkpoint that the store has since.
    func moved(to checkpoint: Checkpoint?) { handle(.replaced(checkpoint)) }

    // MARK: What is observed

    /// From here on, exchanges fetch segments of a file. They are reported as if they were one stream: the first answer,
    /// and not the answer of each segment.
    /// - Parameters:
    ///   - held: the bytes held of a file with gaps; nil if the first exchange itself reports where it resumes.
    ///   - hasAnswer: the first answer is reported already.
    func beginsSegments(held: ByteCount?, hasAnswer: Bool = false) {
        state.withLock { $0.segments = (held, hasAnswer) }
    }

    /// From here on, exchanges follow each other.
    func beginsOneStream() { state.withLock { $0.segments = nil } }

    /// An answer of these segments is reported already.
    private var hasAnswer: Bool { state.withLock { $0.segments?.hasAnswer == true } }

    /// Returns what is reported of an answer; nil for nothing.
    private func reported(_ verdict: Verdict) -> Verdict? {
        state.withLock { state in
            guard let segments = state.segments else { return verdict }
            guard case .accept(var acceptance) = verdict else { return segments.hasAnswer ? nil : verdict }
            state.segments?.hasAnswer = true
            // An answer that starts the file over is always reported.
            guard !segments.hasAnswer || acceptance.truncate else { return nil }
            if let held = segments.held, !acceptance.truncate { acceptance.offset = held }
            return .accept(acceptance)
        }
    }

    /// Notes that an exchange is about to begin.
    func begins(_ exchange: Exchange) {
        note("exchange", Self.fields(of: exchange))
    }

    private static func fields(of exchange: Exchange) -> Logger.Metadata {
        var fields: Logger.Metadata = ["url": "\(URLRules.redacted(exchange.url))"]
        if let method = exchange.method { fields["method"] = "\(method)" }
        // HTTP states the offset in a field; other protocols have a command for it.
        if let range = exchange.allHeaders.first(where: { $0.isNamed("Range") }) { fields["range"] = "\(range.value)" }
        if exchange.startOffset > 0 { fields["offset"] = "\(exchange.startOffset)" }
        return fields
    }

    /// A URL that a server named, for the log: like each URL in it, and without what looks like a credential in the path.
    private static func masked(_ url: String) -> String { URLRules.redacted(URLRules.withoutSecrets(url)) }

    private static func text(_ verdict: Verdict) -> String {
        switch verdict {
        case .accept(let acceptance): "accepted at \(acceptance.offset)"
        case .stop(.restart(let error)), .stop(.failure(let error, _)): "stopped: \(error.code.rawValue)"
        case .stop(.bareRange): "stopped: ask with a bare range"
        case .stop(.complete): "stopped: all of it is held"
        case .stop(.redirect): "stopped: a client decides where to go"
        }
    }

    private func note(_ what: Logger.Message, _ fields: @autoclosure () -> Logger.Metadata) {
        logger.debug(what, metadata: fields().merging(["task": "\(record.id)"]) { $1 })
    }

    func transferRedirected(to url: String, status: Int) {
        if hasAnswer { return }
        note("redirected", ["status": "\(status)", "url": "\(Self.masked(url))"])
        run.redirected(to: url)
        handle(.observed(.redirected(to: url, status: status)))
    }

    func transferSecured(to url: String) {
        if hasAnswer { return }
        note("asked over https (HSTS)", ["url": "\(Self.masked(url))"])
        run.secured(to: url)
        handle(.observed(.redirected(to: url, status: nil)))
    }

    func transferSends(cookies: String?) { cache?.sends(cookies: cookies) }

    func transferResponded(_ head: ResponseHead, verdict: Verdict) {
        guard let verdict = reported(verdict) else { return }
        note("answered", ["status": "\(head.status ?? 0)", "verdict": "\(Self.text(verdict))"])
        if record.settled?.unproven.isEmpty == false { run.noteAnswer(head) }
        if case .accept(let acceptance) = verdict, acceptance.mirror == nil,
            head.status.map({ (200..<300).contains($0) }) ?? true
        {
            run.hostAnswered()
        }
        cache?.responded(head)
        // The client of a stream gets the stored answer instead.
        guard keepsAnswers, stream == nil || cache?.isConfirmation(head) != true else { return }
        if case .accept(let acceptance) = verdict {
            let canResume = acceptance.mayResume(record.$spec, head)
            run.accepted(at: acceptance.offset, canResume: canResume)
        }
        tells(of: head, verdict)
    }

    /// Tells the client of an answer, whose body may follow after that.
    func tells(of head: ResponseHead, _ verdict: Verdict) {
        let ticket = stream.map { stream -> @Sendable () -> Void in { stream.open() } }
        handle(.observed(.responded(head, verdict, ticket), isUrgent: stream != nil))
    }

    func transferHeld(_ head: ResponseHead, proceed: @escaping @Sendable () -> Void) {
        guard let ask, state.withLock({ $0.segments == nil }) else { return proceed() }
        ask(cache?.standing(for: head) ?? head, proceed)
    }

    func transferMeasured(_ metrics: ExchangeMetrics) { run.measured(metrics) }

    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        handle(.observed(.reachedFile(checkpoint, proceed), isUrgent: true))
    }

    func transferLingers() { handle(.lingers) }

    func transferCheckpointed(_ checkpoint: Checkpoint) {
        note("checkpoint", ["offset": "\(checkpoint.offset)"])
        handle(.checkpointed(checkpoint))
    }

    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        note("begins anew", [:])
        run.restarted()
        handle(.restarting(checkpoint, proceed))
    }

    func transferProgressed(_ progress: UploadProgress) { handle(.observed(.uploaded(progress), isUrgent: true)) }

    // MARK: What is done about it

    private func step(_ event: Machine.Event) -> [Machine.Action] { state.withLock { $0.machine.handle(event) } }

    private func handle(_ event: Machine.Event) { perform(step(event)) }

    private func perform(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .storeNotes: keeper.store { await self.storeNotes() }
            case .storeCheckpoint: keeper.keep(self)
            case .store(let batch): keeper.store { await self.store(batch) }
            case .closed(let batch):
                state.withLock { state in
                    defer { state.closer = nil }
                    return state.closer
                }?(batch)
            }
        }
    }

    private func storeNotes() async {
        var actions = step(.mayStore)
        while case .store(let batch)? = actions.first { actions = await stored(batch) }
        perform(actions)
    }

    private func store(_ batch: Machine.Batch) async { perform(await stored(batch)) }

    private func stored(_ batch: Machine.Batch) async -> [Machine.Action] {
        let actions = step(await keep(pending(batch)))
        for note in batch.notes { note.ticket?() }
        return actions
    }

    // MARK: The end

    /// Ends the recording: no more notes come.
    /// - Parameter then: called once, on any thread, possibly before this function returns, with the notes that are not
    ///   stored. They are stored with the end of the run.
    func close(then: @escaping @Sendable (PendingNotes) -> Void) {
        let actions = state.withLock { state in
            state.closer = { then(self.pending($0)) }
            return state.machine.handle(.close)
        }
        perform(actions)
    }

    func close() async -> PendingNotes {
        await withCheckedContinuation { continuation in close { continuation.resume(returning: $0) } }
    }

    /// Ends the recording, and returns after all notes are stored.
    func drain() async {
        let rest = await close()
        if !rest.isEmpty { handle(await keep(rest, isLast: true)) }
    }

    /// Ends the recording before the complete `part` is renamed. If the daemon dies between the rename and its record,
    /// the file is recognised by device, inode and length. If the store lacks these values, they are stored now. It
    /// lacks them for a body of unknown length, a decoded or gathered body, a part file that was gone, and after a
    /// failure of the store.
    /// - Parameter size: syncs `part` and returns its length.
    /// - Returns: what is not stored, for the transaction that ends the run.
    /// - Throws: what `size` and the store throw.
    func close(
        delivering part: FileIdentity, at path: String, size: () async throws -> ByteCount
    ) async throws -> PendingNotes {
        let notes = await close()
        if let stored = knownCheckpoint, stored.total != nil, FileIdentity(stored) == part { return notes }
        try await store(notes, replacing: whole(part, at: path, try await size(), notes))
        return PendingNotes(record: record, time: nil)
    }

    /// Ends the recording with `part` as the complete coded body that could not be decoded. It need not be fetched
    /// again, whatever is otherwise known of its length and version.
    /// - Parameters:
    ///   - size: the durable length of `part`.
    ///   - coding: the coding of its bytes.
    /// - Throws: what the store throws.
    func close(holding part: FileIdentity, at path: String, _ size: ByteCount, coding: String?) async throws {
        let notes = await close()
        try await store(notes, replacing: whole(part, at: path, size, coding: coding, notes))
    }

    /// Stores `notes`, which `close` returned, because the complete `part` could not be delivered. The next attempt
    /// only delivers it.
    /// - Parameters:
    ///   - size: the durable length of `part`; 0 if it was removed.
    ///   - coding: the coding of its bytes.
    /// - Throws: what the store throws.
    func keep(
        _ notes: PendingNotes, holding part: FileIdentity, at path: String, _ size: ByteCount, coding: String?
    ) async throws {
        let checkpoint = size > .zero ? whole(part, at: path, size, coding: coding, notes) : nil
        try await store(notes, replacing: checkpoint)
    }

    /// - Parameter coding: nil to leave it as it was observed.
    private func whole(
        _ part: FileIdentity, at path: String, _ size: ByteCount, coding: String?? = nil, _ notes: PendingNotes
    ) -> Checkpoint {
        let observed = (notes.lastCheckpoint ?? knownCheckpoint).flatMap { FileIdentity($0) == part ? $0 : nil }
        // The server's validators and digests may belong to other bytes: coded ones, or those of another file.
        var checkpoint =
            observed ?? Checkpoint(offset: size, partPath: path, device: part.device, inode: part.inode)
        checkpoint.offset = size
        checkpoint.ranges = []
        checkpoint.total = size
        if let coding { checkpoint.contentCoding = coding }
        return checkpoint
    }

    /// From here on, stores what is held of the part file, whatever was observed before. Called between exchanges, when
    /// nothing is observed.
    /// - Parameters:
    ///   - checkpoint: nil if nothing is held.
    ///   - body: additional work in the same transaction.
    /// - Throws: what `body` and the store throw.
    func replaceCheckpoint(
        with checkpoint: Checkpoint?, also body: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async throws {
        try await store(await close(), replacing: checkpoint, also: body)
    }

    private func store(
        _ notes: PendingNotes, replacing checkpoint: Checkpoint?,
        also body: @escaping @Sendable (StoreTransaction) throws -> Void = { _ in }
    ) async throws {
        var notes = notes
        notes.dropCheckpoints()
        let id = record.id
        do {
            try await patience.persistently { [notes] transaction in
                try notes.store(in: transaction)
                try transaction.setCheckpoint(id, checkpoint)
                try body(transaction)
            }
        } catch {
            if let checkpoint { notes.add(checkpoint) }
            state.withLock { [notes] in $0.machine.putBack(notes) }
            throw error
        }
        handle(.replaced(checkpoint))
    }

    /// Notes that a failing store does not accept are stored with the next ones. Notes that somebody waits for, or that
    /// are the last, are stored however long that takes.
    private func keep(_ pending: PendingNotes, isLast: Bool = false) async -> Machine.Event {
        do {
            if pending.mustBeStored || isLast {
                try await patience.persistently { try pending.store(in: $0) }
            } else {
                try await patience.store.write { try pending.store(in: $0) }
            }
            return .stored(pending.lastCheckpoint)
        } catch {
            logger.retried("cannot record progress", error, ["task": "\(record.id)"])
            return .notStored(pending)
        }
    }

    private func pending(_ batch: Machine.Batch) -> PendingNotes {
        var pending =
            batch.earlier ?? PendingNotes(record: record, time: batch.notes.isEmpty ? nil : time.reading().wall)
        for note in batch.notes {
            switch note {
            case .redirected(let url, let status):
                // Shown like in browsers: a redirect that keeps the method, and that no server sent.
                let shown = JSONValue.string(URLRules.withoutSecrets(url))
                let payload: JSONMembers =
                    if let status { ["url": shown, "status": .integer(Int64(status))] } else {
                        ["url": shown, "status": 307, "hsts": true]
                    }
                pending.add(.taskRedirected, payload)
            case .responded(let head, let verdict, _): pending.add(head, verdict)
            case .reachedFile(let checkpoint, _):
                if checkpoint.offset == .zero { pending.add(checkpoint) }
            case .uploaded(let progress): pending.add(progress)
            case .restarting(let checkpoint, _): pending.addRestart(checkpoint)
            case .checkpoint:
                if let checkpoint = batch.checkpoint { pending.add(checkpoint) }
            }
        }
        return pending
    }
}

extension RunRecorder: CheckpointSource {
    func takeCheckpoint() -> CheckpointChange? {
        state.withLock { state in
            let known = state.machine.known
            return state.machine.takeCheckpoint().map { CheckpointChange(record.id, $0, after: known) }
        }
    }

    func checkpointStored(_ isStored: Bool) { handle(.checkpointStored(isStored)) }
}

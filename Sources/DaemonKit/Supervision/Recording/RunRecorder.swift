import CurlEngine
import FileKit
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Carries what the engine observes of one run into the store, in order, without making the engine wait.
///
/// Of an exchange that is over at once nothing is stored on the way: its notes go with the change of state that ends
/// the run. Checkpoints that come faster than the store commits are merged: only the last one matters. Those that come
/// alone go into one transaction with other runs'.
final class RunRecorder: TransferObserver {
    private enum Note: Sendable {
        case redirected(to: String, status: Int)
        case responded(ResponseHead, Verdict)
        /// The part file is there: should the daemon die between the delivery and its record, the delivered file is
        /// recognised by this.
        case reachedFile(Checkpoint, proceed: @Sendable () -> Void)
        case checkpoint
        case uploaded(UploadProgress)
        case restarting(Checkpoint, proceed: @Sendable () -> Void)

        /// What waits until the note is stored.
        var proceed: (@Sendable () -> Void)? {
            switch self {
            case .reachedFile(_, let proceed), .restarting(_, let proceed): proceed
            case .redirected, .responded, .checkpoint, .uploaded: nil
            }
        }
    }

    private struct State {
        var notes: [Note] = []
        var latest: Checkpoint?
        /// Notes are stored as they come.
        var isPrompt = false
        var isDraining = false
        var closer: CheckedContinuation<Void, Never>?
        var known: Checkpoint?
        /// On its way into the store, by way of `keeper`.
        var taken: Checkpoint?
        /// What a store that failed did not take: the next to be stored begins with it, be that the run's end.
        var unstored: PendingNotes?
        var lost: Checkpoint?
    }

    private let record: TaskRecord
    private let run: TransferRun
    /// False where nothing is written to a file: then only the last answer counts, and whoever asked stores it.
    private let keepsAnswers: Bool
    private let patience: StorePatience
    private let keeper: CheckpointKeeper
    private let time: any TimeSource
    private let logger: Logger
    private let state: Guarded<State>

    init(
        record: TaskRecord, run: TransferRun, keepsAnswers: Bool, patience: StorePatience,
        keeper: CheckpointKeeper, time: any TimeSource, logger: Logger
    ) {
        self.record = record
        self.run = run
        self.keepsAnswers = keepsAnswers
        self.patience = patience
        self.keeper = keeper
        self.time = time
        self.logger = logger
        state = Guarded(State(known: record.checkpoint))
    }

    /// The checkpoint that the store has of this run's part file, or of an earlier one.
    var knownCheckpoint: Checkpoint? { state.withLock { $0.known } }

    // MARK: What is observed

    /// An exchange is about to begin.
    func begins(_ exchange: Exchange) {
        note("exchange", Self.fields(of: exchange))
    }

    private static func fields(of exchange: Exchange) -> Logger.Metadata {
        var fields: Logger.Metadata = ["url": "\(URLRules.redacted(exchange.url))"]
        if let method = exchange.method { fields["method"] = "\(method)" }
        // HTTP says in a field where it begins, other protocols have a command for that.
        if let range = exchange.headers.first(where: { $0.isNamed("Range") }) { fields["range"] = "\(range.value)" }
        if exchange.startOffset > 0 { fields["offset"] = "\(exchange.startOffset)" }
        return fields
    }

    private static func text(_ verdict: Verdict) -> String {
        switch verdict {
        case .accept(let acceptance): "accepted at \(acceptance.offset)"
        case .stop(.restart(let error)), .stop(.failure(let error, _)): "stopped: \(error.code.rawValue)"
        case .stop(.bareRange): "stopped: ask with a bare range"
        case .stop(.complete): "stopped: all of it is held"
        }
    }

    private func note(_ what: Logger.Message, _ fields: @autoclosure () -> Logger.Metadata) {
        logger.debug(what, metadata: fields().merging(["task": "\(record.id)"]) { $1 })
    }

    func transferRedirected(to url: String, status: Int) {
        note("redirected", ["status": "\(status)", "url": "\(URLRules.withoutSecrets(url))"])
        run.redirected(to: url)
        take(.redirected(to: url, status: status))
    }

    func transferResponded(_ head: ResponseHead, verdict: Verdict) {
        note("answered", ["status": "\(head.status ?? 0)", "verdict": "\(Self.text(verdict))"])
        if case .accept(let acceptance) = verdict, acceptance.origin == nil,
            head.status.map({ (200..<300).contains($0) }) ?? true
        {
            run.hostAnswered()
        }
        guard keepsAnswers else { return }
        if case .accept(let acceptance) = verdict {
            let canResume = ResumeProspects.mayResume(record.spec, head, acceptance)
            run.accepted(at: acceptance.offset, canResume: canResume)
        }
        take(.responded(head, verdict))
    }

    func transferReachedFile(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        take(.reachedFile(checkpoint, proceed: proceed), promptly: true)
    }

    func transferLingers() {
        let starts = state.withLock { state in
            state.isPrompt = true
            return Self.mayDrain(&state)
        }
        if starts { keeper.store { await self.drain() } }
    }

    func transferCheckpointed(_ checkpoint: Checkpoint) {
        note("checkpoint", ["offset": "\(checkpoint.offset)"])
        enum Next { case nothing, keep, drain }
        let next: Next = state.withLock { state in
            let isNew = state.latest == nil
            state.isPrompt = true
            // As it is said of a file that is still empty.
            if isNew, !state.isDraining, state.notes.isEmpty, state.known == checkpoint { return .nothing }
            state.latest = checkpoint
            guard isNew else { return .nothing }
            if !state.isDraining, state.notes.isEmpty {
                state.isDraining = true
                return .keep
            }
            state.notes.append(.checkpoint)
            return Self.mayDrain(&state) ? .drain : .nothing
        }
        switch next {
        case .nothing: break
        case .keep: keeper.keep(self)
        case .drain: keeper.store { await self.drain() }
        }
    }

    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        note("begins anew", [:])
        state.withLock { $0.latest = nil }
        run.restarted()
        take(.restarting(checkpoint, proceed: proceed), promptly: true)
    }

    func transferProgressed(_ progress: UploadProgress) { take(.uploaded(progress), promptly: true) }

    private func take(_ note: Note, promptly: Bool = false) {
        let starts = state.withLock { state in
            state.notes.append(note)
            if promptly { state.isPrompt = true }
            return Self.mayDrain(&state)
        }
        if starts { keeper.store { await self.drain() } }
    }

    private static func mayDrain(_ state: inout State) -> Bool {
        guard state.isPrompt, !state.isDraining, !state.notes.isEmpty else { return false }
        state.isDraining = true
        return true
    }

    // MARK: What is stored

    /// No more notes come: those that are not stored yet, for the transaction that ends the run.
    func close() async -> PendingNotes {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isDraining { state.closer = continuation }
                return !state.isDraining
            }
            if isIdle { continuation.resume() }
        }
        let notes = state.withLock { state in
            defer { state.notes = [] }
            guard state.latest == nil, let lost = state.lost else { return state.notes }
            state.latest = lost
            return state.notes + [.checkpoint]
        }
        return pending(notes)
    }

    /// No more notes come; returns once those that came are stored.
    func settle() async {
        let rest = await close()
        if !rest.isEmpty { await keep(rest, isLast: true) }
    }

    /// No more notes come, and `part`, which is whole, is about to get its name. Should the daemon die between that and
    /// its record, the file is known again by device, inode and length: where the store does not have those (a body of
    /// unknown length, a decoded one, one that was gathered, a store that failed on the way), they are stored now.
    /// - Parameter size: syncs `part` and tells its length.
    /// - Returns: what is not stored, for the transaction that ends the run.
    /// - Throws: what `size` and the store do.
    func close(
        delivering part: FileIdentity, at path: String, size: () async throws -> ByteCount
    ) async throws -> PendingNotes {
        let notes = await close()
        if let stored = knownCheckpoint, stored.total != nil, FileIdentity(stored) == part { return notes }
        try await store(notes, replacing: whole(part, at: path, try await size(), notes))
        return PendingNotes(record: record, time: nil)
    }

    /// No more notes come, and `part` has all of the body, which could not be unfolded: it need not be fetched again,
    /// whatever is known of its length and version otherwise.
    /// - Parameters:
    ///   - size: of `part`, durable.
    ///   - coding: that its bytes have.
    /// - Throws: what the store does.
    func close(holding part: FileIdentity, at path: String, _ size: ByteCount, coding: String?) async throws {
        let notes = await close()
        var checkpoint = whole(part, at: path, size, notes)
        checkpoint.contentCoding = coding
        try await store(notes, replacing: checkpoint)
    }

    private func whole(_ part: FileIdentity, at path: String, _ size: ByteCount, _ notes: PendingNotes) -> Checkpoint {
        let observed = (notes.lastCheckpoint ?? knownCheckpoint).flatMap { FileIdentity($0) == part ? $0 : nil }
        // The server's validators and digests may be of other bytes: coded ones, or of another file.
        var checkpoint =
            observed ?? Checkpoint(offset: size, partPath: path, device: part.device, inode: part.inode)
        checkpoint.offset = size
        checkpoint.ranges = []
        checkpoint.total = size
        return checkpoint
    }

    /// Stores what is held of the part file from here on, whatever was observed before; between exchanges, when
    /// nothing is observed.
    /// - Parameters:
    ///   - checkpoint: nil where nothing is held.
    ///   - body: what goes into the same transaction.
    /// - Throws: what `body` and the store do.
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
            state.withLock { [notes] in $0.unstored = notes }
            throw error
        }
        state.withLock { state in
            state.known = checkpoint
            state.lost = nil
        }
    }

    private func drain() async {
        while let notes = nextNotes() {
            await keep(pending(notes))
            for note in notes { note.proceed?() }
        }
    }

    private func nextNotes() -> [Note]? {
        let (notes, closer) = state.withLock { state -> ([Note]?, CheckedContinuation<Void, Never>?) in
            guard state.notes.isEmpty else {
                defer { state.notes = [] }
                return (state.notes, nil)
            }
            state.isDraining = false
            defer { state.closer = nil }
            return (nil, state.closer)
        }
        closer?.resume()
        return notes
    }

    /// What a store that fails does not take goes with what comes next. What others wait for, and what nothing follows,
    /// is stored however long that takes.
    private func keep(_ pending: PendingNotes, isLast: Bool = false) async {
        do {
            if pending.mustBeStored || isLast {
                try await patience.persistently { try pending.store(in: $0) }
            } else {
                try await patience.store.write { try pending.store(in: $0) }
            }
            if let checkpoint = pending.lastCheckpoint {
                state.withLock { state in
                    state.known = checkpoint
                    state.lost = nil
                }
            }
        } catch {
            state.withLock { $0.unstored = pending }
            logger.retried("cannot record progress", error, ["task": "\(record.id)"])
        }
    }

    private func pending(_ notes: [Note]) -> PendingNotes {
        let unstored = state.withLock { state in
            defer { state.unstored = nil }
            return state.unstored
        }
        var pending = unstored ?? PendingNotes(record: record, time: notes.isEmpty ? nil : time.reading().wall)
        for note in notes {
            switch note {
            case .redirected(let url, let status):
                pending.add(
                    .taskRedirected,
                    ["url": .string(URLRules.withoutSecrets(url)), "status": .integer(Int64(status))])
            case .responded(let head, let verdict): pending.add(head, verdict)
            case .reachedFile(let checkpoint, _):
                if checkpoint.offset == .zero { pending.add(checkpoint) }
            case .uploaded(let progress): pending.add(progress)
            case .restarting(let checkpoint, _): pending.addRestart(checkpoint)
            case .checkpoint:
                let latest = state.withLock { state in
                    defer { state.latest = nil }
                    return state.latest
                }
                if let latest { pending.add(latest) }
            }
        }
        return pending
    }
}

extension RunRecorder: CheckpointSource {
    func takeCheckpoint() -> CheckpointChange? {
        state.withLock { state in
            guard let latest = state.latest else { return nil }
            state.latest = nil
            state.taken = latest
            return CheckpointChange(record.id, latest, after: state.known)
        }
    }

    func checkpointStored(_ isStored: Bool) {
        enum Next { case rest(CheckedContinuation<Void, Never>?), keep, drain }
        let next: Next = state.withLock { state in
            if isStored, let taken = state.taken {
                state.known = taken
                state.unstored?.dropCheckpoints()
            }
            state.lost = isStored ? nil : state.taken ?? state.lost
            state.taken = nil
            if state.notes.isEmpty {
                state.isDraining = false
                defer { state.closer = nil }
                return .rest(state.closer)
            }
            guard state.notes.count == 1, case .checkpoint = state.notes[0] else { return .drain }
            state.notes = []
            return .keep
        }
        switch next {
        case .rest(let closer): closer?.resume()
        case .keep: keeper.keep(self)
        case .drain: keeper.store { await self.drain() }
        }
    }
}

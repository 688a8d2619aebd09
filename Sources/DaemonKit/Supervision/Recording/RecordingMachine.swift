import TransferCore
import TransferModel

/// Decides when and in which order the notes of a run are stored.
///
/// If an exchange is short, its notes wait for the run's end and are stored in the same commit. Checkpoints that come
/// faster than the store commits are merged: only the last one matters.
///
/// A `Ticket` is whatever waits until a note is stored.
struct RecordingMachine<Ticket: Sendable>: Sendable {
    enum Note: Sendable {
        /// - Parameter status: nil if no server redirected, because HSTS turned the URL into https.
        case redirected(to: String, status: Int?)
        case responded(ResponseHead, Verdict, Ticket?)
        /// The part file exists. If the daemon dies between the delivery and its record, the delivered file is
        /// recognised by this checkpoint.
        case reachedFile(Checkpoint, Ticket)
        /// The checkpoint that is the latest when the note is stored.
        case checkpoint
        case uploaded(UploadProgress)
        case restarting(Checkpoint, Ticket)
    }

    enum Event: Sendable {
        /// - Parameter isUrgent: from now on, notes are stored as they come.
        case observed(Note, isUrgent: Bool = false)
        /// The exchange takes longer.
        case lingers
        case checkpointed(Checkpoint)
        /// What was held is being replaced.
        case restarting(Checkpoint, Ticket)
        /// Follows `.storeNotes` and each batch, and asks what must be stored now.
        case mayStore
        /// A batch is durable, with this checkpoint.
        case stored(Checkpoint?)
        /// The store did not accept a batch.
        case notStored(PendingNotes)
        /// The checkpoint that was taken is durable; if false, the next one must cover it.
        case checkpointStored(Bool)
        /// No more notes come.
        case close
        /// This checkpoint was stored separately from the notes.
        case replaced(Checkpoint?)
    }

    enum Action: Sendable {
        /// `.mayStore` must follow soon.
        case storeNotes
        /// `takeCheckpoint` must follow soon.
        case storeCheckpoint
        case store(Batch)
        /// Nothing is being stored any more. The batch is stored with the end of the run.
        case closed(Batch)
    }

    /// Notes to be stored in one transaction.
    struct Batch: Sendable {
        /// What an earlier transaction did not store comes first.
        var earlier: PendingNotes?
        var notes: [Note]
        /// The value for `.checkpoint` in the notes.
        @BoxedOptional var checkpoint: Checkpoint?
    }

    /// What is being stored.
    enum Work: Sendable, Equatable {
        case nothing
        case notes
        /// Only a checkpoint, together with those of other runs; nil until it is taken.
        case checkpoint(Checkpoint?)
    }

    /// Notes are stored as they come.
    private(set) var isUrgent = false
    private(set) var work = Work.nothing
    private(set) var isClosing = false
    private(set) var notes: [Note] = []
    /// The latest checkpoint that is not being stored yet.
    @BoxedOptional private(set) var latest: Checkpoint?
    /// The checkpoint that the store has of this run's part file, or of an earlier one.
    @BoxedOptional private(set) var known: Checkpoint?
    /// A checkpoint that the store did not accept. The run's end covers it, unless a later one is stored.
    @BoxedOptional private(set) var lost: Checkpoint?
    private(set) var unstored: PendingNotes?

    init(known: Checkpoint?) { self.known = known }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .observed(let note, let isUrgent):
            notes.append(note)
            if isUrgent { self.isUrgent = true }
            return begunWork()
        case .lingers:
            isUrgent = true
            return begunWork()
        case .checkpointed(let checkpoint): return checkpointed(checkpoint)
        case .restarting(let checkpoint, let ticket):
            latest = nil
            return handle(.observed(.restarting(checkpoint, ticket), isUrgent: true))
        case .mayStore: return notes.isEmpty ? rest() : [.store(takeBatch())]
        case .stored(let checkpoint):
            if let checkpoint { (known, lost) = (checkpoint, nil) }
            return handle(.mayStore)
        case .notStored(let notes):
            unstored = notes
            return handle(.mayStore)
        case .checkpointStored(let isStored): return checkpointStored(isStored)
        case .close:
            guard work == .nothing else {
                isClosing = true
                return []
            }
            return [closed()]
        case .replaced(let checkpoint):
            (known, lost) = (checkpoint, nil)
            return []
        }
    }

    /// Takes the latest checkpoint in order to store it; nil if there is none any more.
    mutating func takeCheckpoint() -> Checkpoint? {
        guard case .checkpoint = work, let checkpoint = latest else { return nil }
        latest = nil
        work = .checkpoint(checkpoint)
        return checkpoint
    }

    /// Returns notes that could not be stored separately. They are stored with the next ones.
    mutating func putBack(_ notes: PendingNotes) { unstored = notes }

    private mutating func checkpointed(_ checkpoint: Checkpoint) -> [Action] {
        let isFirst = latest == nil
        isUrgent = true
        // The same checkpoint is reported for a file that is still empty.
        if isFirst, work == .nothing, notes.isEmpty, known == checkpoint { return [] }
        latest = checkpoint
        guard isFirst else { return [] }
        if work == .nothing, notes.isEmpty {
            work = .checkpoint(nil)
            return [.storeCheckpoint]
        }
        notes.append(.checkpoint)
        return begunWork()
    }

    private mutating func checkpointStored(_ isStored: Bool) -> [Action] {
        guard case .checkpoint(let taken) = work else { return [] }
        if isStored {
            if let taken {
                known = taken
                unstored?.dropCheckpoints()
            }
            lost = nil
        } else {
            lost = taken ?? lost
        }
        if notes.isEmpty { return rest() }
        if notes.count == 1, case .checkpoint = notes[0] {
            notes = []
            work = .checkpoint(nil)
            return [.storeCheckpoint]
        }
        work = .notes
        return [.storeNotes]
    }

    private mutating func begunWork() -> [Action] {
        guard isUrgent, work == .nothing, !notes.isEmpty else { return [] }
        work = .notes
        return [.storeNotes]
    }

    private mutating func rest() -> [Action] {
        work = .nothing
        guard isClosing else { return [] }
        isClosing = false
        return [closed()]
    }

    private mutating func closed() -> Action {
        if latest == nil, let lost {
            latest = lost
            notes.append(.checkpoint)
        }
        return .closed(takeBatch())
    }

    private mutating func takeBatch() -> Batch {
        var batch = Batch(earlier: unstored, notes: notes)
        (unstored, notes) = (nil, [])
        if batch.notes.contains(where: { if case .checkpoint = $0 { true } else { false } }) {
            (batch.checkpoint, latest) = (latest, nil)
        }
        return batch
    }
}

extension RecordingMachine.Note {
    /// What waits until the note is stored.
    var ticket: Ticket? {
        switch self {
        case .reachedFile(_, let ticket), .restarting(_, let ticket): ticket
        case .responded(_, _, let ticket): ticket
        case .redirected, .checkpoint, .uploaded: nil
        }
    }
}

import TransferCore
import TransferModel

/// Decides which notes of a run are stored when, and in which order.
///
/// Notes of an exchange that is over at once wait for the run's end, whose commit takes them along. Checkpoints that come
/// faster than the store commits are merged: only the last one matters.
///
/// `Ticket` is whatever waits until a note is stored.
struct RecordingMachine<Ticket: Sendable>: Sendable {
    enum Note: Sendable {
        /// - Parameter status: nil if the host is one that is reached over https alone, and no server redirected.
        case redirected(to: String, status: Int?)
        case responded(ResponseHead, Verdict, Ticket?)
        /// The part file is there: should the daemon die between the delivery and its record, the delivered file is
        /// recognised by this.
        case reachedFile(Checkpoint, Ticket)
        /// The latest checkpoint, whichever that is when the note is stored.
        case checkpoint
        case uploaded(UploadProgress)
        case restarting(Checkpoint, Ticket)
    }

    enum Event: Sendable {
        /// - Parameter isUrgent: notes are stored as they come, from now on.
        case observed(Note, isUrgent: Bool = false)
        /// The exchange is not over at once.
        case lingers
        case checkpointed(Checkpoint)
        /// What was held is being replaced.
        case restarting(Checkpoint, Ticket)
        /// Follows `.storeNotes`, and each batch: what is to be stored now.
        case mayStore
        /// A batch is durable, with this checkpoint.
        case stored(Checkpoint?)
        /// The store did not take a batch.
        case notStored(PendingNotes)
        /// The checkpoint that was taken is durable; false if the next one has to cover it.
        case checkpointStored(Bool)
        /// No more notes come.
        case close
        /// This checkpoint was stored past the notes.
        case replaced(Checkpoint?)
    }

    enum Action: Sendable {
        /// `.mayStore` is due, soon.
        case storeNotes
        /// `takeCheckpoint` is due, soon.
        case storeCheckpoint
        case store(Batch)
        /// Nothing is on its way any more; the batch goes with what ends the run.
        case closed(Batch)
    }

    /// Notes to be stored in one transaction.
    struct Batch: Sendable {
        /// What an earlier transaction did not take comes first.
        var earlier: PendingNotes?
        var notes: [Note]
        /// For `.checkpoint` among the notes.
        @BoxedOptional var checkpoint: Checkpoint?
    }

    /// What is on its way into the store.
    enum Work: Sendable, Equatable {
        case nothing
        case notes
        /// A checkpoint alone, with those of other runs; nil until it is taken.
        case checkpoint(Checkpoint?)
    }

    /// Notes are stored as they come.
    private(set) var isUrgent = false
    private(set) var work = Work.nothing
    private(set) var isClosing = false
    private(set) var notes: [Note] = []
    /// Not stored yet.
    @BoxedOptional private(set) var latest: Checkpoint?
    /// The checkpoint that the store has of this run's part file, or of an earlier one.
    @BoxedOptional private(set) var known: Checkpoint?
    /// The store did not take it: the run's end covers it, unless a later one is stored.
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

    /// The latest checkpoint, which is on its way from here on; nil if there is none any more.
    mutating func takeCheckpoint() -> Checkpoint? {
        guard case .checkpoint = work, let checkpoint = latest else { return nil }
        latest = nil
        work = .checkpoint(checkpoint)
        return checkpoint
    }

    /// Notes that could not be stored past the others go with what is stored next.
    mutating func putBack(_ notes: PendingNotes) { unstored = notes }

    private mutating func checkpointed(_ checkpoint: Checkpoint) -> [Action] {
        let isFirst = latest == nil
        isUrgent = true
        // As it is said of a file that is still empty.
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

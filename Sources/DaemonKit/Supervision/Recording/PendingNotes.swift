import TransferCore
import TransferModel
import TransferStore

/// Observations of a run that are not stored yet, prepared outside the transaction that will store them.
struct PendingNotes: Sendable {
    private enum Change: Sendable {
        case response(StoredDocument)
        case checkpoint(Checkpoint)
        case upload(UploadProgress?)
    }

    private let task: TaskID
    private let session: SessionKey
    /// The task's own URL.
    private let url: String
    /// nil if there is nothing to note.
    private let time: Timestamp?
    private var changes: [Change] = []
    /// In order. The transaction that stores the notes must append them.
    private(set) var events: [EventRecord] = []
    /// Somebody waits for the notes to be durable.
    private(set) var mustBeStored = false
    @BoxedOptional private(set) var lastCheckpoint: Checkpoint?

    init(record: TaskRecord, time: Timestamp?) {
        task = record.id
        session = record.session
        url = record.spec.url ?? ""
        self.time = time
    }

    var isEmpty: Bool { changes.isEmpty && events.isEmpty }

    mutating func add(_ type: EventType, _ payload: JSONMembers) {
        guard let time else { return }
        events.append(
            EventRecord(time: time, type: type, session: session, task: task, payload: payload))
    }

    mutating func add(_ checkpoint: Checkpoint) {
        changes.append(.checkpoint(checkpoint))
        lastCheckpoint = checkpoint
    }

    /// Drops checkpoints, because a later one is stored.
    mutating func dropCheckpoints() {
        changes.removeAll { if case .checkpoint = $0 { true } else { false } }
        lastCheckpoint = nil
    }

    mutating func add(_ progress: UploadProgress?) {
        changes.append(.upload(progress))
        mustBeStored = true
    }

    /// - Parameter head: the header that `response` describes.
    mutating func add(_ response: ResponseInfo, of head: ResponseHead) {
        add(StoredDocument(response, whole: WholeHead(head, beyond: response)))
    }

    mutating func add(_ document: StoredDocument) {
        changes.append(.response(document))
        add(.taskResponse, document.told)
    }

    mutating func add(_ head: ResponseHead, _ verdict: Verdict) {
        let response = ResponseInfo(head, requested: url, verdict: verdict)
        add(response, of: head)
        guard case .accept(let acceptance) = verdict, acceptance.offset > .zero else { return }
        add(
            .taskResumed,
            [
                "offset": .integer(acceptance.offset.rawValue),
                "expected": .integer(acceptance.total?.rawValue ?? -1),
            ])
    }

    /// Notes that an answer replaces what was held, because it is another version or the server does not support
    /// ranges.
    mutating func addRestart(_ checkpoint: Checkpoint) {
        add(checkpoint)
        add(
            .taskRestarted,
            [
                "code": .string(ErrorCode.validatorChanged.rawValue),
                "message": "The server sent the whole file instead of the rest; the download restarts from 0.",
            ])
        mustBeStored = true
    }

    func store(in transaction: StoreTransaction) throws {
        try storeRows(in: transaction)
        if !events.isEmpty { try transaction.append(events) }
    }

    /// Like `store`, but without the events.
    func storeRows(in transaction: StoreTransaction) throws {
        for change in changes {
            switch change {
            case .response(let document): try transaction.setResponse(task, document)
            case .checkpoint(let checkpoint): try transaction.setCheckpoint(task, checkpoint)
            case .upload(let progress): try transaction.setUpload(task, progress)
            }
        }
    }
}

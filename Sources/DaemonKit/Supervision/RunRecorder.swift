import CurlEngine
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Carries what the engine observes of one run into the store, in order, without making the engine wait.
///
/// Checkpoints that come faster than the store commits are merged: only the last one matters.
final class RunRecorder: TransferObserver {
    private enum Note: Sendable {
        case redirected(to: String, status: Int)
        case responded(ResponseHead, Verdict)
        case checkpoint
        case uploaded(UploadProgress)
        case restarting(Checkpoint, proceed: @Sendable () -> Void)
    }

    private let record: TaskRecord
    private let run: TransferRun
    /// nil where nothing is written to a file: then only the last answer counts, and whoever asked stores it.
    private let part: PartFile?
    private let store: TransferStore
    private let patience: StorePatience
    private let time: any TimeSource
    private let logger: Logger
    private let notes: AsyncStream<Note>
    private let inbox: AsyncStream<Note>.Continuation
    private let latest = Guarded<Checkpoint?>(nil)

    init(
        record: TaskRecord, run: TransferRun, part: PartFile?, patience: StorePatience, time: any TimeSource,
        logger: Logger
    ) {
        self.record = record
        self.run = run
        self.part = part
        store = patience.store
        self.patience = patience
        self.time = time
        self.logger = logger
        (notes, inbox) = AsyncStream.makeStream()
    }

    func transferRedirected(to url: String, status: Int) {
        inbox.yield(.redirected(to: url, status: status))
    }

    func transferResponded(_ head: ResponseHead, verdict: Verdict) {
        guard part != nil else { return }
        if case .accept(let acceptance) = verdict {
            run.accepted(at: acceptance.offset)
        }
        inbox.yield(.responded(head, verdict))
    }

    func transferCheckpointed(_ checkpoint: Checkpoint) {
        let isNew = latest.withLock { latest in
            defer { latest = checkpoint }
            return latest == nil
        }
        if isNew { inbox.yield(.checkpoint) }
    }

    func transferRestarting(_ checkpoint: Checkpoint, proceed: @escaping @Sendable () -> Void) {
        latest.withLock { $0 = nil }
        run.restarted()
        inbox.yield(.restarting(checkpoint, proceed: proceed))
    }

    func transferProgressed(_ progress: UploadProgress) { inbox.yield(.uploaded(progress)) }

    /// No more notes come; `drain` returns once those that came are stored.
    func close() { inbox.finish() }

    /// Stores the notes until `close`. A store that fails loses a checkpoint, never a byte: the next one covers it.
    func drain() async {
        for await note in notes {
            do {
                try await keep(note)
            } catch {
                logger.warning(
                    "cannot record progress", metadata: ["task": "\(record.id)", "error": "\(error)"])
            }
        }
    }

    private func keep(_ note: Note) async throws {
        switch note {
        case .redirected(let url, let status):
            try await append(
                .taskRedirected, ["url": .string(URLRules.withoutUserInfo(url)), "status": .integer(Int64(status))])
        case .responded(let head, let verdict):
            try await keep(head, verdict)
        case .restarting(let checkpoint, let proceed):
            defer { proceed() }
            try await keepRestart(checkpoint)
        case .uploaded(let progress):
            let id = record.id
            try await patience.persistently { try $0.setUpload(id, progress) }
        case .checkpoint:
            guard
                let checkpoint = latest.withLock({ latest in
                    defer { latest = nil }
                    return latest
                })
            else { return }
            let id = record.id
            try await store.write { try $0.setCheckpoint(id, checkpoint) }
        }
    }

    private func keep(_ head: ResponseHead, _ verdict: Verdict) async throws {
        let response = ResponseInfo(head, requested: record.spec.url ?? "", verdict: verdict)
        let now = time.reading().wall
        let record = record
        let begun = begun(verdict)
        try await store.write { transaction in
            try transaction.setResponse(record.id, response)
            if let begun { try transaction.setCheckpoint(record.id, begun) }
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskResponse, session: record.session, task: record.id,
                    payload: ["response": response.jsonValue]))
            guard case .accept(let acceptance) = verdict, acceptance.offset > .zero else { return }
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskResumed, session: record.session, task: record.id,
                    payload: [
                        "offset": .integer(acceptance.offset.rawValue),
                        "expected": .integer(acceptance.total?.rawValue ?? -1),
                    ]))
        }
    }

    /// The answer is of another version, or of a server without ranges: what was held is replaced.
    private func keepRestart(_ checkpoint: Checkpoint) async throws {
        let now = time.reading().wall
        let record = record
        try await patience.persistently { transaction in
            try transaction.setCheckpoint(record.id, checkpoint)
            _ = try transaction.append(
                EventRecord(
                    time: now, type: .taskRestarted, session: record.session, task: record.id,
                    payload: [
                        "code": .string(ErrorCode.validatorChanged.rawValue),
                        "message": .string(ErrorCode.validatorChanged.summary),
                    ]))
        }
    }

    /// Names the part file in the store before a body begins at 0: should the daemon die between the delivery and its
    /// record, the delivered file is recognised by this.
    private func begun(_ verdict: Verdict) -> Checkpoint? {
        guard let part, case .accept(let acceptance) = verdict, acceptance.offset == .zero else { return nil }
        return Checkpoint(
            offset: .zero, total: acceptance.total, validators: acceptance.validators,
            contentCoding: acceptance.contentCoding, partPath: part.path, device: part.device, inode: part.inode,
            serverDigests: acceptance.serverDigests)
    }

    private func append(_ type: EventType, _ payload: [String: JSONValue]) async throws {
        let event = EventRecord(
            time: time.reading().wall, type: type, session: record.session, task: record.id, payload: payload)
        try await store.write { _ = try $0.append(event) }
    }
}

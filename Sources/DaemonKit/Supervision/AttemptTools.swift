import CurlEngine
import TransferCore
import TransferModel
import TransferStore

/// What an attempt works with; narrow, so that it can be tested without a daemon.
struct AttemptTools: Sendable {
    let patience: StorePatience
    let engine: CurlEngine
    let files: TransferFiles
    let transitions: TaskTransitions
    let time: any TimeSource
    let minimumFreeSpace: @Sendable () -> ByteCount
    let hosts: HostConnections

    /// Tells the store, however long that takes, that the task is done: what was delivered must not be fetched again,
    /// what was sent not sent again.
    /// - Parameters:
    ///   - answer: of an upload or a data task.
    ///   - body: response body that `task.body` serves.
    func complete(
        _ record: TaskRecord, with result: TaskResult, _ answer: UploadResult? = nil, keeping body: [UInt8]? = nil
    ) async throws -> AttemptEnding {
        let transitions = transitions
        let now = time.reading().wall
        let duration = max(0, now.since(record.status.startedAt ?? record.status.createdAt))
        let response = answer.flatMap { answer in
            answer.head.map {
                ResponseInfo($0, of: record, body: answer.body, isTruncated: answer.isBodyTruncated)
            }
        }
        let outcome = try await patience.persistently { transaction in
            try transaction.setResult(record.id, result)
            if let response { try transaction.keep(response, of: record, at: now) }
            if let body { try transaction.setBody(record.id, .response, body) }
            let outcome = try transitions.apply(
                .completed(result, duration: duration), to: record.id, in: transaction)
            try transaction.setCheckpoint(record.id, nil)
            try transaction.setUpload(record.id, nil)
            // It is sent; what a later look wants to know of it is its length.
            try transaction.setBody(record.id, .request, nil)
            return outcome
        }
        return .completed(outcome)
    }
}

extension StoreTransaction {
    /// Stores the answer to an upload or a data task, with its event.
    func keep(_ response: ResponseInfo, of record: TaskRecord, at now: Timestamp) throws {
        try setResponse(record.id, response)
        _ = try append(
            EventRecord(
                time: now, type: .taskResponse, session: record.session, task: record.id,
                payload: ["response": response.jsonValue]))
    }
}

extension ResponseInfo {
    /// Bytes of a response body that the task shows.
    static let shownBody = 64 << 10

    /// The answer to an upload or a data task.
    init(_ head: ResponseHead, of record: TaskRecord, body: [UInt8], isTruncated: Bool) {
        let length = head.values("Content-Length").last.flatMap { Int64($0) }
        self.init(
            head, requested: record.spec.url ?? "",
            verdict: .accept(Acceptance(offset: .zero, total: length.map { ByteCount($0) })))
        guard !body.isEmpty else { return }
        self.body = ResponseBody(
            showing: Array(body.prefix(Self.shownBody)), isTruncated: isTruncated || body.count > Self.shownBody)
    }
}

extension ResponseBody {
    /// Text where the bytes are UTF-8, a character cut at the end left out.
    init(showing bytes: [UInt8], isTruncated: Bool) {
        self.init(truncated: isTruncated ? true : nil)
        for cut in 0...(isTruncated ? min(3, bytes.count) : 0) {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) {
                self.text = text
                return
            }
        }
        base64 = bytes.base64
    }
}

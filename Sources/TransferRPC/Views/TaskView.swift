import TransferModel

/// A task as clients see it: its spec without secrets, and its status.
public struct TaskView: Hashable, Sendable {
    /// Without passwords, tokens, secret header values, body content and `resumeData`, except in `task.get` with
    /// `secrets`.
    @Boxed public var spec: TaskSpec
    public var id: TaskID
    public var session: String
    public var owner: UserID
    public var state: TaskState
    public var phase: TaskPhase?
    public var reason: WaitReason?
    /// While it is `queued`, only in `task.get`; on the wire this is `reason` too.
    public var queueReason: QueueReason?
    public var explanation: String?
    public var bytesReceived: Int64
    public var bytesExpected: Int64
    public var bytesDecoded: Int64?
    public var bytesSent: Int64
    public var bytesToSend: Int64
    public var resumedFrom: Int64?
    public var rate: ByteRate
    public var eta: Seconds?
    public var attempts: Int
    public var nextAttemptAt: Timestamp?
    public var createdAt: Timestamp
    public var startedAt: Timestamp?
    public var finishedAt: Timestamp?
    public var position: Double
    public var file: String?
    public var sha256: String?
    public var verified: Bool?
    public var response: ResponseInfo?
    public var error: TransferError?
    public var segments: [SegmentView]?
    public var metrics: [ExchangeView]?
    public var metricsDropped: Int?
    public var currentRequest: TaskRequest?

    /// What a client may see of a stored task, with `live` while it runs.
    public init(_ record: TaskRecord, live: LiveFigures? = nil) {
        self.init(record, showing: Boxed(wrappedValue: record.spec.withoutSecrets), live: live)
    }

    /// - Parameter spec: contains no secrets.
    init(_ record: TaskRecord, showing spec: Boxed<TaskSpec>, live: LiveFigures?) {
        let status = record.status
        _spec = spec
        id = record.id
        session = record.session.identifier
        owner = record.session.owner
        state = status.state
        phase = status.state == .running ? live?.phase ?? .connecting : nil
        reason = status.reason
        switch record.spec.kind {
        case .upload:
            bytesReceived = 0
            bytesExpected = -1
            bytesToSend = max(live?.bytesToSend ?? 0, record.source?.size.rawValue ?? 0)
            bytesSent =
                status.state == .completed
                ? record.result?.bytes.rawValue ?? bytesToSend : live?.bytesSent ?? record.upload?.offset.rawValue ?? 0
        case .download, .data:
            bytesReceived =
                record.result?.bytes.rawValue ?? live?.bytesReceived ?? record.checkpoint?.held.rawValue ?? 0
            bytesExpected = record.result?.bytes.rawValue ?? Self.expected(record, live: live)
            bytesToSend = live?.bytesToSend ?? record.source?.size.rawValue ?? 0
            bytesSent = status.state == .completed ? bytesToSend : live?.bytesSent ?? 0
        }
        bytesDecoded = live?.bytesDecoded
        resumedFrom = live?.resumedFrom ?? record.response?.resumedFrom
        rate = live?.rate ?? 0
        eta = live?.eta
        attempts = status.attempts
        nextAttemptAt = status.nextAttemptAt
        createdAt = status.createdAt
        startedAt = status.startedAt
        finishedAt = status.finishedAt
        position = record.position
        file = record.result?.file
        sha256 = record.result?.sha256
        verified = record.result?.verified
        response = record.response?.withoutSecrets
        error = status.error
        if status.state == .failed, record.keepsPart { error?.resumable = true }
    }

    public func with(_ queueing: Queueing?) -> TaskView {
        guard let queueing, state == .queued else { return self }
        var view = self
        view.queueReason = queueing.reason
        view.explanation = queueing.explanation
        view.nextAttemptAt = queueing.nextAttemptAt
        return view
    }

    /// Why a running task makes no progress.
    public func with(trouble: String?) -> TaskView {
        guard let trouble, state == .running else { return self }
        var view = self
        view.explanation = trouble
        return view
    }

    /// With the parts that are being fetched or, if none are, those that are held.
    public func with(segments live: [SegmentView], of record: TaskRecord) -> TaskView {
        var view = self
        let segments = live.isEmpty && !record.status.state.isFinal ? Self.held(record.checkpoint) : live
        view.segments = segments.isEmpty ? nil : segments
        return view
    }

    /// The parts that a stored task holds; empty if it holds only the beginning of the file.
    private static func held(_ checkpoint: Checkpoint?) -> [SegmentView] {
        guard let checkpoint, !checkpoint.ranges.isEmpty else { return [] }
        let ranges = [ByteRange(.zero, checkpoint.offset)] + checkpoint.ranges
        return ranges.filter { !$0.isEmpty }.map { SegmentView($0, received: $0.count, active: false) }
    }

    public func with(_ metrics: TaskMetrics) -> TaskView {
        guard !metrics.isEmpty else { return self }
        var view = self
        view.metrics = metrics.entries.map(ExchangeView.init)
        view.metricsDropped = metrics.dropped > 0 ? metrics.dropped : nil
        return view
    }

    private static func expected(_ record: TaskRecord, live: LiveFigures?) -> Int64 {
        if let live, live.bytesExpected >= 0 { return live.bytesExpected }
        return record.checkpoint?.total?.rawValue ?? record.response?.expectedLength ?? -1
    }
}

extension TaskView: WireObject {
    public static let shape = Shape("Task", blank) { row in
        row("id", \.id, "Number of the task; never reused.")
        row("session", \.session, "Identifier of its session.")
        row("owner", \.owner, "Owner of the task.")
        row("state", \.state, "Its state.")
        row("phase", \.phase, "What a `running` task does.")
        row(
            "reason", \.wireReason,
            "While `waiting`. In `task.get` also while `queued`: `slots`, `user`, `session`, `hostSlots` name the "
                + "limit that is reached; `host`: the host does not answer or asked for a pause; "
                + "`sessionPaused`: its session is paused.",
            as: .choice(WaitReason.allCases.map(\.rawValue) + QueueReason.allCases.map(\.rawValue)))
        row(
            "explanation", \.explanation,
            "In `task.get`. Queued: a sentence about `reason`. Running: a sentence if the state folder is full or fails, if the "
                + "task's disk does not answer, or if its helper waits for another task.")
        row("bytesReceived", \.bytesReceived, "Bytes written to the file so far.", as: .byteCount)
        row("bytesExpected", \.bytesExpected, "Length of the whole file; -1 if unknown.", as: .byteCount)
        row(
            "bytesDecoded", \.bytesDecoded, "While its phase is `decoding`: bytes of the file that are decoded so far.",
            as: .byteCount)
        row("bytesSent", \.bytesSent, "Bytes of the source or body sent so far.", as: .byteCount)
        row("bytesToSend", \.bytesToSend, "Length of the source or body; 0 if nothing is sent.", as: .byteCount)
        row("resumedFrom", \.resumedFrom, "Offset from which the last attempt resumed.", as: .byteCount)
        row("rate", \.rate, "Bytes per second now; 0 while it does not run.", as: .number)
        row("eta", \.eta, "Time left at this rate, if length and rate are known.")
        row("attempts", \.attempts, "Attempts begun.")
        row("nextAttemptAt", \.nextAttemptAt, "When the daemon tries again by itself, if it knows.")
        row("createdAt", \.createdAt, "When it was added.")
        row("startedAt", \.startedAt, "When it first ran.")
        row("finishedAt", \.finishedAt, "When it reached its final state.")
        row("position", \.position, "Position among tasks of its priority; smaller numbers first.")
        row("file", \.file, "Path of the delivered file.")
        row("sha256", \.sha256, "SHA-256 of the delivered file in hexadecimal, if computed.")
        row("verified", \.verified, "Once it has ended: true if a digest of the content was known and compared.")
        row("response", \.response, "The server's answer.")
        row("error", \.error, "Why it waits or failed.")
        row(
            "segments", \.segments,
            "In `task.get`, if a download has several: the parts that are held or being fetched, in order.")
        row(
            "metrics", \.metrics,
            "In `task.get`: how long each request and its answer took, in the order in which they ended; the newest \(Bounds.metrics). Every attempt, redirect, repetition and segment has an entry; an exchange that still runs and `file` and `data` URLs have none. Entries name no URL and no header, so administrators see them too."
        )
        row("metricsDropped", \.metricsDropped, "Number of entries that newer ones pushed out of `metrics`.")
        row(
            "currentRequest", \.currentRequest,
            "In `task.get` with `secrets`: the request that is made in place of the task's own, after `newRequest`, `followWith` or a redirect that a client was asked about. Redirects that are followed without a question show in `response.url`. It stays when the task has ended."
        )
    }

    private static let blank = TaskView(
        TaskRecord(
            id: TaskID(0), session: .shared(of: .root), spec: TaskSpec(),
            status: TaskStatus(state: .queued, createdAt: Timestamp(milliseconds: 0)), host: "", position: 0))

    /// Why it waits, or what it is queued for.
    private var wireReason: String? {
        get { reason?.rawValue ?? queueReason?.rawValue }
        set {
            queueReason = newValue.flatMap(QueueReason.init(rawValue:))
            reason = newValue.flatMap(WaitReason.init(rawValue:))
        }
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node, ignoringOthers: true)
        spec = try TaskSpec.shape.read(node, ignoringOthers: true)
    }

    public func write(to text: inout JSONWriter) {
        text.object { text in
            TaskSpec.shape.write(spec, to: &text)
            Self.shape.write(self, to: &text)
        }
    }
}

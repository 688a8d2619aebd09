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
    /// While it is `waiting`.
    public var reason: WaitReason?
    /// While it is `queued`, only in `task.get`; on the wire this is `reason` too.
    public var queueReason: QueueReason?
    /// Only in `task.get`. A sentence about `queueReason`; for a running task, about what it waits for.
    public var explanation: String?
    public var bytesReceived: Int64
    /// -1 if unknown.
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
    /// Only in `task.get`, and only if there are several.
    public var segments: [SegmentView]?
    /// Only in `task.get`: the newest exchanges, in the order in which they ended.
    public var metrics: [ExchangeView]?
    public var metricsDropped: Int?
    /// Only in `task.get` with `secrets`.
    public var currentRequest: TaskRequest?

    /// What only the memory has about a running task.
    public struct Live: Hashable, Sendable {
        public var phase: TaskPhase
        public var bytesReceived: Int64
        /// -1 if unknown.
        public var bytesExpected: Int64
        /// Over about the last second.
        public var rate: ByteRate
        /// Time left at that rate, if rate and length are known.
        public var eta: Seconds?
        public var resumedFrom: Int64?
        /// Offset in the source, or in the body if that is larger.
        public var bytesSent: Int64
        /// 0 if nothing is sent.
        public var bytesToSend: Int64
        /// nil unless it decodes.
        public var bytesDecoded: Int64?

        public init(
            phase: TaskPhase, bytesReceived: Int64, bytesExpected: Int64, rate: ByteRate, eta: Seconds? = nil,
            resumedFrom: Int64? = nil, bytesSent: Int64 = 0, bytesToSend: Int64 = 0, bytesDecoded: Int64? = nil
        ) {
            self.phase = phase
            self.bytesReceived = bytesReceived
            self.bytesExpected = bytesExpected
            self.rate = rate
            self.eta = eta
            self.resumedFrom = resumedFrom
            self.bytesSent = bytesSent
            self.bytesToSend = bytesToSend
            self.bytesDecoded = bytesDecoded
        }
    }

    /// What a client may see of a stored task, with `live` while it runs.
    public init(_ record: TaskRecord, live: Live? = nil) {
        self.init(record, showing: Boxed(wrappedValue: record.spec.withoutSecrets), live: live)
    }

    /// - Parameter spec: contains no secrets.
    init(_ record: TaskRecord, showing spec: Boxed<TaskSpec>, live: Live?) {
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

    /// What a queued task waits for.
    public struct Queueing: Hashable, Sendable {
        public var reason: QueueReason
        public var explanation: String
        /// When the daemon next tries its host.
        public var nextAttemptAt: Timestamp?

        public init(reason: QueueReason, explanation: String, nextAttemptAt: Timestamp? = nil) {
            self.reason = reason
            self.explanation = explanation
            self.nextAttemptAt = nextAttemptAt
        }
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
        let segments = live.isEmpty && !record.status.state.isFinal ? SegmentView.held(record.checkpoint) : live
        view.segments = segments.isEmpty ? nil : segments
        return view
    }

    public func with(_ metrics: TaskMetrics) -> TaskView {
        guard !metrics.isEmpty else { return self }
        var view = self
        view.metrics = metrics.entries.map(ExchangeView.init)
        view.metricsDropped = metrics.dropped > 0 ? metrics.dropped : nil
        return view
    }

    private static func expected(_ record: TaskRecord, live: Live?) -> Int64 {
        if let live, live.bytesExpected >= 0 { return live.bytesExpected }
        return record.checkpoint?.total?.rawValue ?? record.response?.expectedLength ?? -1
    }
}

extension TaskView: WireObject {
    /// The members besides those of the spec.
    public enum StatusKeys: String, CodingKey, CaseIterable, Sendable {
        case id, session, owner, state, phase, reason, explanation, bytesReceived, bytesExpected, bytesDecoded,
            bytesSent, bytesToSend,
            resumedFrom,
            rate, eta, attempts, nextAttemptAt, createdAt, startedAt, finishedAt, position, file, sha256, verified,
            response, error, segments, metrics, metricsDropped, currentRequest
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: StatusKeys.self)
        _spec = Boxed(wrappedValue: try TaskSpec(from: decoder))
        id = try fields.decode(TaskID.self, forKey: .id)
        session = try fields.decode(String.self, forKey: .session)
        owner = try fields.decode(UserID.self, forKey: .owner)
        state = try fields.decode(TaskState.self, forKey: .state)
        phase = try fields.decodeIfPresent(TaskPhase.self, forKey: .phase)
        queueReason = try fields.decodeIfPresent(String.self, forKey: .reason).flatMap(QueueReason.init(rawValue:))
        if queueReason == nil {
            reason = try fields.decodeIfPresent(WaitReason.self, forKey: .reason)
        }
        explanation = try fields.decodeIfPresent(String.self, forKey: .explanation)
        bytesReceived = try fields.decode(Int64.self, forKey: .bytesReceived)
        bytesExpected = try fields.decode(Int64.self, forKey: .bytesExpected)
        bytesDecoded = try fields.decodeIfPresent(Int64.self, forKey: .bytesDecoded)
        bytesSent = try fields.decode(Int64.self, forKey: .bytesSent)
        bytesToSend = try fields.decode(Int64.self, forKey: .bytesToSend)
        resumedFrom = try fields.decodeIfPresent(Int64.self, forKey: .resumedFrom)
        rate = try fields.decode(ByteRate.self, forKey: .rate)
        eta = try fields.decodeIfPresent(Seconds.self, forKey: .eta)
        attempts = try fields.decode(Int.self, forKey: .attempts)
        nextAttemptAt = try fields.decodeIfPresent(Timestamp.self, forKey: .nextAttemptAt)
        createdAt = try fields.decode(Timestamp.self, forKey: .createdAt)
        startedAt = try fields.decodeIfPresent(Timestamp.self, forKey: .startedAt)
        finishedAt = try fields.decodeIfPresent(Timestamp.self, forKey: .finishedAt)
        position = try fields.decode(Double.self, forKey: .position)
        file = try fields.decodeIfPresent(String.self, forKey: .file)
        sha256 = try fields.decodeIfPresent(String.self, forKey: .sha256)
        verified = try fields.decodeIfPresent(Bool.self, forKey: .verified)
        response = try fields.decodeIfPresent(ResponseInfo.self, forKey: .response)
        error = try fields.decodeIfPresent(TransferError.self, forKey: .error)
        segments = try fields.decodeIfPresent([SegmentView].self, forKey: .segments)
        metrics = try fields.decodeIfPresent([ExchangeView].self, forKey: .metrics)
        metricsDropped = try fields.decodeIfPresent(Int.self, forKey: .metricsDropped)
        currentRequest = try fields.decodeIfPresent(TaskRequest.self, forKey: .currentRequest)
    }

    public func encode(to encoder: any Encoder) throws {
        try spec.encode(to: encoder)
        var fields = FieldWriter(encoder, StatusKeys.self)
        try writeStatus(&fields)
    }

    /// Writes everything but the spec.
    /// - Parameter shared: written in place of `response`.
    func writeStatus(_ fields: inout FieldWriter<StatusKeys>, response shared: JSONMembers? = nil) throws {
        try fields.write(id.rawValue, .id)
        try fields.write(session, .session)
        try fields.write(Int64(owner.rawValue), .owner)
        try fields.write(state.rawValue, .state)
        try fields.write(phase?.rawValue, .phase)
        try fields.write(reason?.rawValue ?? queueReason?.rawValue, .reason)
        try fields.write(explanation, .explanation)
        try fields.write(bytesReceived, .bytesReceived)
        try fields.write(bytesExpected, .bytesExpected)
        try fields.write(bytesDecoded, .bytesDecoded)
        try fields.write(bytesSent, .bytesSent)
        try fields.write(bytesToSend, .bytesToSend)
        try fields.write(resumedFrom, .resumedFrom)
        try fields.write(rate.rawValue, .rate)
        try fields.write(eta?.rawValue, .eta)
        try fields.write(Int64(attempts), .attempts)
        try fields.write(nextAttemptAt?.description, .nextAttemptAt)
        try fields.write(createdAt.description, .createdAt)
        try fields.write(startedAt?.description, .startedAt)
        try fields.write(finishedAt?.description, .finishedAt)
        try fields.write(position, .position)
        try fields.write(file, .file)
        try fields.write(sha256, .sha256)
        try fields.write(verified, .verified)
        if let shared {
            try fields.write(shared, .response, as: ResponseInfo.self)
        } else {
            try fields.write(response, .response)
        }
        try fields.write(error, .error)
        try fields.write(segments, .segments)
        try fields.write(metrics, .metrics)
        try fields.write(metricsDropped.map { Int64($0) }, .metricsDropped)
        try fields.write(currentRequest, .currentRequest)
    }

    public static let wireName = "Task"
    public static func field(_ key: StatusKeys) -> Field {
        switch key {
        case .id: .required(.taskID, "Number of the task; never reused.")
        case .session: .required(.string, "Identifier of its session.")
        case .owner: .required(.userID, "Owner of the task.")
        case .state: .required(.oneOf(TaskState.self), "Its state.")
        case .phase: .optional(.oneOf(TaskPhase.self), "What a `running` task does.")
        case .reason:
            .optional(
                .choice(WaitReason.allCases.map(\.rawValue) + QueueReason.allCases.map(\.rawValue)),
                "While `waiting`. In `task.get` also while `queued`: `slots`, `user`, `session`, `hostSlots` name the "
                    + "limit that is reached; `host`: the host does not answer or asked for a pause; "
                    + "`sessionPaused`: its session is paused.")
        case .explanation:
            .optional(
                .string,
                "In `task.get`. Queued: a sentence about `reason`. Running: a sentence if the state folder is full or fails, if the "
                    + "task's disk does not answer, or if its helper waits for another task."
            )
        case .bytesReceived: .required(.byteCount, "Bytes written to the file so far.")
        case .bytesExpected: .required(.byteCount, "Length of the whole file; -1 if unknown.")
        case .bytesDecoded:
            .optional(.byteCount, "While its phase is `decoding`: bytes of the file that are decoded so far.")
        case .bytesSent: .required(.byteCount, "Bytes of the source or body sent so far.")
        case .bytesToSend: .required(.byteCount, "Length of the source or body; 0 if nothing is sent.")
        case .resumedFrom: .optional(.byteCount, "Offset from which the last attempt resumed.")
        case .rate: .required(.number, "Bytes per second now; 0 while it does not run.")
        case .eta: .optional(.seconds, "Time left at this rate, if length and rate are known.")
        case .attempts: .required(.integer, "Attempts begun.")
        case .nextAttemptAt: .optional(.time, "When the daemon tries again by itself, if it knows.")
        case .createdAt: .required(.time, "When it was added.")
        case .startedAt: .optional(.time, "When it first ran.")
        case .finishedAt: .optional(.time, "When it reached its final state.")
        case .position: .required(.number, "Position among tasks of its priority; smaller numbers first.")
        case .file: .optional(.string, "Path of the delivered file.")
        case .sha256: .optional(.string, "SHA-256 of the delivered file in hexadecimal, if computed.")
        case .verified:
            .optional(.boolean, "Once it has ended: true if a digest of the content was known and compared.")
        case .response: .optional(.object(ResponseInfo.self), "The server's answer.")
        case .error: .optional(.object(TransferError.self), "Why it waits or failed.")
        case .segments:
            .optional(
                .list(.object(SegmentView.self)),
                "In `task.get`, if a download has several: the parts that are held or being fetched, in order.")
        case .metrics:
            .optional(
                .list(.object(ExchangeView.self)),
                "In `task.get`: how long each request and its answer took, in the order in which they ended; the newest \(Bounds.metrics). Every attempt, redirect, repetition and segment has an entry; an exchange that still runs and `file` and `data` URLs have none. Entries name no URL and no header, so administrators see them too."
            )
        case .metricsDropped: .optional(.integer, "Number of entries that newer ones pushed out of `metrics`.")
        case .currentRequest:
            .optional(
                .object(TaskRequest.self),
                "In `task.get` with `secrets`: the request that is made in place of the task's own, after `newRequest`, `followWith` or a redirect that a client was asked about. Redirects that are followed without a question show in `response.url`. It stays when the task has ended."
            )
        }
    }
}

/// The part of a task that its machine changes: each transition maps one value to another.
public struct TaskStatus: Hashable, Sendable {
    public var state: TaskState
    /// Only while `waiting`.
    public var reason: WaitReason?
    /// When the daemon itself tries again, if it knows.
    public var nextAttemptAt: Timestamp?
    /// Why it is waiting or failed.
    public var error: TransferError?
    /// Attempts begun, ever.
    public var attempts = 0
    /// Failures since the last progress; back-off counts them.
    public var failuresInRow = 0
    /// Restarts from 0 because of a digest mismatch. One is allowed or, with mirrors, one per mirror, up to
    /// `TaskMachine.integrityRestartLimit`.
    public var integrityRestarts = 0
    public var createdAt: Timestamp
    public var startedAt: Timestamp?
    public var finishedAt: Timestamp?
    /// Time counted against `timeoutIntervalForResource` up to `budgetMark`.
    public var budgetUsed: Seconds = 0
    /// Boot clock (milliseconds, CLOCK_BOOTTIME) at which counting began; nil while no time counts (paused, final).
    public var budgetMark: Int64?
    /// The value of `budgetUsed` when the name first failed to resolve, before anything was received; nil after any
    /// other outcome.
    public var unresolvedSince: Seconds?
    /// How far earlier attempts came; nil if they received nothing.
    public var shortBody: ShortBody?

    public init(state: TaskState, createdAt: Timestamp) {
        self.state = state
        self.createdAt = createdAt
    }
}

extension TaskStatus: WireObject {
    public static let shape = Shape("TaskStatus", Self(state: .queued, createdAt: Timestamp(milliseconds: 0))) { row in
        row("state", \.state)
        row("reason", \.reason)
        row("nextAttemptAt", \.nextAttemptAt)
        row("error", \.error)
        row("attempts", \.attempts)
        row("failuresInRow", \.failuresInRow)
        row("integrityRestarts", \.integrityRestarts)
        row("createdAt", \.createdAt)
        row("startedAt", \.startedAt)
        row("finishedAt", \.finishedAt)
        row("budgetUsed", \.budgetUsed)
        row("budgetMark", \.budgetMark)
        row("unresolvedSince", \.unresolvedSince)
        row("shortBody", \.shortBody)
    }
}

/// How far bodies came. If one ends before its announced length at the same offset each time, that offset is taken as
/// the length; otherwise the connection may have broken.
public struct ShortBody: Hashable, Sendable {
    public var received: ByteCount
    public var announced: ByteCount
    /// How often it ended like this.
    public var times: Int
    /// The most bytes that any attempt held at its end; nil in rows of earlier versions.
    public var furthest: ByteCount?

    public init(received: ByteCount, announced: ByteCount, times: Int = 1) {
        self.received = received
        self.announced = announced
        self.times = times
    }
}

extension ShortBody: WireObject {
    public static let shape = Shape("ShortBody", Self(received: 0, announced: 0)) { row in
        row("received", \.received)
        row("announced", \.announced)
        row("times", \.times)
        row("furthest", \.furthest)
    }
}

/// What a finished task leaves behind.
public struct TaskResult: Hashable, Sendable {
    /// Final path of the delivered file.
    public var file: String?
    public var bytes: ByteCount
    /// Set if a digest was checked or asked for.
    public var sha256: String?
    /// A digest of the content was known and was compared.
    public var verified: Bool
    /// Identifies the delivered file later; nil if it was not recorded.
    public var mark: FileMark?

    public init(
        file: String? = nil, bytes: ByteCount, sha256: String? = nil, verified: Bool, mark: FileMark? = nil
    ) {
        self.file = file
        self.bytes = bytes
        self.sha256 = sha256
        self.verified = verified
        self.mark = mark
    }
}

extension TaskResult: WireObject {
    public static let shape = Shape("TaskResult", Self(bytes: 0, verified: false)) { row in
        row("file", \.file)
        row("bytes", \.bytes)
        row("sha256", \.sha256)
        row("verified", \.verified)
        row("mark", \.mark)
    }
}

/// Identifies a delivered file together with its length: it has not been written to since.
///
/// Does not use the device, because the numbers of many file systems change with each mount.
public struct FileMark: Hashable, Sendable {
    public var inode: UInt64
    /// Change time (inode(7)) at delivery, in nanoseconds since 1970. If `checksum` is set, the daemon changes the file
    /// once more afterwards, to remove its delivery mark. A file created later is another file that reuses the inode
    /// number.
    public var changed: Int64?
    /// CRC-32C of the content; only of small files.
    public var checksum: UInt32?

    public init(inode: UInt64, changed: Int64? = nil, checksum: UInt32? = nil) {
        self.inode = inode
        self.changed = changed
        self.checksum = checksum
    }
}

extension FileMark: WireObject {
    public static let shape = Shape("FileMark", Self(inode: 0)) { row in
        row("inode", \.inode)
        row("changed", \.changed)
        row("checksum", \.checksum)
    }
}

/// One stored task, complete: what the store keeps and the daemon decides on. Holds secrets; never leaves the daemon.
public struct TaskRecord: Hashable, Sendable {
    public var id: TaskID
    public var session: SessionKey
    @Boxed public var spec: TaskSpec
    @Boxed public var status: TaskStatus
    /// Scheme, host name and port in lower case: `https://example.org:443`; the unit of per-host slots.
    public var host: String
    /// Order among tasks of one priority; smaller first. `task.update` with `position` changes it.
    public var position: Double
    /// Device of the destination folder when the task was added.
    public var destinationDevice: UInt64?
    @BoxedOptional public var checkpoint: Checkpoint?
    /// The state of an upload at its server.
    @BoxedOptional public var upload: UploadProgress?
    /// The file that the task sends, as it was when the task was added.
    @BoxedOptional public var source: SourceIdentity?
    @BoxedOptional public var response: ResponseInfo?
    @BoxedOptional public var result: TaskResult?
    /// What its questions have settled; set only in the record of a claimed task.
    @BoxedOptional public var settled: SettledDecisions?

    public init(id: TaskID, session: SessionKey, spec: TaskSpec, status: TaskStatus, host: String, position: Double) {
        let (spec, status) = (Boxed(wrappedValue: spec), Boxed(wrappedValue: status))
        self.init(id: id, session: session, spec: spec, status: status, host: host, position: position)
    }

    package init(
        id: TaskID, session: SessionKey, spec: Boxed<TaskSpec>, status: Boxed<TaskStatus>, host: String,
        position: Double
    ) {
        self.id = id
        self.session = session
        _spec = spec
        _status = status
        self.host = host
        self.position = position
    }

    /// Whether a part file holds bytes that `retry` resumes from, or that `task.resumeData` hands over.
    public var keepsPart: Bool { spec.kind == .download && (checkpoint?.held ?? .zero) > .zero }
}

/// One row of the durable log, or an event that is never stored and has no sequence number (progress, lagged).
public struct EventRecord: Hashable, Sendable {
    public var sequence: SequenceNumber?
    public var time: Timestamp
    public var type: EventType
    public var session: SessionKey
    public var task: TaskID?
    /// Members besides the fixed ones on the wire; none of them has the name of a fixed one.
    public var payload: JSONMembers
    /// The kind of the task that this event ends; known only while it happens, and neither stored nor sent.
    package var ended: TaskKind?

    public init(
        sequence: SequenceNumber? = nil, time: Timestamp, type: EventType, session: SessionKey, task: TaskID? = nil,
        payload: JSONMembers = [:]
    ) {
        self.sequence = sequence
        self.time = time
        self.type = type
        self.session = session
        self.task = task
        self.payload = payload
    }

    /// Says that events after the requested position are gone; never stored.
    /// - Parameter first: the oldest event that is kept.
    package static func lagged(first: SequenceNumber, owner: UserID, at time: Timestamp) -> EventRecord {
        EventRecord(
            time: time, type: .eventsLagged, session: SessionKey(owner: owner, identifier: ""),
            payload: ["firstSequence": .integer(first.rawValue)])
    }
}

/// Whether a session is paused, and the paused time that its tasks are not charged for.
public struct SessionPause: Hashable, Sendable {
    /// Boot clock (milliseconds) at which it was paused; nil while it is not.
    public var since: Int64?
    /// Total milliseconds of earlier pauses.
    public var time: Int64

    public init(since: Int64? = nil, time: Int64 = 0) {
        self.since = since
        self.time = time
    }
}

/// A stored session.
public struct SessionRecord: Hashable, Sendable {
    public var key: SessionKey
    public var kind: SessionKind
    public var state: SessionState
    @Boxed public var configuration: SessionConfiguration
    public var createdAt: Timestamp
    public var pause = SessionPause()

    public init(
        key: SessionKey, kind: SessionKind = .background, state: SessionState = .active,
        configuration: SessionConfiguration = SessionConfiguration(), createdAt: Timestamp
    ) {
        self.key = key
        self.kind = kind
        self.state = state
        self.configuration = configuration
        self.createdAt = createdAt
    }
}

/// What happened to the file of a removed task.
public struct RemovedFile: WireObject, Hashable {
    public enum Fate: String, Word {
        case deleted, kept, absent
    }

    public var id: TaskID
    public var fate: Fate
    public var reason: String?

    public init(id: TaskID, fate: Fate, reason: String? = nil) {
        self.id = id
        self.fate = fate
        self.reason = reason
    }

    public static let shape = Shape("RemovedFile", Self(id: TaskID(0), fate: .absent)) { row in
        row("id", \.id, "The task.")
        row(
            "fate", \.fate,
            "`deleted`; `kept`: it is not the file that the task delivered; `absent`: it was already gone.")
        row("reason", \.reason, "Why the file was kept.")
    }
}

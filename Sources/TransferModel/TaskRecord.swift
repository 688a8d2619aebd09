/// The part of a task that its machine changes: one value in, one value out of every transition.
public struct TaskStatus: Hashable, Sendable, Codable {
    public var state: TaskState
    /// Only while `waiting`.
    public var reason: WaitReason?
    /// When the daemon itself tries again, where it knows.
    public var nextAttemptAt: Timestamp?
    /// Why it is waiting or failed.
    public var error: TransferError?
    /// Attempts begun, ever.
    public var attempts: Int
    /// Failures since the last progress; what back-off counts.
    public var failuresInRow: Int
    /// Restarts from 0 because of a digest mismatch; one is allowed, with mirrors one for each place.
    public var integrityRestarts: Int
    public var createdAt: Timestamp
    public var startedAt: Timestamp?
    public var finishedAt: Timestamp?
    /// Time counted against `timeoutIntervalForResource` up to `budgetMark`.
    public var budgetUsed: Seconds
    /// Boot clock (milliseconds, CLOCK_BOOTTIME) since when time counts; nil while it does not (paused, final).
    public var budgetMark: Int64?
    /// Budget used when a name did not resolve first, while nothing had been received; nil after any other outcome.
    public var unresolvedSince: Seconds?
    /// The last body that ended before its announced length; nil if none did.
    public var shortBody: ShortBody?

    public init(state: TaskState, createdAt: Timestamp) {
        self.state = state
        self.createdAt = createdAt
        attempts = 0
        failuresInRow = 0
        integrityRestarts = 0
        budgetUsed = 0
    }
}

/// A body that ended before the length that its server had announced: the connection broke, or the length is wrong. Where it
/// ends at the same place each time, it is the length.
public struct ShortBody: Hashable, Sendable, Codable {
    public var received: ByteCount
    public var announced: ByteCount
    /// How often it was seen so.
    public var times: Int

    public init(received: ByteCount, announced: ByteCount, times: Int = 1) {
        self.received = received
        self.announced = announced
        self.times = times
    }
}

/// What a finished task left.
public struct TaskResult: Hashable, Sendable, Codable {
    /// Final path of the delivered file.
    public var file: String?
    public var bytes: ByteCount
    /// Computed where a digest was checked or asked for.
    public var sha256: String?
    /// A digest of the content was known, and compared.
    public var verified: Bool
    /// What the delivered file is known again by; nil if nobody noted it.
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

/// What a delivered file, together with its length, is known again by: nobody has written to it since.
///
/// Not by its device: the numbers of many file systems change with each mount.
public struct FileMark: Hashable, Sendable, Codable {
    public var inode: UInt64
    /// Change time (inode(7)) at delivery, nanoseconds since 1970. The daemon changes a file that has a `checksum` once
    /// more; a file that was made later is another one, under a number that became free.
    public var changed: Int64?
    /// CRC-32C of the content, of small files.
    public var checksum: UInt32?

    public init(inode: UInt64, changed: Int64? = nil, checksum: UInt32? = nil) {
        self.inode = inode
        self.changed = changed
        self.checksum = checksum
    }
}

/// One stored task, whole: what the store keeps and the daemon decides on. Holds secrets; never leaves the daemon.
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
    /// Where an upload stands at its server.
    @BoxedOptional public var upload: UploadProgress?
    /// The file that the task sends, as it was when the task was added.
    @BoxedOptional public var source: SourceIdentity?
    @BoxedOptional public var response: ResponseInfo?
    @BoxedOptional public var result: TaskResult?
    /// What its questions have settled; only in the record of a task that was claimed.
    @BoxedOptional public var settled: SettledDecisions?

    public init(id: TaskID, session: SessionKey, spec: TaskSpec, status: TaskStatus, host: String, position: Double) {
        let spec = Boxed(wrappedValue: spec)
        self.init(id: id, session: session, spec: spec, status: status, host: host, position: position)
    }

    package init(
        id: TaskID, session: SessionKey, spec: Boxed<TaskSpec>, status: TaskStatus, host: String, position: Double
    ) {
        self.id = id
        self.session = session
        _spec = spec
        self.status = status
        self.host = host
        self.position = position
    }

    /// A part file holds bytes that `retry` continues from, or `task.resumeData` hands over.
    public var keepsPart: Bool { spec.kind == .download && (checkpoint?.held ?? .zero) > .zero }
}

/// One row of the durable log, or a progress event, which has no sequence number and is never stored.
public struct EventRecord: Hashable, Sendable {
    public var sequence: SequenceNumber?
    public var time: Timestamp
    public var type: EventType
    public var session: SessionKey
    public var task: TaskID?
    /// Members that stand beside the fixed ones on the wire, none of which has a name of those.
    public var payload: JSONMembers

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

    /// Tells that events after the place asked for are gone; stored nowhere.
    /// - Parameter first: the oldest event that is kept.
    package static func lagged(first: SequenceNumber, owner: UserID, at time: Timestamp) -> EventRecord {
        EventRecord(
            time: time, type: .eventsLagged, session: SessionKey(owner: owner, identifier: ""),
            payload: ["firstSequence": .integer(first.rawValue)])
    }
}

/// Whether a session is paused, and what time its tasks have not been charged for it.
public struct SessionPause: Hashable, Sendable {
    /// Boot clock (milliseconds) at which it was paused; nil while it is not.
    public var since: Int64?
    /// Milliseconds of earlier pauses.
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

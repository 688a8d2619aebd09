import TransferModel

/// Order of a listing. Each has a keyset, so that the last page costs as much as the first.
package enum TaskOrder: String, Word {
    /// By id, ascending or descending.
    case oldest, newest
    /// As the scheduler would take them: priority descending, position, id.
    case queue
    /// Latest end first; unfinished tasks after all finished ones.
    case finished
    /// Running, then waiting and queued, then paused tasks, each in `queue` order; then ended tasks, in `finished`
    /// order.
    case activity

    /// The parts of the listing, in order: the states in each part, and the order of its tasks.
    var stages: [(states: Set<TaskState>, order: KeyOrder)] {
        switch self {
        case .oldest: [(Set(TaskState.allCases), .oldest)]
        case .newest: [(Set(TaskState.allCases), .newest)]
        case .queue: [(Set(TaskState.allCases), .queue)]
        case .finished: [(Set(TaskState.allCases), .finished)]
        case .activity:
            [
                ([.running], .queue), ([.queued, .waiting], .queue), ([.paused], .queue),
                ([.completed, .failed, .cancelled], .finished),
            ]
        }
    }
}

/// Orders for which there is an index; `TaskOrder` is made of them.
enum KeyOrder: CaseIterable {
    case oldest, newest, queue, finished
}

/// A page of `task.list`, or the tasks that an action is for.
package struct TaskQuery: Sendable {
    /// nil = tasks of all owners.
    package var owner: UserID?
    /// Identifier of the session.
    package var session: String?
    /// Only tasks of sessions with these identifiers; nil for all.
    package var sessions: [String]?
    package var states: Set<TaskState>?
    package var kinds: Set<TaskKind>?
    /// Only these; the order is then `oldest` or `newest`. The same holds for the next two.
    package var ids: [TaskID]?
    /// Only tasks that have all of these.
    package var tags: [String]?
    /// Only tasks that were added with one of these.
    package var clientTokens: [String]?
    package var range: ClosedRange<TaskID>?
    /// Substring of URL, description or file, delivered or planned; ASCII letters match in either case.
    package var match: String?
    package var order: TaskOrder = .oldest
    /// The `nextCursor` of the previous page.
    package var cursor: String?
    /// Tasks that are skipped before the first page; zero with a cursor.
    package var offset = 0
    package var limit = 100
    /// Whether the tasks are counted even if no counter knows their number.
    package var countsAll = false
    /// Of specs and answers, as they are stored.
    package var bytes = Bounds.pageBytes

    package init(
        owner: UserID? = nil, ids: [TaskID]? = nil, range: ClosedRange<TaskID>? = nil, session: String? = nil,
        states: Set<TaskState>? = nil
    ) {
        self.owner = owner
        self.ids = ids
        self.range = range
        self.session = session
        self.states = states
    }

    /// Whether the query names tasks instead of only narrowing them down.
    package var namesTasks: Bool { ids != nil || clientTokens != nil || !(tags ?? []).isEmpty }
}

package struct TaskPage: Sendable {
    package var tasks: [ListedTask]
    /// Tasks of the whole listing, from the counters; nil if the query has a text, a kind, a range, ids, tags or client
    /// tokens, which have no counters, and is not counted.
    package var total: Int?
    /// Continues after the last record; nil on the last page.
    package var nextCursor: String?
    /// On the last page: what is left to skip, because the listing is shorter.
    package var unskipped = 0
}

/// What the scheduler asks for.
package struct CandidateQuery: Sendable {
    /// What may be read from the lanes of a host.
    package enum Access: Sendable, Hashable {
        case open
        /// Only one task may begin: the best.
        case one
        /// Only one task may begin: the best of those that failed least often.
        case probe
        /// None may begin soon: the lane need not be read again until `StoreTransaction.release`.
        case held
        /// None may begin for a moment that is too short to note.
        case pausing
    }

    /// Best tasks of each lane (session and host).
    package var perLane = 6
    /// In total; each session may have an equal share of it, but never less than `leastPerSession`.
    package var limit = 64
    /// The most sessions whose lanes are read.
    package var sessions = 64
    /// Puts sessions into the order in which they are looked at.
    package var order: @Sendable ([SessionKey]) -> [SessionKey] = { $0 }
    package var access: @Sendable (SessionKey, String) -> Access = { _, _ in .open }
    /// Tasks that are wanted even if others come before them in their lanes.
    package var wantedTasks: [TaskID] = []
    /// Tasks of the look-ahead that the caller already holds.
    package var excludedTasks: Set<TaskID> = []

    package static let leastPerSession = 8

    package init(perLane: Int = 6, limit: Int = 64) {
        self.perLane = perLane
        self.limit = limit
    }

    package func perSession(among count: Int) -> Int { max(Self.leastPerSession, limit / max(1, count)) }
}

/// A queued task, with only what the scheduler needs.
package struct QueuedTask: Sendable, Hashable {
    package var id: TaskID
    package var session: SessionKey
    package var host: String
    package var priority: Double
    package var position: Double
    /// How often it failed in a row; its own back-off is over.
    package var failures = 0
}

/// What the scheduler chooses from.
package struct Candidates: Sendable {
    /// The best tasks of one session.
    package struct OfSession: Sendable, Hashable {
        package var session: SessionKey
        /// Best first.
        package var tasks: [QueuedTask] = []
        /// The session has more tasks than these, also in lanes whose hosts are not in `cutHosts`.
        package var isCut = false
        /// Hosts on which the session has more tasks.
        package var cutHosts: Set<String> = []

        package init(session: SessionKey, tasks: [QueuedTask] = [], isCut: Bool = false) {
            self.session = session
            self.tasks = tasks
            self.isCut = isCut
        }
    }

    /// In the order of the query.
    package var sessions: [OfSession] = []
    /// More sessions have tasks.
    package var isCut = false
    /// Lanes of hosts that are held, in which no task may begin. They need not be read again until one may:
    /// `StoreTransaction.hold`.
    package var heldLanes: [LaneID] = []

    package init(sessions: [OfSession] = [], isCut: Bool = false) {
        self.sessions = sessions
        self.isCut = isCut
    }

    package var tasks: [QueuedTask] { sessions.flatMap(\.tasks) }
    /// The store has tasks that are not here.
    package var hasMore: Bool { hasMoreLanes || sessions.contains { !$0.cutHosts.isEmpty } }
    /// The store has lanes of which no task is here.
    package var hasMoreLanes: Bool { isCut || sessions.contains(where: \.isCut) }
}

/// The tasks of one session on one host.
package struct LaneID: Sendable, Hashable {
    let rawValue: Int64
}

/// When something falls due next; nil if nothing does.
package struct NextTimes: Sendable, Hashable {
    /// A waiting task's next attempt.
    package var attempt: Timestamp?
    package var deadline: Timestamp?
    /// When the first resource timeout runs out.
    package var resourceTimeout: Timestamp?

    package var earliest: Timestamp? { [attempt, deadline, resourceTimeout].compactMap { $0 }.min() }
}

/// A section of the event log.
package struct EventQuery: Sendable {
    /// Exclusive.
    package var after: SequenceNumber = .zero
    /// nil = events of all owners.
    package var owner: UserID?
    /// Identifiers.
    package var sessions: Set<String>?
    package var tasks: Set<TaskID>?
    package var types: Set<EventType>?
    package var limit = 100
    /// Of payloads, as they are stored; the first event is always included.
    package var bytes = Int.max

    package init(after: SequenceNumber = .zero, owner: UserID? = nil, limit: Int = 100) {
        self.after = after
        self.owner = owner
        self.limit = limit
    }
}

/// A task to be stored.
package struct NewTask: Sendable {
    package var session: SessionKey
    @Boxed package var spec: TaskSpec
    @Boxed package var status: TaskStatus
    package var host: String
    /// nil = after all others.
    package var position: Double?
    package var destinationDevice: UInt64?
    /// When the resource timeout runs out if nothing changes; ignored while its time does not count.
    package var resourceTimeoutAt: Timestamp?
    @BoxedOptional package var checkpoint: Checkpoint?
    /// How much of its upload the server already has.
    @BoxedOptional package var upload: UploadProgress?
    /// Of the file that the task sends.
    @BoxedOptional package var source: SourceIdentity?
    /// What the task sends, kept in the store.
    package var requestBody: [UInt8]?
    /// `text(of: spec)`, if the caller has already written it outside the only thread that writes.
    package var specText: String?
    /// Of the client's request, if it gave a token: `ClientTokenUse.digest`.
    package var specDigest: [UInt8]?
    /// Whether `StoreSnapshot.queued(urls:in:)` finds it, if it is a download.
    package var isSought = true
    /// nil if it is not over yet.
    @BoxedOptional package var end: End?

    /// What a data task leaves that is answered when it is added.
    package struct End: Sendable {
        /// Names no file.
        package var result: TaskResult
        package var metrics: StoredMetrics?
        package var response: StoredDocument
        /// What `task.body` serves.
        package var body: [UInt8]

        package init(result: TaskResult, metrics: StoredMetrics?, response: StoredDocument, body: [UInt8]) {
            self.result = result
            self.metrics = metrics
            self.response = response
            self.body = body
        }
    }

    package init(session: SessionKey, spec: TaskSpec, status: TaskStatus, host: String) {
        self.init(
            session: session, spec: Boxed(wrappedValue: spec), status: Boxed(wrappedValue: status), host: host)
    }

    /// Shares the boxes: the tasks of a call mostly have the same status.
    package init(session: SessionKey, spec: Boxed<TaskSpec>, status: Boxed<TaskStatus>, host: String) {
        self.session = session
        _spec = spec
        _status = status
        self.host = host
    }

    /// What the store keeps of a spec.
    package static func text(of spec: TaskSpec) -> String { JSONColumn.encode(spec) }
}

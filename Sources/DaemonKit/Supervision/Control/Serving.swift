import TransferModel
import TransferRPC
import TransferStore

/// The user who asks, as the kernel reports it (SO_PEERCRED), and what that user may do.
package struct Peer: Sendable, Hashable {
    package var uid: UserID
    package var gid: UInt32
    package var pid: Int32
    /// root or, in system mode, a member of the admin group. An administrator may see and control everybody's objects.
    package var isAdmin: Bool

    package init(uid: UserID, gid: UInt32, pid: Int32, isAdmin: Bool) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.isAdmin = isAdmin
    }
}

extension Peer {
    /// Checks the members of a change of a task or a session. What decides where requests go and what they carry belongs
    /// to the owner alone: the requests have the owner's credentials.
    /// - Parameter common: the members that administrators may change too.
    /// - Throws: `permission.denied`.
    func require(owner: UserID, toChange fields: [String], in place: String = "", except common: Set<String>)
        throws(TransferError)
    {
        guard uid != owner, let field = fields.first(where: { !common.contains($0) }) else { return }
        throw TransferError(
            .permissionDenied,
            "\(place)\(field): only the owner, uid \(owner), changes this. Administrators change "
                + "\(common.sorted().joined(separator: ", ")).", details: ["field": .string(place + field)])
    }
}

extension OwnerScope {
    package func includes(_ owner: UserID) -> Bool {
        switch self {
        case .user(let uid): uid == owner
        case .everyone: true
        }
    }

    /// For queries, in which nil means all owners.
    package var owner: UserID? {
        switch self {
        case .user(let uid): uid
        case .everyone: nil
        }
    }
}

package enum TaskAction: Sendable, Hashable {
    case pause, resume, retry
    /// Retries with the source file as it is now.
    case resend
    case cancel(keepPartial: Bool)
    case remove(deleteFile: Bool)
}

/// The tasks that a control method selects. `states` narrows either scope.
package struct ControlTarget: Sendable, Hashable {
    package enum Scope: Sendable, Hashable {
        case ids([TaskID])
        case range(ClosedRange<TaskID>)
        case session(String)
        case all
    }
    package var scope: Scope
    package var states: Set<TaskState>?
    /// Narrows a session.
    package var range: ClosedRange<TaskID>?
    package var owner: OwnerScope

    package init(scope: Scope, states: Set<TaskState>? = nil, owner: OwnerScope) {
        self.scope = scope
        self.states = states
        self.owner = owner
    }
}

/// The current rates (bytes per second), and the bytes transferred since the daemon started.
package struct Throughput: Sendable, Hashable {
    package var downloadRate: Int64 = 0
    package var uploadRate: Int64 = 0
    package var bytesReceived: Int64 = 0
    package var bytesSent: Int64 = 0

    static func + (one: Throughput, other: Throughput) -> Throughput {
        Throughput(
            downloadRate: one.downloadRate + other.downloadRate, uploadRate: one.uploadRate + other.uploadRate,
            bytesReceived: one.bytesReceived + other.bytesReceived, bytesSent: one.bytesSent + other.bytesSent)
    }
}

/// One running task's progress, for `task.progress` events.
package struct ProgressFigures: Sendable, Hashable {
    package var task: TaskID
    package var session: SessionKey
    package var live: LiveFigures
}

/// What `task.add` needs.
package protocol TaskAdding: Sendable {
    /// Admits all tasks or none. They are durable when this returns.
    func add(_ specs: [TaskSpec], session: String?, by peer: Peer) async throws -> [AddedTask]
}

/// What pause, resume, cancel, retry and remove need.
package protocol TaskControlling: Sendable {
    func control(_ action: TaskAction, _ target: ControlTarget) async throws -> ControlResult
}

/// What `task.update` and `task.resumeData` need.
package protocol TaskUpdating: Sendable {
    func update(_ change: UpdateTask, by peer: Peer) async throws -> TaskRecord
    func resumeData(_ id: TaskID, by peer: Peer) async throws -> String
}

/// What only a task's owner may see of its request and answer, besides its record.
package struct KeptExchange: Sendable, Hashable {
    /// nil if the record has the whole header.
    package var head: WholeHead?
    package var request: KeptBody?
    package var response: KeptBody?
    /// The request that was made in place of the task's own; nil if that stands.
    package var standing: StandingRequest?
}

/// What read-only methods need.
package protocol TaskReading: Sendable {
    /// - Throws: `task.not_found`, also for a task of a user whom the peer may not see.
    func record(_ id: TaskID, for peer: Peer) async throws -> TaskRecord
    func live(_ id: TaskID) -> LiveFigures?
    /// What a queued task waits for; nil if it runs as soon as the tasks before it have run.
    func queueing(of record: TaskRecord) async -> Queueing?
    /// A sentence about a running task whose disk does not answer, or whose helper waits for another task; otherwise nil.
    func trouble(of record: TaskRecord) async -> String?
    /// The segments of a running download, in order; empty if there is only one stream.
    func segments(_ id: TaskID) -> [SegmentView]
    /// Every running task, for progress events and `daemon.stats`.
    func progressSnapshot() -> [ProgressFigures]
    func throughput() -> Throughput
    /// The header of the task's last answer; nil if `task.list` already shows all of it.
    func wholeHead(of id: TaskID) async throws -> WholeHead?
    /// The metrics of the task's finished exchanges.
    func metrics(of record: TaskRecord) async throws -> TaskMetrics
    /// What the store keeps of the task's request and answer beyond its record.
    func exchange(of id: TaskID) async throws -> KeptExchange
    /// A piece of a data task's kept response body, and whether it is the last.
    /// - Throws: `task.not_found`; `task.wrong_state` if no body is kept.
    func body(
        _ id: TaskID, from offset: ByteCount, atMost length: ByteCount, for peer: Peer
    ) async throws -> (bytes: [UInt8], isLast: Bool)
}

extension AddedTask {
    /// A client token has added it before.
    var isExisting: Bool { existing == true }
}

/// What decision.list and decision.answer need.
package protocol DecisionServing: Sendable {
    /// Returns as many open questions as fit into one answer, and whether there are more.
    /// - Parameters:
    ///   - owner: nil for all owners.
    ///   - sessions: identifiers; nil for all.
    ///   - peer: the user who asks. For other users' tasks, only the actions of administrators are shown.
    func list(
        owner: UserID?, sessions: [String]?, tasks: [TaskID]?, for peer: Peer
    ) async throws -> (decisions: [DecisionView], isCut: Bool)
    /// - Throws: `decision.gone`, also for a task of a user whom the peer may not see; `request.*`;
    ///   `permission.denied`.
    func answer(_ parameters: AnswerDecision, by peer: Peer) async throws -> AnsweredDecision
}

/// What the session methods need.
package protocol SessionServing: Sendable {
    /// Creates the session, or attaches to it and, with `configuration`, changes it.
    /// - Parameter kind: the kind of a new session.
    func open(
        _ key: SessionKey, kind: SessionKind, configuration: SessionConfiguration?, by peer: Peer
    ) async throws -> SessionRecord
    func finish(_ key: SessionKey) async throws -> SessionRecord
    func invalidate(_ key: SessionKey) async throws -> SessionRecord
    /// Durable. When it returns, no task of the session runs.
    func pause(_ key: SessionKey) async throws -> SessionRecord
    func resume(_ key: SessionKey) async throws -> SessionRecord
}

/// The services for the tasks of one store, each as narrow as handlers need it.
package struct TaskServices: Sendable {
    package var adder: any TaskAdding
    package var controller: any TaskControlling
    package var updater: any TaskUpdating
    package var reader: any TaskReading
    package var sessions: any SessionServing
    package var decisions: any DecisionServing
    package var store: TransferStore
}

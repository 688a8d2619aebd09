import TransferModel

/// A session as clients see it.
public struct SessionView: WireObject, Hashable {
    public var id: String
    public var owner: UserID
    public var kind: SessionKind
    public var state: SessionState
    public var paused: Bool?
    public var configuration: SessionConfiguration
    public var createdAt: Timestamp
    public var tasks: [String: Int]
    public var unacknowledgedEvents: Int

    public init(_ record: SessionRecord, tasks: [TaskState: Int], unacknowledgedEvents: Int) {
        id = record.key.identifier
        owner = record.key.owner
        kind = record.kind
        state = record.state
        paused = record.pause.since == nil ? nil : true
        configuration = record.configuration.withoutSecrets
        createdAt = record.createdAt
        self.tasks = [TaskState: Int].byName(tasks)
        self.unacknowledgedEvents = unacknowledgedEvents
    }

    public static let shape = Shape(
        "Session",
        Self(
            SessionRecord(key: .shared(of: .root), createdAt: Timestamp(milliseconds: 0)), tasks: [:],
            unacknowledgedEvents: 0)
    ) { row in
        row("id", \.id, "Its identifier among the owner's sessions.")
        row("owner", \.owner, "Owner of the session.")
        row("kind", \.kind, "Its kind.")
        row("state", \.state, "Its state.")
        row("paused", \.paused, "True: none of its tasks runs until session.resume.")
        row("configuration", \.configuration, "The configured members, without secrets.")
        row("createdAt", \.createdAt, "When it was first opened.")
        row("tasks", \.tasks, "Number of its tasks in each state, every state present.")
        row(
            "unacknowledgedEvents", \.unacknowledgedEvents,
            "Final events of its tasks that its `subscriber` has not acknowledged.")
    }
}

extension Dictionary where Key: Word, Value == Int {
    /// Every state or other word by its name; 0 if the counts do not have it.
    public static func byName(_ counts: [Key: Int]) -> [String: Int] {
        Dictionary<String, Int>(uniqueKeysWithValues: Key.allCases.map { ($0.rawValue, counts[$0] ?? 0) })
    }
}

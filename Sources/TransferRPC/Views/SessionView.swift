import TransferModel

/// A session as clients see it.
public struct SessionView: WireObject, Hashable {
    public var id: String
    public var owner: UserID
    public var kind: SessionKind
    public var state: SessionState
    /// True or nil.
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case id, owner, kind, state, paused, configuration, createdAt, tasks, unacknowledgedEvents
    }

    public static let wireName = "Session"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .id: .required(.string, "Its identifier among the owner's sessions.")
        case .owner: .required(.userID, "Owner of the session.")
        case .kind: .required(.oneOf(SessionKind.self), "Its kind.")
        case .state: .required(.oneOf(SessionState.self), "Its state.")
        case .paused: .optional(.boolean, "True: none of its tasks runs until session.resume.")
        case .configuration: .required(.object(SessionConfiguration.self), "The configured members, without secrets.")
        case .createdAt: .required(.time, "When it was first opened.")
        case .tasks: .required(.map(.integer), "Number of its tasks in each state, every state present.")
        case .unacknowledgedEvents:
            .required(.integer, "Final events of its tasks that its `subscriber` has not acknowledged.")
        }
    }
}

extension Dictionary where Key == TaskState, Value == Int {
    /// Every state by its name; 0 if the counts do not have it.
    public static func byName(_ counts: [TaskState: Int]) -> [String: Int] {
        Dictionary<String, Int>(uniqueKeysWithValues: TaskState.allCases.map { ($0.rawValue, counts[$0] ?? 0) })
    }
}

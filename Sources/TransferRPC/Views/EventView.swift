import TransferModel

/// One event as clients see it: fixed members, and those of its type.
public struct EventView: Hashable, Sendable {
    /// Only in notifications.
    public var subscription: String?
    /// nil for progress, `events.lagged` and volatile sessions.
    public var sequence: SequenceNumber?
    public var time: Timestamp
    public var type: EventType
    /// Identifier of the session; empty for events of no session.
    public var session: String
    public var owner: UserID
    public var task: TaskID?
    /// Members that depend on the type.
    public var payload: [String: JSONValue]

    public init(_ record: EventRecord, subscription: String? = nil) {
        self.subscription = subscription
        sequence = record.sequence
        time = record.time
        type = record.type
        session = record.session.identifier
        owner = record.session.owner
        task = record.task
        payload = record.payload.values
    }

    public subscript(member: String) -> JSONValue? { payload[member] }
}

extension EventView: WireObject {
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case subscription, sequence, time, type, session, owner, task
    }

    public init(from decoder: any Decoder) throws {
        let fixed = try decoder.container(keyedBy: CodingKeys.self)
        subscription = try fixed.decodeIfPresent(String.self, forKey: .subscription)
        sequence = try fixed.decodeIfPresent(SequenceNumber.self, forKey: .sequence)
        time = try fixed.decode(Timestamp.self, forKey: .time)
        type = try fixed.decode(EventType.self, forKey: .type)
        session = try fixed.decode(String.self, forKey: .session)
        owner = try fixed.decode(UserID.self, forKey: .owner)
        task = try fixed.decodeIfPresent(TaskID.self, forKey: .task)
        let all = try decoder.singleValueContainer().decode([String: JSONValue].self)
        payload = all.filter { CodingKeys(stringValue: $0.key) == nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: MemberName.self)
        for (name, value) in payload where CodingKeys(stringValue: name) == nil {
            try members.encode(value, forKey: MemberName(name))
        }
        var fixed = encoder.container(keyedBy: CodingKeys.self)
        try fixed.encodeIfPresent(subscription, forKey: .subscription)
        try fixed.encodeIfPresent(sequence, forKey: .sequence)
        try fixed.encode(time, forKey: .time)
        try fixed.encode(type, forKey: .type)
        try fixed.encode(session, forKey: .session)
        try fixed.encode(owner, forKey: .owner)
        try fixed.encodeIfPresent(task, forKey: .task)
    }

    public static let wireName = "Event"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .subscription: .optional(.string, "In notifications: the subscription it is for.")
        case .sequence:
            .optional(
                .sequence, "Position in the log; absent for `task.progress`, `events.lagged` and volatile sessions.")
        case .time: .required(.time, "When it happened.")
        case .type: .required(.oneOf(EventType.self), "What happened; the other members depend on it.")
        case .session: .required(.string, "Identifier of the session; empty if it belongs to none.")
        case .owner: .required(.userID, "Owner of the session.")
        case .task: .optional(.taskID, "The task.")
        }
    }

    private struct MemberName: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(_ name: String) { stringValue = name }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

import TransferModel

/// One event as clients see it: fixed members, and those of its type.
public struct EventView: Hashable, Sendable {
    public var subscription: String?
    public var sequence: SequenceNumber?
    public var time: Timestamp
    public var type: EventType
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
    public static let shape = Shape(
        "Event",
        Self(
            EventRecord(
                time: Timestamp(milliseconds: 0), type: .taskAdded, session: SessionKey(owner: .root, identifier: "")))
    ) { row in
        row("subscription", \.subscription, "In notifications: the subscription it is for.")
        row(
            "sequence", \.sequence,
            "Position in the log; absent for `task.progress`, `events.lagged` and volatile sessions.")
        row("time", \.time, "When it happened.")
        row("type", \.type, "What happened; the other members depend on it.")
        row("session", \.session, "Identifier of the session; empty if it belongs to none.")
        row("owner", \.owner, "Owner of the session.")
        row("task", \.task, "The task.")
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node, ignoringOthers: true)
        payload = try [String: JSONValue](json: node).filter { Self.shape[$0.key] == nil }
    }

    public func write(to text: inout JSONWriter) {
        text.object { text in
            Self.shape.write(self, to: &text)
            for (name, value) in payload.sorted(by: { $0.key < $1.key }) where Self.shape[name] == nil {
                text.name(name)
                value.write(to: &text)
            }
        }
    }
}

extension EventRecord {
    /// Its text on the wire after the member `subscription`: a comma, all other members and the closing brace. They are
    /// the same members as in `EventView`; an encoder would take thirty times as long, for thousands of events a second.
    package var wireMembers: [UInt8] {
        let room =
            Self.namesRoom + 4 * JSONCursor.roomOfNumber + JSONCursor.room(of: session.identifier)
            + payload.object.count
        return [UInt8](unsafeUninitializedCapacity: room) { space, count in
            var text = JSONCursor(space)
            if let sequence {
                text.write(",\"sequence\":")
                text.write(sequence.rawValue)
            }
            text.write(",\"time\":")
            text.write(quoting: time)
            text.write(",\"type\":")
            text.write(quoting: type.rawValue)
            text.write(",\"session\":")
            text.write(quoting: session.identifier)
            text.write(",\"owner\":")
            text.write(Int64(session.owner.rawValue))
            if let task {
                text.write(",\"task\":")
                text.write(task.rawValue)
            }
            if payload.isEmpty {
                text.write("}")
            } else {
                text.write(",")
                text.write(payload.object.dropFirst())
            }
            count = text.count
        }
    }

    /// More than the names of the fixed members and an event's type need.
    private static let namesRoom = 128
}

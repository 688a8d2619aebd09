import TransferModel

/// Where a subscription or a page of events begins, exclusive.
public enum EventPosition: WireValue, Hashable {
    case start, now
    case after(SequenceNumber)

    public static let wireType = WireType.either([.sequence, .choice(["start", "now"])])

    public init(json node: JSONNode) throws(TransferError) {
        if let number = node.integerIfAny(Int64.self), number >= 0 {
            self = .after(SequenceNumber(number))
            return
        }
        switch node.stringIfAny {
        case "start": self = .start
        case "now": self = .now
        case .some, nil: throw node.refusal("use a sequence number, \"start\" or \"now\".")
        }
    }

    public func write(to text: inout JSONWriter) {
        switch self {
        case .start: text.string("start")
        case .now: text.string("now")
        case .after(let number): number.write(to: &text)
        }
    }
}

public struct Subscribe: WireObject, Hashable {
    public var after: EventPosition?
    public var subscriber: String?
    public var sessions: [String]?
    public var tasks: [TaskID]?
    public var types: [EventType]?
    public var progressInterval: Seconds?
    public var owner: OwnerScope?

    public init(
        after: EventPosition? = nil, subscriber: String? = nil, sessions: [String]? = nil, tasks: [TaskID]? = nil,
        types: [EventType]? = nil, progressInterval: Seconds? = nil, owner: OwnerScope? = nil
    ) {
        self.after = after
        self.subscriber = subscriber
        self.sessions = sessions
        self.tasks = tasks
        self.types = types
        self.progressInterval = progressInterval
        self.owner = owner
    }

    public static let shape = Shape("Subscribe", Self()) { row in
        row(
            "after", \.after, "Start after this event. Default: the last one `subscriber` acknowledged, else `now`."
        )
        row(
            "subscriber", \.subscriber,
            "Durable name, 1 to 255 bytes; its acknowledged number is kept. New names start at the head.")
        row("sessions", \.sessions, "Only events of these sessions.")
        row("tasks", \.tasks, "Only events of these tasks.")
        row("types", \.types, "Only these types; default: all.")
        row(
            "progressInterval", \.progressInterval,
            "Time between two progress events of a task, \(Bounds.words(Bounds.progressInterval)); 0 disables them. "
                + "Default: the setting of that name.")
        row.owner(\.owner)
    }
}

public struct Subscribed: WireObject, Hashable {
    public var subscription: String
    public var after: SequenceNumber?
    public var head: SequenceNumber

    public init(subscription: String, after: SequenceNumber?, head: SequenceNumber) {
        self.subscription = subscription
        self.after = after
        self.head = head
    }

    public static let shape = Shape("Subscription", Self(subscription: "", after: nil, head: .zero)) { row in
        row("subscription", \.subscription, "Its identifier, repeated in each of its `event` notifications.")
        row("after", \.after, "It starts after this event.")
        row("head", \.head, "Newest stored event when the subscription began; the replay ends there.")
    }
}

public struct Unsubscribe: WireObject, Hashable {
    public var subscription: String

    public init(subscription: String) { self.subscription = subscription }

    public static let shape = Shape("Unsubscribe", Self(subscription: "")) { row in
        row("subscription", \.subscription, "`subscription` of the result of events.subscribe.")
    }
}

public struct AcknowledgeEvents: WireObject, Hashable {
    public var subscriber: String
    public var sequence: SequenceNumber

    public init(subscriber: String, sequence: SequenceNumber) {
        self.subscriber = subscriber
        self.sequence = sequence
    }

    public static let shape = Shape("AcknowledgeEvents", Self(subscriber: "", sequence: .zero)) { row in
        row("subscriber", \.subscriber, "The durable name.")
        row("sequence", \.sequence, "The newest event to acknowledge; not beyond the head.")
    }
}

public struct ForgetSubscriber: WireObject, Hashable {
    public var subscriber: String

    public init(subscriber: String) { self.subscriber = subscriber }

    public static let shape = Shape("ForgetSubscriber", Self(subscriber: "")) { row in
        row("subscriber", \.subscriber, "The durable name.")
    }
}

public struct ListEvents: WireObject, Hashable {
    public static let defaultLimit = 100
    public static let largestLimit = 1000

    public var after: EventPosition
    public var sessions: [String]?
    public var tasks: [TaskID]?
    public var types: [EventType]?
    public var limit: Int?
    public var owner: OwnerScope?

    public init(
        after: EventPosition, sessions: [String]? = nil, tasks: [TaskID]? = nil, types: [EventType]? = nil,
        limit: Int? = nil, owner: OwnerScope? = nil
    ) {
        self.after = after
        self.sessions = sessions
        self.tasks = tasks
        self.types = types
        self.limit = limit
        self.owner = owner
    }

    public static let shape = Shape("ListEvents", Self(after: .start)) { row in
        row("after", \.after, "Start after this event.")
        row("sessions", \.sessions, "Only events of these sessions.")
        row("tasks", \.tasks, "Only events of these tasks.")
        row("types", \.types, "Only these types; default: all.")
        row(
            "limit", \.limit,
            "Events per page: 1 to \(largestLimit), default \(defaultLimit); a page ends at \(Bounds.pageBytes >> 20) MiB too."
        )
        row.owner(\.owner)
    }
}

public struct ListedEvents: WireObject, Hashable {
    public var events: [EventView]
    public var nextAfter: SequenceNumber?
    public var first: SequenceNumber?
    public var head: SequenceNumber

    public init(
        events: [EventView], nextAfter: SequenceNumber? = nil, first: SequenceNumber?, head: SequenceNumber
    ) {
        self.events = events
        self.nextAfter = nextAfter
        self.first = first
        self.head = head
    }

    public static let shape = Shape("EventPage", Self(events: [], first: nil, head: .zero)) { row in
        row("events", \.events, "Oldest first.")
        row("nextAfter", \.nextAfter, "Absent if the page reaches the end of the log; otherwise more may follow.")
        row("first", \.first, "From this number on, no event of the owner has been removed.")
        row("head", \.head, "Newest stored event; 0 = none yet.")
    }
}

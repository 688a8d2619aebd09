import TransferModel

/// Where a subscription or a page of events begins, exclusive.
public enum EventPosition: Hashable, Sendable, Codable {
    case start, now
    case after(SequenceNumber)

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self), number >= 0 {
            self = .after(SequenceNumber(number))
            return
        }
        switch try? container.decode(String.self) {
        case "start": self = .start
        case "now": self = .now
        case .some, nil:
            let path = fieldPath(decoder.codingPath)
            throw TransferError.bad(path, "use a sequence number, \"start\" or \"now\".")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .start: try container.encode("start")
        case .now: try container.encode("now")
        case .after(let number): try container.encode(number)
        }
    }

    static let wireType = WireType.either([.sequence, .choice(["start", "now"])])
}

/// Replays and follows events on this connection.
public enum Subscribe: RPCMethod {
    public static let name = "events.subscribe"
    public static let summary =
        """
        Replays stored events from a number on, then sends new ones, each once and without a gap, as `event` notifications. \
        Events of volatile sessions have no number: they are sent as they happen, to the connection that has the session.
        """
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .limitReached, .diskFull]

    public struct Parameters: WireObject, Hashable {
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case after, subscriber, sessions, tasks, types, progressInterval, owner
        }

        public static let wireName = "Subscribe"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .after:
                .optional(
                    EventPosition.wireType,
                    "Start after this event. Default: the last one `subscriber` acknowledged, else `now`.")
            case .subscriber:
                .optional(
                    .string,
                    "Durable name, 1 to 255 bytes; its acknowledged number is kept. New names start at the head.")
            case .sessions: .optional(.list(.string), "Only events of these sessions.")
            case .tasks: .optional(.list(.taskID), "Only events of these tasks.")
            case .types: .optional(.list(.oneOf(EventType.self)), "Only these types; default: all.")
            case .progressInterval:

                .optional(
                    .seconds,
                    "Time between two progress events of a task, \(Bounds.words(Bounds.progressInterval)); 0 disables them. "
                        + "Default: the setting of that name.")
            case .owner: OwnerScope.field
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var subscription: String
        public var after: SequenceNumber?
        public var head: SequenceNumber

        public init(subscription: String, after: SequenceNumber?, head: SequenceNumber) {
            self.subscription = subscription
            self.after = after
            self.head = head
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case subscription, after, head
        }

        public static let wireName = "Subscription"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .subscription: .required(.string, "Its identifier, repeated in each of its `event` notifications.")
            case .after: .optional(.sequence, "It starts after this event.")
            case .head: .required(.sequence, "Newest stored event when the subscription began; the replay ends there.")
            }
        }
    }
}

public enum Unsubscribe: RPCMethod {
    public typealias Result = Nothing
    public static let name = "events.unsubscribe"
    public static let summary = "Ends a subscription of this connection."
    public static let errors: [ErrorCode] = [.badField]

    public struct Parameters: WireObject, Hashable {
        public var subscription: String

        public init(subscription: String) { self.subscription = subscription }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case subscription
        }

        public static let wireName = "Unsubscribe"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .subscription: .required(.string, "`subscription` of the result of events.subscribe.")
            }
        }
    }
}

/// Notes that a durable name has seen everything up to a number.
public enum AcknowledgeEvents: RPCMethod {
    public typealias Result = Nothing
    public static let name = "events.ack"
    public static let summary =
        "Acknowledges every event up to this one for a durable subscriber. A new name becomes known; the number never decreases."
    public static let errors: [ErrorCode] = [.badField, .diskFull]

    public struct Parameters: WireObject, Hashable {
        public var subscriber: String
        public var sequence: SequenceNumber

        public init(subscriber: String, sequence: SequenceNumber) {
            self.subscriber = subscriber
            self.sequence = sequence
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case subscriber, sequence
        }

        public static let wireName = "AcknowledgeEvents"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .subscriber: .required(.string, "The durable name.")
            case .sequence: .required(.sequence, "The newest event to acknowledge; not beyond the head.")
            }
        }
    }
}

public enum ForgetSubscriber: RPCMethod {
    public typealias Result = Nothing
    public static let name = "events.forget"
    public static let summary = "Forgets a durable name and its acknowledged number."
    public static let errors: [ErrorCode] = [.badField]

    public struct Parameters: WireObject, Hashable {
        public var subscriber: String

        public init(subscriber: String) { self.subscriber = subscriber }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case subscriber
        }

        public static let wireName = "ForgetSubscriber"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .subscriber: .required(.string, "The durable name.")
            }
        }
    }
}

public enum ListEvents: RPCMethod {
    public static let name = "events.list"
    public static let summary =
        "Stored events page by page, oldest first; `nextAfter` of one page is `after` of the next."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied]

    public static let defaultLimit = 100
    public static let largestLimit = 1000

    public struct Parameters: WireObject, Hashable {
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case after, sessions, tasks, types, limit, owner
        }

        public static let wireName = "ListEvents"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .after: .required(EventPosition.wireType, "Start after this event.")
            case .sessions: .optional(.list(.string), "Only events of these sessions.")
            case .tasks: .optional(.list(.taskID), "Only events of these tasks.")
            case .types: .optional(.list(.oneOf(EventType.self)), "Only these types; default: all.")
            case .limit:
                .optional(
                    .integer,
                    "Events per page: 1 to \(largestLimit), default \(defaultLimit); a page ends at \(Bounds.pageBytes >> 20) MiB too."
                )
            case .owner: OwnerScope.field
            }
        }
    }

    public struct Result: WireObject, Hashable {
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case events, nextAfter, first, head
        }

        public static let wireName = "EventPage"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .events: .required(.list(.object(EventView.self)), "Oldest first.")
            case .nextAfter:
                .optional(.sequence, "Absent if the page reaches the end of the log; otherwise more may follow.")
            case .first: .optional(.sequence, "From this number on, no event of the owner has been removed.")
            case .head: .required(.sequence, "Newest stored event; 0 = none yet.")
            }
        }
    }
}

/// Identifies a task; unique for ever in one store, even after the task was removed.
public struct TaskID: RawRepresentable, WireValue, Hashable, Comparable, CustomStringConvertible {
    public static let wireType = WireType.taskID
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    public var description: String { String(rawValue) }
}

extension TaskID {
    /// Ids from here on belong to volatile tasks: no store on disk ever gives so many. Below 2^53, so JSON numbers hold
    /// them.
    public static let firstVolatile = TaskID(1_000_000_000_000_000)
    /// Whether the task lives only as long as a connection.
    public var isVolatile: Bool { self >= .firstVolatile }
}

/// The kernel's user id of a peer or of an object's owner.
public struct UserID: RawRepresentable, WireValue, Hashable, Comparable, CustomStringConvertible {
    public static let wireType = WireType.userID
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    public var description: String { String(rawValue) }
    public static let root = UserID(0)
}

/// Position of an event in the durable log: from 1, without gaps within one store.
public struct SequenceNumber: RawRepresentable, WireValue, Hashable, Comparable, CustomStringConvertible {
    public static let wireType = WireType.sequence
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    public var description: String { String(rawValue) }
    /// Before the first event: what `after: "start"` means.
    public static let zero = SequenceNumber(0)
}

/// A session is named by its owner and an identifier the owner chose.
public struct SessionKey: Hashable, Sendable, CustomStringConvertible {
    public var owner: UserID
    public var identifier: String
    public init(owner: UserID, identifier: String) {
        self.owner = owner
        self.identifier = identifier
    }
    public var description: String { "\(owner)/\(identifier)" }
    /// The session that always exists for every user.
    public static let sharedIdentifier = "shared"
    public static func shared(of owner: UserID) -> SessionKey {
        SessionKey(owner: owner, identifier: sharedIdentifier)
    }
}

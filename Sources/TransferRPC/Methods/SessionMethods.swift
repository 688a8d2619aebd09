import TransferModel

public struct OpenSession: WireObject, Hashable {
    public var id: String
    public var kind: SessionKind?
    public var configuration: SessionConfiguration?
    public var owner: UserID?

    public init(
        id: String, kind: SessionKind? = nil, configuration: SessionConfiguration? = nil, owner: UserID? = nil
    ) {
        self.id = id
        self.kind = kind
        self.configuration = configuration
        self.owner = owner
    }

    public static let shape = Shape("OpenSession", Self(id: "")) { row in
        row("id", \.id, "Identifier among the owner's sessions: 1 to 255 bytes, no control characters.")
        row(
            "kind", \.kind,
            "Kind of a new session: `background`, the default, is durable; `default` and `ephemeral` are volatile.")
        row("configuration", \.configuration, "Defaults for its tasks.")
        row("owner", \.owner, "Owner of the session, for administrators; default: the peer.")
    }
}

/// Names one session: the parameters of methods that need nothing else.
public struct SessionReference: WireObject, Hashable {
    public var id: String
    public var owner: UserID?

    public init(id: String, owner: UserID? = nil) {
        self.id = id
        self.owner = owner
    }

    public static let shape = Shape("SessionReference", Self(id: "")) { row in
        row("id", \.id, "Identifier of the session.")
        row("owner", \.owner, "Owner of the session, for administrators; default: the peer.")
    }
}

public struct ListSessions: WireObject, Hashable {
    public static let largestLimit = 1000

    public var cursor: String?
    public var limit: Int?
    public var owner: OwnerScope?

    public init(cursor: String? = nil, limit: Int? = nil, owner: OwnerScope? = nil) {
        self.cursor = cursor
        self.limit = limit
        self.owner = owner
    }

    public static let shape = Shape("ListSessions", Self()) { row in
        row("cursor", \.cursor, "`nextCursor` of the page before, with the same owner.")
        row(
            "limit", \.limit,
            "Sessions per page: 1 to \(largestLimit), the default; a page ends at \(Bounds.pageBytes >> 20) MiB too."
        )
        row.owner(\.owner)
    }
}

public struct ListedSessions: WireObject, Hashable {
    public var sessions: [SessionView]
    public var nextCursor: String?

    public init(sessions: [SessionView], nextCursor: String? = nil) {
        self.sessions = sessions
        self.nextCursor = nextCursor
    }

    public static let shape = Shape("Sessions", Self(sessions: [])) { row in
        row(
            "sessions", \.sessions,
            "Ordered by owner and identifier; the volatile sessions of the connection come last.")
        row("nextCursor", \.nextCursor, "Absent on the last page.")
    }
}

import TransferModel

/// Opens a session, or attaches to it if it exists.
public enum OpenSession: RPCMethod {
    public typealias Result = SessionView
    public static let name = "session.open"
    public static let summary =
        """
        Creates a session, or attaches to the one of that name. `configuration` changes the members it names; null unsets \
        one. The name of an invalidated session is free: it opens a new session with a new configuration. A volatile \
        session is bound to the connection that opens it, and ends with it. In others' sessions, administrators change \
        only limits, times, the schedule, `retry` and which networks are used.
        """
    public static let errors: [ErrorCode] = [
        .badField, .unsupported, .permissionDenied, .sourceUnreadable, .destinationBadPath, .destinationNotWritable,
        .diskFull, .limitReached, .sessionInUse,
    ]

    public struct Parameters: WireObject, Hashable {
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

public enum GetSession: RPCMethod {
    public typealias Parameters = SessionReference
    public typealias Result = SessionView
    public static let name = "session.get"
    public static let summary = "One session with its configuration, state, task counts and unacknowledged events."
    public static let errors: [ErrorCode] = [.sessionNotFound, .sessionInUse, .permissionDenied]
}

public enum ListSessions: RPCMethod {
    public static let name = "session.list"
    public static let summary =
        "Durable sessions of the peer, or of the owner that an administrator names, page by page; `nextCursor` of one page is `cursor` of the next."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied]

    public static let largestLimit = 1000

    public struct Parameters: WireObject, Hashable {
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

    public struct Result: WireObject, Hashable {
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
}

public enum FinishSession: RPCMethod {
    public typealias Parameters = SessionReference
    public typealias Result = SessionView
    public static let name = "session.finish"
    public static let summary = "Lets the session accept no more tasks, and invalidates it when the last one has ended."
    public static let errors: [ErrorCode] = [.sessionNotFound, .sessionInUse, .permissionDenied, .badField]
}

public enum PauseSession: RPCMethod {
    public typealias Parameters = SessionReference
    public typealias Result = SessionView
    public static let name = "session.pause"
    public static let summary =
        """
        Runs none of the session's tasks until session.resume, including tasks added later. Running tasks are queued again \
        and keep their bytes; no other state changes. `timeoutIntervalForResource` stops counting, `deadlineAt` does not. The \
        pause survives restarts.
        """
    public static let errors: [ErrorCode] = [
        .sessionNotFound, .sessionInvalidated, .sessionInUse, .permissionDenied, .diskIO,
    ]
}

public enum ResumeSession: RPCMethod {
    public typealias Parameters = SessionReference
    public typealias Result = SessionView
    public static let name = "session.resume"
    public static let summary = "Lets the tasks of a paused session run; tasks that were paused one by one stay paused."
    public static let errors: [ErrorCode] = [.sessionNotFound, .sessionInvalidated, .sessionInUse, .permissionDenied]
}

public enum InvalidateSession: RPCMethod {
    public typealias Parameters = SessionReference
    public typealias Result = SessionView
    public static let name = "session.invalidate"
    public static let summary = "Cancels the session's tasks and invalidates it."
    public static let errors: [ErrorCode] = [.sessionNotFound, .sessionInUse, .permissionDenied, .badField]
}

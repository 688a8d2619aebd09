import TransferModel

/// Names one task: the parameters of methods that need nothing else.
public struct TaskReference: WireObject, Hashable {
    public var id: TaskID

    public init(id: TaskID) { self.id = id }

    public static let shape = Shape("TaskReference", Self(id: TaskID(0))) { row in
        row("id", \.id, "The task.")
    }
}

public struct GetTask: WireObject, Hashable {
    public var id: TaskID
    public var secrets: Bool?

    public init(id: TaskID, secrets: Bool? = nil) {
        self.id = id
        self.secrets = secrets
    }

    public static let shape = Shape("GetTask", Self(id: TaskID(0))) { row in
        row("id", \.id, "The task.")
        row(
            "secrets", \.secrets,
            "True: nothing is masked, and only `pieces.values` and bodies of more than 1 MiB are left out. The view then has credentials, the URL with user info and query, all headers with repeats in order, and both bodies. Refused for another user's task, even to administrators."
        )
    }
}

/// The order of a listing.
public enum ListOrder: String, Word {
    case oldest, newest, queue, finished, activity
}

public struct ListTasks: WireObject, Hashable {
    public static let defaultLimit = 100
    public static let largestLimit = 1000
    /// Most ids or client tokens that one call names.
    public static let largestSelection = 1000

    public var session: String?
    public var states: [TaskState]?
    public var kinds: [TaskKind]?
    public var ids: [TaskID]?
    public var range: TaskRange?
    public var tags: [String]?
    public var clientTokens: [String]?
    public var match: String?
    public var order: ListOrder?
    public var cursor: String?
    public var offset: Int?
    public var limit: Int?
    public var total: Bool?
    public var owner: OwnerScope?

    public init(
        session: String? = nil, states: [TaskState]? = nil, kinds: [TaskKind]? = nil, ids: [TaskID]? = nil,
        range: TaskRange? = nil, tags: [String]? = nil, clientTokens: [String]? = nil, match: String? = nil,
        order: ListOrder? = nil, cursor: String? = nil, offset: Int? = nil, limit: Int? = nil, total: Bool? = nil,
        owner: OwnerScope? = nil
    ) {
        self.session = session
        self.states = states
        self.kinds = kinds
        self.ids = ids
        self.range = range
        self.tags = tags
        self.clientTokens = clientTokens
        self.match = match
        self.order = order
        self.cursor = cursor
        self.offset = offset
        self.limit = limit
        self.total = total
        self.owner = owner
    }

    public static let shape = Shape("ListTasks", Self()) { row in
        row("session", \.session, "Only tasks of this session.")
        row("states", \.states, "Only tasks in these states.")
        row("kinds", \.kinds, "Only tasks of these kinds.")
        row("ids", \.ids, "Only these tasks, up to \(largestSelection); missing ones are left out.")
        row("idRange", \.range, "Only tasks with ids in this range.", was: "range")
        row("tags", \.tags, "Only tasks that have all of these tags, up to \(Bounds.tags).")
        row(
            "clientTokens", \.clientTokens,
            "Only tasks that were added with one of these tokens, up to \(largestSelection), however long ago.")
        row(
            "match", \.match,
            "Only tasks whose URL, description or file (delivered, or named by the destination) contains this text. A page searches some thousand tasks: it may be short or empty and still have a `nextCursor`."
        )
        row(
            "order", \.order,
            "`oldest` (default) and `newest` sort by time added, `queue` by turn, then tasks that have ended, latest end first; `finished` by the latest end. `activity`: running tasks, then waiting and queued ones by turn, then paused ones, then ended ones, latest end first. `ids`, `tags` and `clientTokens` allow only the first two."
        )
        row("cursor", \.cursor, "`nextCursor` of the page before; all other parameters must be the same.")
        row(
            "offset", \.offset,
            "Tasks to skip before the page, instead of `cursor`; a page behind the end is empty. `nextCursor` then goes on without it."
        )
        row(
            "limit", \.limit,
            "Tasks per page: 1 to \(largestLimit), default \(defaultLimit); a page ends at \(Bounds.pageBytes >> 20) MiB too, but not before its first task."
        )
        row(
            "total", \.total,
            "True: `total` is counted whatever selects the tasks, which may take a while with `match`.")
        row.owner(\.owner)
    }
}

public struct ListedTasks: WireObject, Hashable {
    public var tasks: [TaskView]
    public var total: Int?
    public var nextCursor: String?

    public init(tasks: [TaskView], total: Int? = nil, nextCursor: String? = nil) {
        self.tasks = tasks
        self.total = total
        self.nextCursor = nextCursor
    }

    public static let shape = Shape("TaskPage", Self(tasks: [])) { row in
        row("tasks", \.tasks, "One page.")
        row(
            "total", \.total,
            "Number of tasks on all pages. Only if asked for with `ids`, `idRange`, `clientTokens`, `tags`, `match` or `kinds`."
        )
        row("nextCursor", \.nextCursor, "Absent on the last page.")
    }
}

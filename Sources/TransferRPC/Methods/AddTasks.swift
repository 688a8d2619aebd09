import TransferModel

public struct AddTasks: WireObject, Hashable {
    public var session: String?
    public var tasks: [TaskSpec]

    public init(session: String? = nil, tasks: [TaskSpec]) {
        self.session = session
        self.tasks = tasks
    }

    public static let shape = Shape("AddTasks", Self(tasks: [])) { row in
        row("session", \.session, "One of the peer's sessions; default: `shared`.")
        row("tasks", \.tasks, "1 to \(Bounds.tasks).")
    }

    /// - Throws: `request.too_large` before memory is spent on too many tasks.
    public init(json node: JSONNode) throws(TransferError) {
        if let tasks = node.member("tasks"), tasks.count > Bounds.tasks {
            throw tasks.refusal("at most \(Bounds.tasks) in one call; add the rest with another.", .tooLarge)
        }
        self = try Self.shape.read(node)
    }
}

public struct AddedTask: WireObject, Hashable {
    public var id: TaskID
    public var state: TaskState
    public var existing: Bool?
    public var removed: Bool?
    public var duplicateOf: TaskID?

    public init(
        id: TaskID, state: TaskState, existing: Bool? = nil, removed: Bool? = nil, duplicateOf: TaskID? = nil
    ) {
        self.id = id
        self.state = state
        self.existing = existing
        self.removed = removed
        self.duplicateOf = duplicateOf
    }

    public static let shape = Shape("AddedTask", Self(id: TaskID(0), state: .queued)) { row in
        row("id", \.id, "The new task, or the task that its `clientToken` added before.")
        row(
            "state", \.state,
            "Its state: `completed` if the [cache](cache.md) had the answer; for a removed task, its final state.")
        row("existing", \.existing, "True: its `clientToken` added it before; nothing was added now.")
        row("removed", \.removed, "True: it has been removed since; its token is still remembered for 24 h.")
        row(
            "duplicateOf", \.duplicateOf,
            "An unfinished download of the same URL in the session. The new task is added nevertheless; task.cancel "
                + "drops it. Not every earlier task is found: not those of calls with more than 100 unordered URLs, "
                + "nor those with a URL of more than 2048 bytes.")
    }
}

public struct AddedTasks: WireObject, Hashable {
    public var tasks: [AddedTask]

    public init(tasks: [AddedTask]) { self.tasks = tasks }

    public static let shape = Shape("AddedTasks", Self(tasks: [])) { row in
        row("tasks", \.tasks, "In the order of the request.")
    }
}

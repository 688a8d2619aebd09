import TransferModel

/// The tasks that a control method is for: exactly one of `ids`, `idRange`, `session` and `all`, narrowed by `states`.
public struct ControlSelection: WireObject, Hashable {
    public var ids: [TaskID]?
    public var range: TaskRange?
    public var session: String?
    public var all: Bool?
    public var states: [TaskState]?
    public var owner: OwnerScope?

    public init(
        ids: [TaskID]? = nil, range: TaskRange? = nil, session: String? = nil, all: Bool? = nil,
        states: [TaskState]? = nil, owner: OwnerScope? = nil
    ) {
        self.ids = ids
        self.range = range
        self.session = session
        self.all = all
        self.states = states
        self.owner = owner
    }

    public static let shape = Shape("ControlSelection", Self()) { row in
        row("ids", \.ids, "These tasks, up to \(Bounds.ids).")
        row(
            "idRange", \.range, "All tasks with ids in this range, volatile ones of this connection too.", was: "range")
        row("session", \.session, "All tasks of this session.")
        row("all", \.all, "True: all tasks, volatile ones of this connection too.")
        row("states", \.states, "Restricts the selected tasks to these states.")
        row.owner(\.owner)
    }
}

/// What a control method did.
public struct ControlResult: WireObject, Hashable {
    public struct Skipped: WireObject, Hashable {
        public var id: TaskID
        public var code: ErrorCode

        public init(id: TaskID, code: ErrorCode) {
            self.id = id
            self.code = code
        }

        public static let shape = Shape("SkippedTask", Self(id: TaskID(0), code: .internal)) { row in
            row("id", \.id, "The task.")
            row(
                "code", \.code,
                "The cause: `task.not_found`, `task.wrong_state`, `session.invalidated` or `limit.reached`; with "
                    + "`sourceChanged` also an error of the file.", as: .string)
        }
    }

    public struct Warning: WireObject, Hashable {
        public var id: TaskID
        public var message: String

        public init(id: TaskID, message: String) {
            self.id = id
            self.message = message
        }

        public static let shape = Shape("TaskWarning", Self(id: TaskID(0), message: "")) { row in
            row("id", \.id, "The task; it is one of `changed`.")
            row("message", \.message, "A sentence for people.")
        }
    }

    public var changed: [TaskID]
    public var skipped: [Skipped]
    public var files: [RemovedFile]?
    public var warnings: [Warning]?

    public init(
        changed: [TaskID] = [], skipped: [Skipped] = [], files: [RemovedFile]? = nil, warnings: [Warning]? = nil
    ) {
        self.changed = changed
        self.skipped = skipped
        self.files = files
        self.warnings = warnings
    }

    public static let shape = Shape("ControlResult", Self()) { row in
        row("changed", \.changed, "Tasks that are now in the requested state.")
        row("skipped", \.skipped, "Tasks that were not changed, with the reason.")
        row("files", \.files, "`task.remove` with `deleteFile`: the fate of each delivered file.")
        row("warnings", \.warnings, "What the change costs: `task.pause` names running transfers that cannot resume.")
    }
}

public struct RetryTasks: WireObject, Hashable {
    public var selection: ControlSelection
    public var sourceChanged: Bool?

    public init(_ selection: ControlSelection, sourceChanged: Bool? = nil) {
        self.selection = selection
        self.sourceChanged = sourceChanged
    }

    public static let shape = Shape("RetryTasks", Self(ControlSelection())) { row in
        row(membersOf: \.selection, ControlSelection.shape)
        row(
            "sourceChanged", \.sourceChanged,
            "True: sends the source as it is now. If it has changed since it was added, the upload starts over and the "
                + "old one is ended at the server; in an S3 upload the parts are replaced.")
    }
}

public struct CancelTasks: WireObject, Hashable {
    public var selection: ControlSelection
    public var keepPartial: Bool?

    public init(_ selection: ControlSelection, keepPartial: Bool? = nil) {
        self.selection = selection
        self.keepPartial = keepPartial
    }

    public static let shape = Shape("CancelTasks", Self(ControlSelection())) { row in
        row(membersOf: \.selection, ControlSelection.shape)
        row("keepPartial", \.keepPartial, "True: keeps the part file.")
    }
}

public struct RemoveTasks: WireObject, Hashable {
    public var selection: ControlSelection
    public var deleteFile: Bool?

    public init(_ selection: ControlSelection, deleteFile: Bool? = nil) {
        self.selection = selection
        self.deleteFile = deleteFile
    }

    public static let shape = Shape("RemoveTasks", Self(ControlSelection())) { row in
        row(membersOf: \.selection, ControlSelection.shape)
        row(
            "deleteFile", \.deleteFile,
            "True: removes the delivered file too, if it was neither replaced nor changed.")
    }
}

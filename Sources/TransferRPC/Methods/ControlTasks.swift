import TransferModel

/// The tasks that a control method is for: exactly one of `ids`, `range`, `session` and `all`, narrowed by `states`.
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case ids, range, session, all, states, owner
    }

    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .ids: .optional(.list(.taskID), "These tasks, up to \(Bounds.ids).")
        case .range:
            .optional(
                .object(TaskRange.self), "All tasks with ids in this range, volatile ones of this connection too.")
        case .session: .optional(.string, "All tasks of this session.")
        case .all: .optional(.boolean, "True: all tasks, volatile ones of this connection too.")
        case .states:
            .optional(.list(.oneOf(TaskState.self)), "Restricts the selected tasks to these states.")
        case .owner: OwnerScope.field
        }
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, code
        }

        public static let wireName = "SkippedTask"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The task.")
            case .code:
                .required(
                    .string,
                    "The cause: `task.not_found`, `task.wrong_state`, `session.invalidated` or `limit.reached`; with "
                        + "`sourceChanged` also an error of the file.")
            }
        }
    }

    public struct Warning: WireObject, Hashable {
        public var id: TaskID
        public var message: String

        public init(id: TaskID, message: String) {
            self.id = id
            self.message = message
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, message
        }

        public static let wireName = "TaskWarning"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The task; it is one of `changed`.")
            case .message: .required(.string, "A sentence for people.")
            }
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case changed, skipped, files, warnings
    }

    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .changed: .required(.list(.taskID), "Tasks that are now in the requested state.")
        case .skipped: .required(.list(.object(Skipped.self)), "Tasks that were not changed, with the reason.")
        case .warnings:
            .optional(
                .list(.object(Warning.self)),
                "What the change costs: `task.pause` names running transfers that cannot resume.")
        case .files:
            .optional(
                .list(.object(RemovedFile.self)),
                "`task.remove` with `deleteFile`: the fate of each delivered file.")
        }
    }
}

/// What happened to the file of a removed task.
public struct RemovedFile: WireObject, Hashable {
    public enum Fate: String, Codable, Sendable, Hashable, CaseIterable {
        case deleted, kept, absent
    }

    public var id: TaskID
    public var fate: Fate
    public var reason: String?

    public init(id: TaskID, fate: Fate, reason: String? = nil) {
        self.id = id
        self.fate = fate
        self.reason = reason
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case id, fate, reason
    }

    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .id: .required(.taskID, "The task.")
        case .fate:
            .required(
                .oneOf(Fate.self),
                "`deleted`; `kept`: it is not the file that the task delivered; `absent`: it was already gone.")
        case .reason: .optional(.string, "Why the file was kept.")
        }
    }
}

public enum PauseTasks: RPCMethod {
    public typealias Parameters = ControlSelection
    public typealias Result = ControlResult
    public static let name = "task.pause"
    public static let summary = "Pauses tasks until task.resume: no traffic and no timeouts."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]
}

public enum ResumeTasks: RPCMethod {
    public typealias Parameters = ControlSelection
    public typealias Result = ControlResult
    public static let name = "task.resume"
    public static let summary = "Queues paused tasks again; they resume from the bytes they hold."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]
}

public enum RetryTasks: RPCMethod {
    public typealias Result = ControlResult
    public static let name = "task.retry"
    public static let summary = "Queues failed, cancelled and waiting tasks at once."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var selection: ControlSelection
        /// True: an upload may send its source even if it has changed.
        public var sourceChanged: Bool?

        public init(_ selection: ControlSelection, sourceChanged: Bool? = nil) {
            self.selection = selection
            self.sourceChanged = sourceChanged
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case ids, range, session, all, states, owner, sourceChanged
        }

        public static let wireName = "RetryTasks"
        public static func field(_ key: CodingKeys) -> Field {
            ControlSelection.CodingKeys(rawValue: key.rawValue).map(ControlSelection.field)
                ?? .optional(
                    .boolean,
                    "True: sends the source as it is now. If it has changed since it was added, the upload starts over and the "
                        + "old one is ended at the server; in an S3 upload the parts are replaced."
                )
        }

        public init(from decoder: any Decoder) throws {
            selection = try ControlSelection(from: decoder)
            sourceChanged = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
                Bool.self, forKey: .sourceChanged)
        }

        public func encode(to encoder: any Encoder) throws {
            try selection.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(sourceChanged, forKey: .sourceChanged)
        }
    }
}

public enum CancelTasks: RPCMethod {
    public typealias Result = ControlResult
    public static let name = "task.cancel"
    public static let summary = "Cancels tasks and removes the bytes received so far, unless `keepPartial` is set."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var selection: ControlSelection
        public var keepPartial: Bool?

        public init(_ selection: ControlSelection, keepPartial: Bool? = nil) {
            self.selection = selection
            self.keepPartial = keepPartial
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case ids, range, session, all, states, owner, keepPartial
        }

        public static let wireName = "CancelTasks"
        public static func field(_ key: CodingKeys) -> Field {
            ControlSelection.CodingKeys(rawValue: key.rawValue).map(ControlSelection.field)
                ?? .optional(.boolean, "True: keeps the part file.")
        }

        public init(from decoder: any Decoder) throws {
            selection = try ControlSelection(from: decoder)
            keepPartial = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
                Bool.self, forKey: .keepPartial)
        }

        public func encode(to encoder: any Encoder) throws {
            try selection.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(keepPartial, forKey: .keepPartial)
        }
    }
}

public enum RemoveTasks: RPCMethod {
    public typealias Result = ControlResult
    public static let name = "task.remove"
    public static let summary =
        """
        Removes ended tasks from the history; cancel other tasks first. A kept part file is removed too: resume data of the \
        task is then useless, unless another task was added with it.
        """
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionNotFound, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var selection: ControlSelection
        /// True: deletes the delivered file too, unless it was replaced or changed.
        public var deleteFile: Bool?

        public init(_ selection: ControlSelection, deleteFile: Bool? = nil) {
            self.selection = selection
            self.deleteFile = deleteFile
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case ids, range, session, all, states, owner, deleteFile
        }

        public static let wireName = "RemoveTasks"
        public static func field(_ key: CodingKeys) -> Field {
            ControlSelection.CodingKeys(rawValue: key.rawValue).map(ControlSelection.field)
                ?? .optional(
                    .boolean,
                    "True: removes the delivered file too, if it was neither replaced nor changed."
                )
        }

        public init(from decoder: any Decoder) throws {
            selection = try ControlSelection(from: decoder)
            deleteFile = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Bool.self, forKey: .deleteFile)
        }

        public func encode(to encoder: any Encoder) throws {
            try selection.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(deleteFile, forKey: .deleteFile)
        }
    }
}

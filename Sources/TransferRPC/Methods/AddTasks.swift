import TransferModel

/// Queues tasks, all or none.
public enum AddTasks: RPCMethod {
    public static let name = "task.add"
    public static let summary =
        """
        Queues tasks in one transaction, all or none. Once the call has returned, they survive a crash and a power loss, \
        unless their session is volatile: only its connection sees such tasks, and they end with it.
        """
    public static let errors: [ErrorCode] = [
        .badURL, .badField, .unsupported, .tooLarge, .sessionNotFound, .sessionInvalidated, .sessionInUse,
        .permissionDenied,
        .destinationBadPath, .destinationNotWritable, .sourceUnreadable, .diskFull, .limitReached, .tokenReused,
    ]

    public struct Parameters: WireObject, Hashable {
        /// Identifier of one of the peer's sessions; nil means `shared`.
        public var session: String?
        public var tasks: [TaskSpec]

        public init(session: String? = nil, tasks: [TaskSpec]) {
            self.session = session
            self.tasks = tasks
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session, tasks
        }

        /// - Throws: `request.too_large` before memory is spent on too many tasks.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            session = try container.decodeIfPresent(String.self, forKey: .session)
            guard var list = try? container.nestedUnkeyedContainer(forKey: .tasks), let count = list.count else {
                tasks = try container.decode([TaskSpec].self, forKey: .tasks)
                return
            }
            guard count <= Bounds.tasks else {
                throw TransferError.bad(
                    "tasks", "at most \(Bounds.tasks) in one call; add the rest with another.", .tooLarge)
            }
            tasks = []
            tasks.reserveCapacity(count)
            while !list.isAtEnd { tasks.append(try list.decode(TaskSpec.self)) }
        }

        public static let wireName = "AddTasks"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, "One of the peer's sessions; default: `shared`.")
            case .tasks: .required(.list(.object(TaskSpec.self)), "1 to \(Bounds.tasks).")
            }
        }
    }

    public struct Added: WireObject, Hashable {
        public var id: TaskID
        public var state: TaskState
        /// True or nil.
        public var existing: Bool?
        /// True or nil.
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, state, existing, removed, duplicateOf
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = FieldWriter(encoder, CodingKeys.self)
            try fields.write(id, .id)
            try fields.write(state, .state)
            try fields.write(existing, .existing)
            try fields.write(removed, .removed)
            try fields.write(duplicateOf, .duplicateOf)
        }

        public static let wireName = "AddedTask"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The new task, or the task that its `clientToken` added before.")
            case .state:
                .required(
                    .oneOf(TaskState.self),
                    "Its state: `completed` if the [cache](cache.md) had the answer; for a removed task, its final state."
                )
            case .existing: .optional(.boolean, "True: its `clientToken` added it before; nothing was added now.")
            case .removed:
                .optional(.boolean, "True: it has been removed since; its token is still remembered for 24 h.")
            case .duplicateOf:
                .optional(
                    .taskID,
                    "An unfinished download of the same URL in the session. The new task is added nevertheless; task.cancel "
                        + "drops it. Not every earlier task is found: not those of calls with more than 100 unordered URLs, "
                        + "nor those with a URL of more than 2048 bytes.")
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var tasks: [Added]

        public init(tasks: [Added]) { self.tasks = tasks }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case tasks
        }

        public static let wireName = "AddedTasks"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .tasks: .required(.list(.object(Added.self)), "In the order of the request.")
            }
        }
    }
}

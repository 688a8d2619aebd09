import TransferModel

/// Queues tasks, all or none.
public enum AddTasks: RPCMethod {
    public static let name = "task.add"
    public static let summary =
        "Queues tasks in one transaction, all or none; when it has answered they survive a crash and a power loss."
    public static let errors: [ErrorCode] = [
        .badURL, .badField, .unsupported, .tooLarge, .sessionNotFound, .sessionInvalidated, .permissionDenied,
        .destinationBadPath, .destinationNotWritable, .destinationExists, .sourceUnreadable, .plaintextRefused,
        .diskFull, .limitReached,
    ]

    public struct Parameters: WireObject, Hashable {
        /// Identifier of one of the peer's sessions; `shared` without it.
        public var session: String?
        public var tasks: [TaskSpec]

        public init(session: String? = nil, tasks: [TaskSpec]) {
            self.session = session
            self.tasks = tasks
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session, tasks
        }

        public static let wireName = "AddTasks"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, "One of the peer's sessions; `shared` without it.")
            case .tasks: .required(.list(.object(TaskSpec.self)), "At least one.")
            }
        }
    }

    public struct Added: WireObject, Hashable {
        public var id: TaskID
        public var state: TaskState

        public init(id: TaskID, state: TaskState) {
            self.id = id
            self.state = state
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, state
        }

        public static let wireName = "AddedTask"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The new task, or the one its `clientToken` made before.")
            case .state: .required(.oneOf(TaskState.self), "Its state.")
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

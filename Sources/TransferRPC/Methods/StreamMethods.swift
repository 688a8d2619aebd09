import TransferModel

/// Lets the daemon send more bytes of a streamed body.
public enum GiveCredit: RPCMethod {
    public static let name = "task.credit"
    public static let summary =
        "Allows this many more bytes of the body of a task with `stream` to be sent, as [`task.data`](#streams) notifications. You may give credit as soon as the task is added, and amounts add up. Without credit, none of the body is read."
    public static let errors: [ErrorCode] = [.taskNotFound]

    public struct Parameters: WireObject, Hashable {
        public var id: TaskID
        public var bytes: Int64

        public init(id: TaskID, bytes: Int64) {
            self.id = id
            self.bytes = bytes
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, bytes
        }

        public static let wireName = "GiveCredit"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "A task of a volatile session of this connection.")
            case .bytes:
                .required(
                    .byteCount,
                    "Bytes of the body, 1 or more, before base64. The sum is limited to 2^63 - 1.")
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var credit: Int64

        public init(credit: Int64) { self.credit = credit }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case credit
        }

        public static let wireName = "Credit"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .credit:
                .required(.byteCount, "Bytes that may still be sent; meaningless if the task has ended.")
            }
        }
    }
}

/// The parameters of a `task.data` notification: a piece of a body.
public struct TaskData: WireObject, Hashable {
    public var task: TaskID
    public var offset: Int64
    public var base64: String

    public init(task: TaskID, offset: Int64, base64: String) {
        self.task = task
        self.offset = offset
        self.base64 = base64
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case task, offset, base64
    }

    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .task: .required(.taskID, "The task.")
        case .offset:
            .required(.byteCount, "Offset of its first byte in the body, which is the end of the previous piece.")
        case .base64:
            .required(
                .string, "The piece, in base64 with padding: 1 to \(Bounds.streamPiece) bytes, content codings undone.")
        }
    }
}

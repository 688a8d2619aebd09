import TransferModel

public struct GiveCredit: WireObject, Hashable {
    public var id: TaskID
    public var bytes: Int64

    public init(id: TaskID, bytes: Int64) {
        self.id = id
        self.bytes = bytes
    }

    public static let shape = Shape("GiveCredit", Self(id: TaskID(0), bytes: 0)) { row in
        row("id", \.id, "A task of a volatile session of this connection.")
        row(
            "bytes", \.bytes, "Bytes of the body, 1 or more, before base64. The sum is limited to 2^63 - 1.",
            as: .byteCount)
    }
}

public struct Credit: WireObject, Hashable {
    public var credit: Int64

    public init(credit: Int64) { self.credit = credit }

    public static let shape = Shape("Credit", Self(credit: 0)) { row in
        row("credit", \.credit, "Bytes that may still be sent; meaningless if the task has ended.", as: .byteCount)
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

    public static let shape = Shape("TaskData", Self(task: TaskID(0), offset: 0, base64: "")) { row in
        row("task", \.task, "The task.")
        row(
            "offset", \.offset, "Offset of its first byte in the body, which is the end of the previous piece.",
            as: .byteCount)
        row(
            "base64", \.base64,
            "The piece, in base64 with padding: 1 to \(Bounds.streamPiece) bytes, content codings undone.")
    }
}

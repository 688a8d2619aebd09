import TransferModel

/// Tasks from one id to another, both included; ids in between need not be the peer's tasks.
public struct TaskRange: WireObject, Hashable {
    public var first: TaskID
    public var last: TaskID

    public init(_ range: ClosedRange<TaskID>) {
        first = range.lowerBound
        last = range.upperBound
    }

    public static let shape = Shape("TaskRange", Self(TaskID(0)...TaskID(0))) { row in
        row("first", \.first, "The smallest id.")
        row("last", \.last, "The largest id, not below `first`; such a task need not exist.")
    }

    public init(json node: JSONNode) throws(TransferError) {
        self = try Self.shape.read(node)
        guard first <= last else { throw node.refusal("not below `first`.", member: "last") }
    }

    package var range: ClosedRange<TaskID> { first...last }
}

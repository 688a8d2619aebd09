import TransferModel

/// Tasks from one id to another, both included; ids in between need not be the peer's tasks.
public struct TaskRange: WireObject, Hashable {
    public var first: TaskID
    public var last: TaskID

    public init(_ range: ClosedRange<TaskID>) {
        first = range.lowerBound
        last = range.upperBound
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case first, last
    }

    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .first: .required(.taskID, "The smallest id.")
        case .last: .required(.taskID, "The largest id, not below `first`; such a task need not exist.")
        }
    }

    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, CodingKeys.self)
        first = try fields.required(.first)
        last = try fields.required(.last)
        guard first <= last else {
            let path = fieldPath(decoder.codingPath + [CodingKeys.last])
            throw TransferError.bad(path, "not below `first`.")
        }
    }

    package var range: ClosedRange<TaskID> { first...last }
}

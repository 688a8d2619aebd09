import TransferModel

/// Changes a task where it stands.
public enum UpdateTask: RPCMethod {
    public typealias Result = TaskView
    public static let name = "task.update"
    public static let summary =
        """
        Changes a task. After a new URL or new headers a part-done task keeps its bytes only if the new place proves \
        to hold the same version.
        """
    public static let errors: [ErrorCode] = [.taskNotFound, .taskWrongState, .badField, .badURL, .plaintextRefused]

    public struct Parameters: WireObject, Hashable {
        public var id: TaskID
        public var priority: TaskPriority?
        public var rateLimit: ByteRate?
        public var url: String?
        public var headers: [HeaderField]?
        public var description: String?
        public var earliestBeginAt: Timestamp?
        public var position: QueuePosition?

        public init(id: TaskID) { self.id = id }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, priority, rateLimit, url, headers, description, earliestBeginAt, position
        }

        public static let wireName = "UpdateTask"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The task.")
            case .priority: .optional(TaskPriority.wireType, TaskSpec.field(.priority).text)
            case .rateLimit: .optional(.byteRate, "Of this task; takes effect while it runs.")
            case .url: .optional(.string, "Another place of the same resource.")
            case .headers: .optional(HeaderField.wireType, "Replace those the task had.")
            case .description: .optional(.string, "Free text.")
            case .earliestBeginAt: .optional(.time, "Not before; a time in the past means now.")
            case .position:
                .optional(
                    .either([.choice(["first", "last"]), .number]),
                    "Place among tasks of one priority; smaller numbers first.")
            }
        }
    }
}

/// A task's place among those of its priority.
public enum QueuePosition: Hashable, Sendable, Codable {
    case first, last
    case at(Double)

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Double.self), number.isFinite {
            self = .at(number)
            return
        }
        switch try? container.decode(String.self) {
        case "first": self = .first
        case "last": self = .last
        case .some, nil:
            let path = fieldPath(decoder.codingPath)
            throw TransferError(.badField, "\(path): say first, last or a number.", details: ["field": .string(path)])
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .first: try container.encode("first")
        case .last: try container.encode("last")
        case .at(let number): try container.encode(number)
        }
    }
}

/// Cancels a task into a blob that starts it again.
public enum TakeResumeData: RPCMethod {
    public typealias Parameters = TaskReference
    public static let name = "task.resumeData"
    public static let summary =
        "Cancels a task and answers with a self-contained blob that task.add takes back; it holds no bytes and no secrets."
    public static let errors: [ErrorCode] = [.taskNotFound, .taskWrongState]

    public struct Result: WireObject, Hashable {
        public var resumeData: String

        public init(resumeData: String) { self.resumeData = resumeData }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case resumeData
        }

        public static let wireName = "ResumeData"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .resumeData: .required(.string, "Base64.")
            }
        }
    }
}

import TransferModel

/// Changes a task that was added before.
public enum UpdateTask: RPCMethod {
    public typealias Result = TaskView
    public static let name = "task.update"
    public static let summary =
        """
        Changes a task. A failed or cancelled one can be changed too, and then restarted with `task.retry`; a completed one \
        only in `description`, `priority`, `rateLimit` and `position`. With a new URL, new S3 URLs, mirrors, headers, \
        credentials, proxy or checksum, a running or waiting task starts another attempt at once. It keeps its bytes if the \
        server proves that it has the same version. With a new destination its part file moves. Administrators change only \
        `priority`, `rateLimit`, `position`, `description`, `earliestBeginAt` and `deadlineAt` of others' tasks.
        """
    public static let errors: [ErrorCode] = [
        .taskNotFound, .taskWrongState, .badField, .badURL, .unsupported, .permissionDenied,
        .sourceUnreadable, .destinationBadPath, .destinationNotWritable, .diskIO,
    ]

    public struct Parameters: WireObject, Hashable {
        public var id: TaskID
        public var priority: TaskPriority?
        public var rateLimit: ByteRate?
        public var url: String?
        public var s3: S3Upload?
        public var mirrors: [String]?
        public var headers: [HeaderField]?
        public var username: String?
        public var password: String?
        public var bearer: String?
        public var netrc: String?
        public var proxy: String?
        public var caFile: String?
        public var checksum: Checksum?
        public var destination: Destination?
        public var conflictPolicy: ConflictPolicy?
        public var description: String?
        public var earliestBeginAt: Timestamp?
        public var deadlineAt: Timestamp?
        public var position: QueuePosition?

        public init(id: TaskID) { self.id = id }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, priority, rateLimit, url, s3, mirrors, headers, username, password, bearer, netrc, proxy, caFile,
                checksum, destination, conflictPolicy, description, earliestBeginAt, deadlineAt, position
        }

        public static let wireName = "UpdateTask"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.taskID, "The task.")
            case .priority: .optional(TaskPriority.wireType, TaskSpec.field(.priority).text)
            case .rateLimit: .optional(.byteRate, "Rate limit of this task; takes effect while it runs.")
            case .url: .optional(.string, "Another URL of the same resource.")
            case .s3:
                .optional(
                    .object(S3Upload.self),
                    "`s3Multipart`: replaces the whole object, with newly signed URLs. Uploaded parts are kept if the URLs are of "
                        + "the same upload (same `uploadId`, or without one the same path) and `partSize` is the same. URLs of "
                        + "another upload start over, and `abortURL` of the old one is requested; another `partSize` sends all "
                        + "parts again.")
            case .mirrors: .optional(.list(.string), "Replaces the task's own; an empty list removes them.")
            case .headers: .optional(HeaderField.wireType, "Replaces the task's own; an empty list removes them.")
            case .username:
                .optional(
                    .string,
                    "Any of `username`, `password`, `bearer` and `netrc` replaces all credentials of the task. "
                        + "A `password` alone keeps the user name.")
            case .password: .optional(.string, "Of `username`; \(SecretText.shown).")
            case .bearer: .optional(.string, "Token for `Authorization: Bearer`; \(SecretText.shown).")
            case .netrc:
                .optional(
                    .string,
                    "Path of a netrc file; it is used for the scheme, host and port of the task's own URL only.")
            case .proxy: .optional(.string, TaskSpec.field(.proxy).text)
            case .caFile: .optional(.string, TaskSpec.field(.caFile).text)
            case .checksum: .optional(.object(Checksum.self), TaskSpec.field(.checksum).text)
            case .destination:
                .optional(
                    .object(Destination.self),
                    "New destination, until the file is delivered. `directory` alone keeps the file's name, `filename` alone "
                        + "keeps the folder. The part file moves; to another file system it is copied."
                )
            case .conflictPolicy:
                .optional(.oneOf(ConflictPolicy.self), TaskSpec.field(.conflictPolicy).text)
            case .description: .optional(.string, "Free text.")
            case .earliestBeginAt:
                .optional(
                    .time,
                    "The task does not start before this time; a time in the past means now. Only for tasks that have not ended."
                )
            case .deadlineAt: .optional(.time, TaskSpec.field(.deadlineAt).text)
            case .position:
                .optional(
                    .either([.choice(["first", "last"]), .number]),
                    "Position among tasks of one session and priority; smaller numbers first. `first` puts it before all "
                        + "others and `last` after all others, including later ones. If several tasks have the same, the "
                        + "last one that was set is outermost.")
            }
        }
    }
}

/// A task's position among tasks with its priority.
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
            throw TransferError.bad(path, "use first, last or a number.")
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

extension UpdateTask.Parameters {
    /// Whether later requests differ: a running task then begins another attempt, and a waiting one is tried at once.
    package var changesRequest: Bool {
        url != nil || s3 != nil || mirrors != nil || headers != nil || changesCredentials || proxy != nil
            || caFile != nil
            || checksum != nil
    }

    package var changesCredentials: Bool { username != nil || password != nil || bearer != nil || netrc != nil }
}

/// Cancels a task and returns a blob from which it can be added again.
public enum TakeResumeData: RPCMethod {
    public typealias Parameters = TaskReference
    public static let name = "task.resumeData"
    public static let summary =
        """
        Cancels a download, unless it has failed or was cancelled with `keepPartial`, and returns a self-contained blob for \
        task.add. One that was cancelled and keeps no bytes has none. The \
        blob has no bytes and no credentials, but the task's full URLs, including signatures: keep it as private as those. \
        The bytes stay in the task's part file until the task is removed, its history expires, or another task takes them \
        over.
        """
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

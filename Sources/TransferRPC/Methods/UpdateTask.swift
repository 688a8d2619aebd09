import TransferModel

public struct UpdateTask: WireObject, Hashable {
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
    public var interface: String?
    public var caFile: String?
    public var checksum: Checksum?
    public var destination: Destination?
    public var conflictPolicy: ConflictPolicy?
    public var description: String?
    public var attributes: [String: String]?
    public var earliestBeginAt: Timestamp?
    public var deadlineAt: Timestamp?
    public var position: QueuePosition?
    public var allowsExpensiveNetworkAccess: Bool?
    public var allowsCellularAccess: Bool?
    public var allowsConstrainedNetworkAccess: Bool?
    public var isDiscretionary: Bool?

    public init(id: TaskID) { self.id = id }

    public static let shape = Shape("UpdateTask", Self(id: TaskID(0))) { row in
        row("id", \.id, "The task.")
        row("priority", \.priority, TaskSpec.text("priority"))
        row("rateLimit", \.rateLimit, "Rate limit of this task; takes effect while it runs.")
        row("url", \.url, "Another URL of the same resource.")
        row(
            "s3", \.s3,
            "`s3Multipart`: replaces the whole object, with newly signed URLs. Uploaded parts are kept if the URLs are of "
                + "the same upload (same `uploadId`, or without one the same path) and `partSize` is the same. URLs of "
                + "another upload start over, and `abortURL` of the old one is requested; another `partSize` sends all "
                + "parts again.")
        row("mirrors", \.mirrors, "Replaces the task's own; an empty list removes them.")
        row("headers", \.headers, "Replaces the task's own; an empty list removes them.")
        row(
            "username", \.username,
            "Any of `username`, `password`, `bearer` and `netrc` replaces all credentials of the task. "
                + "A `password` alone keeps the user name.")
        row("password", \.password, "Of `username`; \(Secrecy.shown).")
        row("bearer", \.bearer, "Token for `Authorization: Bearer`; \(Secrecy.shown).")
        row(
            "netrc", \.netrc,
            "Path of a netrc file; it is used for the scheme, host and port of the task's own URL only.")
        row("proxy", \.proxy, TaskSpec.text("proxy"))
        row("interface", \.interface, TaskSpec.text("interface"))
        row("caFile", \.caFile, TaskSpec.text("caFile"))
        row("checksum", \.checksum, TaskSpec.text("checksum"))
        row(
            "destination", \.destination,
            "New destination, until the file is delivered. `directory` alone keeps the file's name, `filename` alone "
                + "keeps the folder. The part file moves; to another file system it is copied.")
        row("conflictPolicy", \.conflictPolicy, TaskSpec.text("conflictPolicy"))
        row("description", \.description, "Free text.")
        row("attributes", \.attributes, "Replaces all attributes of the task; an empty object removes them.")
        row(
            "earliestBeginAt", \.earliestBeginAt,
            "The task does not start before this time; a time in the past means now. Only for tasks that have not ended."
        )
        row("deadlineAt", \.deadlineAt, TaskSpec.text("deadlineAt"))
        row(
            "position", \.position,
            "Position among tasks of one session and priority; smaller numbers first. `first` puts it before all "
                + "others and `last` after all others, including later ones. If several tasks have the same, the "
                + "last one that was set is outermost.")
        row(
            "allowsExpensiveNetworkAccess", \.allowsExpensiveNetworkAccess,
            TaskSpec.text("allowsExpensiveNetworkAccess"))
        row("allowsCellularAccess", \.allowsCellularAccess, TaskSpec.text("allowsCellularAccess"))
        row(
            "allowsConstrainedNetworkAccess", \.allowsConstrainedNetworkAccess,
            TaskSpec.text("allowsConstrainedNetworkAccess"))
        row("isDiscretionary", \.isDiscretionary, TaskSpec.text("isDiscretionary"))
    }
}

/// A task's position among tasks with its priority.
public enum QueuePosition: WireValue, Hashable {
    case first, last
    case at(Double)

    public static let wireType = WireType.either([.choice(["first", "last"]), .number])

    public init(json node: JSONNode) throws(TransferError) {
        if let number = node.doubleIfAny {
            self = .at(number)
            return
        }
        switch node.stringIfAny {
        case "first": self = .first
        case "last": self = .last
        case .some, nil: throw node.refusal("use first, last or a number.")
        }
    }

    public func write(to text: inout JSONWriter) {
        switch self {
        case .first: text.string("first")
        case .last: text.string("last")
        case .at(let number): text.double(number)
        }
    }
}

extension UpdateTask {
    package var changedFields: [String] { Self.shape.present(in: self).map(\.name).filter { $0 != "id" } }

    /// Whether later requests differ: a running task then begins another attempt, and a waiting one is tried at once.
    package var changesRequest: Bool {
        url != nil || s3 != nil || mirrors != nil || headers != nil || changesCredentials || proxy != nil
            || interface != nil || caFile != nil
            || checksum != nil
    }

    /// Whether the machine's network or power may forbid or allow the task from now on.
    package var changesConditions: Bool {
        changedFields.contains(where: SessionConfiguration.conditions.contains)
    }

    package var changesCredentials: Bool { username != nil || password != nil || bearer != nil || netrc != nil }
}

public struct TakenResumeData: WireObject, Hashable {
    public var resumeData: String

    public init(resumeData: String) { self.resumeData = resumeData }

    public static let shape = Shape("ResumeData", Self(resumeData: "")) { row in
        row("resumeData", \.resumeData, "Base64.")
    }
}

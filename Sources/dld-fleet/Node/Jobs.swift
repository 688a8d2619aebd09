import TransferCore
import TransferModel

/// One lease: a job and the number of its claim. A task carries it as its `clientToken`.
struct JobKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    var id: Int64
    var epoch: Int64

    private static let word = "fleet"

    init(_ id: Int64, _ epoch: Int64) {
        self.id = id
        self.epoch = epoch
    }

    /// - Returns: nil if it is no token of this program.
    init?(token: String) {
        let parts = token.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.word, let id = Int64(parts[1]), let epoch = Int64(parts[2]) else {
            return nil
        }
        self.init(id, epoch)
    }

    var token: String { "\(Self.word):\(id):\(epoch)" }
    var description: String { token }
    static func < (a: Self, b: Self) -> Bool { (a.id, a.epoch) < (b.id, b.epoch) }
}

/// A row of `dld.claim` or `dld.leases`.
struct LeasedJob: Hashable, Sendable {
    var key: JobKey
    var pool: String
    /// The TaskSpec that the producer wrote.
    var spec: JSONValue
    var host = ""
    /// −100…100.
    var priority = 0
    /// From 1.
    var attempt = 1
    /// `{"data","node","bytes"}`, if another node handed the job back on a shared folder.
    var resume: JSONValue?
    /// The job's host has a limit of leases.
    var limited = false
}

/// An end that is no success, as `jobs.error` keeps it. Its code may be one of `policy.*`, which dld does not know.
struct JobError: Error, Hashable, Sendable {
    var code: String
    var message: String
    var retryable = false
    var details: [String: JSONValue] = [:]

    init(_ code: String, _ message: String, retryable: Bool = false, details: [String: JSONValue] = [:]) {
        self.code = code
        self.message = message
        self.retryable = retryable
        self.details = details
    }

    /// URLs are shown without what is secret in them: all producers see the errors of a pool.
    init(_ error: TransferError) {
        self.init(
            error.code.rawValue, URLRules.maskingURLs(in: error.message), retryable: error.retryable,
            details: error.details.mapValues { value in
                value.stringValue.map { .string(URLRules.maskingURLs(in: $0)) } ?? value
            })
    }

    /// Somebody else ended the local task.
    static let cancelled = JobError(
        ErrorCode.cancelled.rawValue, "Somebody cancelled, removed or paused the task at the node.", retryable: true)

    /// `jobs.error` but for its time, which the writer adds.
    func json(node: String, attempt: Int?) -> JSONValue {
        [
            "code": .string(code), "message": .string(message), "retryable": .bool(retryable),
            "details": .object(details), "node": .string(node),
            "attempt": attempt.map { .integer(Int64($0)) } ?? .null,
        ]
    }
}

/// What `dld.finish` is told.
enum Outcome: String, Hashable, Sendable {
    case done, failed, transient, cancelled
}

/// What a task must still say about its job after both programs have restarted; kept in its `attributes`.
struct TaskMarks: OptionSet, Hashable, Sendable {
    var rawValue: Int
    /// Its host has a limit.
    static let limited = Self(rawValue: 1)
    /// It goes to a shared folder.
    static let shared = Self(rawValue: 2)
    /// It replaces a file of its name.
    static let overwrites = Self(rawValue: 4)

    private static let member = "fleet"
    private static let words: [(String, Self)] = [
        ("limited", .limited), ("shared", .shared), ("overwrites", .overwrites),
    ]

    init(rawValue: Int) { self.rawValue = rawValue }

    init(attributes: [String: String]?) {
        let found = (attributes?[Self.member] ?? "").split(separator: " ")
        self = Self(Self.words.filter { word in found.contains { $0 == word.0 } }.map(\.1))
    }

    var attributes: [String: String] {
        [Self.member: Self.words.filter { contains($0.1) }.map(\.0).joined(separator: " ")]
    }
}

/// A task of the session `fleet`, as `task.list` shows it.
struct LocalTask: Hashable, Sendable {
    var id: TaskID
    var key: JobKey
    var marks: TaskMarks
    var state: TaskState
    var wait: Wait?
}

/// Why a task waits.
struct Wait: Hashable, Sendable {
    /// A `WaitReason` or `QueueReason`.
    var reason: String
    var error: JobError?
}

/// An event of a task of the session `fleet`.
struct TaskEvent: Hashable, Sendable {
    enum Change: Hashable, Sendable {
        case state(TaskState, Wait?)
        /// Bytes so far, their total (−1 if unknown) and bytes per second.
        case progress(bytes: Int64, total: Int64, rate: Int64)
        /// A question: may the task follow to this URL?
        case redirect(decision: Int64, url: String)
        /// Nothing that the node decides about.
        case other
    }

    /// nil for progress.
    var sequence: Int64?
    var task: TaskID
    /// If the event has a `clientToken`.
    var key: JobKey?
    var change: Change
}

/// What `task.get` says about a task that has ended, with the digest that the node computed if dld did not.
struct EndReport: Hashable, Sendable {
    var kind = TaskKind.download
    var state: TaskState
    var marks: TaskMarks = []
    var file: String?
    var size: Int64 = 0
    var sha256: String?
    var verified = false
    /// HTTP status.
    var status: Int?
    /// Base64; nil above 64 KiB.
    var body: String?
    var error: JobError?
    var retryAfter: Duration?

    /// `jobs.result`.
    func result(node: String, epoch: Int64) -> JSONValue {
        let status = self.status.map { JSONValue.integer(Int64($0)) } ?? .null
        var members: [String: JSONValue] = [
            "node": .string(node), "epoch": .integer(epoch), "size": .integer(size),
        ]
        switch kind {
        case .download:
            members["path"] = file.map(JSONValue.string) ?? .null
            members["sha256"] = sha256.map(JSONValue.string) ?? .null
            members["shared"] = .bool(marks.contains(.shared))
            members["verified"] = .bool(verified)
        case .upload: members["status"] = status
        case .data:
            members["status"] = status
            members["body"] = body.map(JSONValue.string) ?? .null
        }
        return .object(members)
    }
}

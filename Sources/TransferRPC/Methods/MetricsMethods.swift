import TransferModel

/// What monitoring needs beside `DaemonInfo` and `DaemonStats`.
public struct DaemonMetrics: WireObject, Hashable {
    /// Tasks of one kind in one state.
    public struct Group: WireObject, Hashable {
        public var state: TaskState
        public var kind: TaskKind
        public var count: Int

        public init(state: TaskState, kind: TaskKind, count: Int) {
            self.state = state
            self.kind = kind
            self.count = count
        }

        public static let shape = Shape("TaskGroup", Self(state: .queued, kind: .download, count: 0)) { row in
            row("state", \.state, "Their state.")
            row("kind", \.kind, "Their kind.")
            row("count", \.count, "How many there are.")
        }
    }

    /// Ends of tasks that are alike.
    public struct End: WireObject, Hashable {
        public var kind: TaskKind
        public var outcome: TaskState
        public var code: String?
        public var count: Int

        public init(kind: TaskKind, outcome: TaskState, code: String? = nil, count: Int) {
            self.kind = kind
            self.outcome = outcome
            self.code = code
            self.count = count
        }

        public static let shape = Shape("TaskEnds", Self(kind: .download, outcome: .completed, count: 0)) { row in
            row("kind", \.kind, "Kind of the tasks.")
            row(
                "outcome", \.outcome, "How they ended.",
                as: .choice(TaskState.allCases.filter(\.isFinal).map(\.rawValue)))
            row("code", \.code, "Code of the error, if they failed.")
            row("count", \.count, "How often.")
        }
    }

    /// How long calls took.
    public struct Histogram: WireObject, Hashable {
        public struct Bucket: WireObject, Hashable {
            public var le: Double
            public var count: Int

            public init(le: Double, count: Int) {
                self.le = le
                self.count = count
            }

            public static let shape = Shape("Bucket", Self(le: 0, count: 0)) { row in
                row("le", \.le, "A bound in seconds.")
                row("count", \.count, "Calls that took at most as long.")
            }
        }

        public var buckets: [Bucket]
        public var sum: Seconds
        public var count: Int

        public init(buckets: [Bucket] = [], sum: Seconds = 0, count: Int = 0) {
            self.buckets = buckets
            self.sum = sum
            self.count = count
        }

        public static let shape = Shape("Histogram", Self()) { row in
            row(
                "buckets", \.buckets,
                "From the smallest bound to the largest; each counts the calls of those before too.")
            row("sum", \.sum, "All calls together.")
            row("count", \.count, "Number of calls.")
        }
    }

    public var tasks: [Group] = []
    public var waiting: [String: Int] = [:]
    public var finished: [End] = []
    public var responses: [String: Int] = [:]
    public var storeCommits = Histogram()
    public var fileSyncs = Histogram()
    public var subscriberLag: Int64 = 0
    public var cpuTime: Seconds?
    public var openDescriptors: Int?

    public init() {}

    public static let shape = Shape("Metrics", Self()) { row in
        row(
            "tasks", \.tasks,
            "The tasks by state and kind, every pair present; of the volatile ones only this connection's.")
        row("waiting", \.waiting, "Those of them that wait, by reason, every reason present.")
        row("finished", \.finished, "Ends of tasks since the daemon started.")
        row(
            "responses", \.responses,
            "Answers of HTTP servers since the daemon started, from `1xx` to `5xx`; redirects and challenges count too."
        )
        row("storeCommits", \.storeCommits, "Commits of the state database.")
        row("fileSyncs", \.fileSyncs, "Syncs of files, folders and file systems for transfers.")
        row("subscriberLag", \.subscriberLag, "How many events the slowest subscriber has not been sent.", as: .integer)
        row("cpuTime", \.cpuTime, "Processor time of the daemon; absent: unknown.")
        row("openDescriptors", \.openDescriptors, "Open file descriptors of the daemon; absent: unknown.")
    }
}

import TransferModel

/// The parameters of `decision.list`.
public struct ListDecisions: WireObject, Hashable {
    public var session: String?
    public var tasks: [TaskID]?
    public var owner: OwnerScope?

    public init(session: String? = nil, tasks: [TaskID]? = nil, owner: OwnerScope? = nil) {
        self.session = session
        self.tasks = tasks
        self.owner = owner
    }

    public static let shape = Shape("ListDecisions", Self()) { row in
        row("session", \.session, "Only questions of tasks of this session.")
        row("tasks", \.tasks, "Only questions of these tasks, up to \(ListTasks.largestSelection).")
        row.owner(\.owner)
    }
}

public struct ListedDecisions: WireObject, Hashable {
    public var decisions: [DecisionView]
    public var truncated: Bool?

    public init(decisions: [DecisionView], truncated: Bool? = nil) {
        self.decisions = decisions
        self.truncated = truncated
    }

    public static let shape = Shape("Decisions", Self(decisions: [])) { row in
        row("decisions", \.decisions, "At most one per task.")
        row("truncated", \.truncated, "True: there are more than \(Bounds.listedDecisions); answer these first.")
    }
}

public struct AnswerDecision: WireObject, Hashable {
    public var id: DecisionID
    public var action: DecisionAction
    public var credential: DecisionCredential?
    public var persistence: CredentialPersistence?
    public var request: TaskRequest?
    public var destination: Destination?

    public init(
        id: DecisionID, action: DecisionAction, credential: DecisionCredential? = nil,
        persistence: CredentialPersistence? = nil, request: TaskRequest? = nil, destination: Destination? = nil
    ) {
        self.id = id
        self.action = action
        self.credential = credential
        self.persistence = persistence
        self.request = request
        self.destination = destination
    }

    public static let shape = Shape("AnswerDecision", Self(id: DecisionID(0), action: .cancel)) { row in
        row("id", \.id, "`decision` of the question.", as: .integer)
        row(
            "action", \.action,
            "`challenge`: `useCredential`; `performDefaultHandling` (the request is sent once more; if it is refused, as in a session that does not ask); `rejectProtectionSpace` (the request is sent once more without credentials, and its answer is final); `cancel` (the task). Method `serverTrust`: `trust` (the `key` in the question; only the owner may); `performDefaultHandling` (the task fails with `tls.untrusted`); `cancel`. Method `clientCertificate`: `useCredential` (a certificate); `performDefaultHandling` (none is shown); `cancel`. `redirect`: `follow` (not if an upload would lose its body: then as `refuse`), `followWith` (`request` instead of the proposed one), `refuse` (the redirect is the final response). `response`: `allow`, `cancel`, `becomeDownload` (for a data task: the answer that is held becomes the file `destination`, and the request is not sent again; if it is not held any more, the request is repeated, which its method must allow). `begin`: `continue`, `newRequest` (`request` instead of the task's own), `cancel`. `cache`: `store` (as RFC 9111 and the capacities allow), `memoryOnly`, `doNotStore`."
        )
        row("credential", \.credential, "With `useCredential`; only the owner may give it.")
        row(
            "persistence", \.persistence,
            "With `trust`: how long the key is trusted. `session` (default): by every task of the session while the session asks for challenges, until it ends (`shared` never does). `none`: by this task alone. `permanent`: by every task of the owner whose session asks for challenges, until `trust.remove`; in an `ephemeral` session the same as `session`."
        )
        row("request", \.request, "With `followWith` and `newRequest`; only the owner may give it.")
        row(
            "destination", \.destination,
            "With `becomeDownload`; only the owner may give it. Default: as for a download without a destination.")
    }
}

public struct AnsweredDecision: WireObject, Hashable {
    public var decision: DecisionID
    public var task: TaskID
    public var action: DecisionAction

    public init(decision: DecisionID, task: TaskID, action: DecisionAction) {
        self.decision = decision
        self.task = task
        self.action = action
    }

    public static let shape = Shape(
        "AnsweredDecision", Self(decision: DecisionID(0), task: TaskID(0), action: .cancel)
    ) { row in
        row("decision", \.decision, "The question.", as: .integer)
        row("task", \.task, "The task that asked.")
        row("action", \.action, "The action of the answer that counts.")
    }
}

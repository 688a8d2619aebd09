import TransferModel

/// The open questions of tasks.
public enum ListDecisions: RPCMethod {
    public static let name = "decision.list"
    public static let summary = "Open questions of tasks, the oldest first."
    public static let errors: [ErrorCode] = [.badField, .permissionDenied, .sessionInUse]

    public struct Parameters: WireObject, Hashable {
        public var session: String?
        public var tasks: [TaskID]?
        public var owner: OwnerScope?

        public init(session: String? = nil, tasks: [TaskID]? = nil, owner: OwnerScope? = nil) {
            self.session = session
            self.tasks = tasks
            self.owner = owner
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case session, tasks, owner
        }

        public static let wireName = "ListDecisions"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .session: .optional(.string, "Only questions of tasks of this session.")
            case .tasks:
                .optional(.list(.taskID), "Only questions of these tasks, up to \(ListTasks.largestSelection).")
            case .owner: OwnerScope.field
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var decisions: [DecisionView]
        public var truncated: Bool?

        public init(decisions: [DecisionView], truncated: Bool? = nil) {
            self.decisions = decisions
            self.truncated = truncated
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case decisions, truncated
        }

        public static let wireName = "Decisions"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .decisions: .required(.list(.object(DecisionView.self)), "At most one per task.")
            case .truncated:
                .optional(.boolean, "True: there are more than \(Bounds.listedDecisions); answer these first.")
            }
        }
    }
}

/// Answers a question of a task.
public enum AnswerDecision: RPCMethod {
    public static let name = "decision.answer"
    public static let summary =
        """
        Answers a question; durable when it returns. The first answer counts. The same answer may be repeated as \
        long as the task exists, for its newest \(Bounds.decisions) questions. A different answer is refused with \
        `decision.gone`, and so is an answer to a closed question. Administrators may answer for others, but may not give credentials, requests or destinations, or trust servers.
        """
    public static let errors: [ErrorCode] = [
        .decisionGone, .badField, .badURL, .unsupported, .permissionDenied, .limitReached, .destinationBadPath,
        .sourceUnreadable,
    ]

    public struct Parameters: WireObject, Hashable {
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case id, action, credential, persistence, request, destination
        }

        public static let wireName = "AnswerDecision"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .id: .required(.integer, "`decision` of the question.")
            case .action:
                .required(
                    .oneOf(DecisionAction.self),
                    "`challenge`: `useCredential`; `performDefaultHandling` (the request is sent once more; if it is refused, as in a session that does not ask); `rejectProtectionSpace` (the request is sent once more without credentials, and its answer is final); `cancel` (the task). Method `serverTrust`: `trust` (the `key` in the question; only the owner may); `performDefaultHandling` (the task fails with `tls.untrusted`); `cancel`. Method `clientCertificate`: `useCredential` (a certificate); `performDefaultHandling` (none is shown); `cancel`. `redirect`: `follow` (not if an upload would lose its body: then as `refuse`), `followWith` (`request` instead of the proposed one), `refuse` (the redirect is the final response). `response`: `allow`, `cancel`, `becomeDownload` (for a data task: the answer that is held becomes the file `destination`, and the request is not sent again; if it is not held any more, the request is repeated, which its method must allow). `begin`: `continue`, `newRequest` (`request` instead of the task's own), `cancel`. `cache`: `store` (as RFC 9111 and the capacities allow), `memoryOnly`, `doNotStore`."
                )
            case .credential:
                .optional(.object(DecisionCredential.self), "With `useCredential`; only the owner may give it.")
            case .persistence:
                .optional(
                    .oneOf(CredentialPersistence.self),
                    "With `trust`: how long the key is trusted. `session` (default): by every task of the session while the session asks for challenges, until it ends (`shared` never does). `none`: by this task alone. `permanent`: by every task of the owner whose session asks for challenges, until `trust.remove`; in an `ephemeral` session the same as `session`."
                )
            case .request:
                .optional(.object(TaskRequest.self), "With `followWith` and `newRequest`; only the owner may give it.")
            case .destination:
                .optional(
                    .object(Destination.self),
                    "With `becomeDownload`; only the owner may give it. Default: as for a download without a destination."
                )
            }
        }
    }

    public struct Result: WireObject, Hashable {
        public var decision: DecisionID
        public var task: TaskID
        public var action: DecisionAction

        public init(decision: DecisionID, task: TaskID, action: DecisionAction) {
            self.decision = decision
            self.task = task
            self.action = action
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case decision, task, action
        }

        public static let wireName = "AnsweredDecision"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .decision: .required(.integer, "The question.")
            case .task: .required(.taskID, "The task that asked.")
            case .action: .required(.oneOf(DecisionAction.self), "The action of the answer that counts.")
            }
        }
    }
}

import TransferModel

/// An open question as clients see it.
public struct DecisionView: Hashable, Sendable {
    public var decision: DecisionID
    public var task: TaskID
    public var session: String
    public var owner: UserID
    public var time: Timestamp
    public var question: Question

    public init(_ record: DecisionRecord) {
        decision = record.id
        task = record.task
        session = record.session.identifier
        owner = record.session.owner
        time = record.askedAt
        question = record.question
    }

    private var actions: [DecisionAction] {
        get { question.actions }
        set { question.offered = newValue }
    }
}

extension DecisionView: WireObject {
    public static let shape = Shape(
        "Decision",
        Self(
            DecisionRecord(
                id: DecisionID(0), task: TaskID(0), session: .shared(of: .root), state: .open,
                question: Question(.begin),
                askedAt: Timestamp(milliseconds: 0), answer: nil, settled: SettledDecisions()))
    ) { row in
        row(
            "decision", \.decision,
            "Id of the question, for `decision.answer`; it stays the same across restarts of the daemon.", as: .integer)
        row("task", \.task, "The task that asks.")
        row("session", \.session, "Identifier of its session.")
        row("owner", \.owner, "Owner of the session.")
        row("time", \.time, "When it was asked.")
        row(membersOf: \.question, Question.shape, without: ["actions"])
        row(
            "actions", \.actions,
            "Actions that `decision.answer` accepts. For another user's task, those that administrators may take; `becomeDownload` only for data tasks."
        )
    }
}

import Logging
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Takes the answers of clients, and tells what is asked.
struct DecisionService: DecisionServing {
    let store: TransferStore
    let stops: RunStops
    let transitions: TaskTransitions
    let leftParts: LeftParts
    let followUp: FollowUp
    let signal: SupervisionSignal
    let logger: Logger

    func list(
        owner: UserID?, session: String?, tasks: [TaskID]?
    ) async throws -> (decisions: [DecisionView], isCut: Bool) {
        let limit = Bounds.listedDecisions
        let found = try await store.read { snapshot in
            try snapshot.openDecisions(owner: owner, session: session, tasks: tasks, limit: limit + 1)
        }
        return (found.prefix(limit).map { DecisionView($0) }, found.count > limit)
    }

    func answer(_ parameters: AnswerDecision.Parameters, by peer: Peer) async throws -> AnswerDecision.Result {
        let id = parameters.id
        guard let known = try await store.read({ try $0.decision(id) }),
            peer.isAdmin || known.session.owner == peer.uid
        else { throw TransferError.gone(id) }
        let answer = try parameters.answer(to: known, by: peer)
        let outcome = try await answer.action == .cancel ? cancelled(known, by: answer) : store(answer, to: id)
        if let outcome {
            logger.info(
                "answered",
                metadata: ["task": "\(known.task)", "decision": "\(id)", "action": "\(answer.action.rawValue)"])
            await followUp.follow([outcome])
            signal.changed()
        }
        return AnswerDecision.Result(decision: id, task: known.task, action: answer.action)
    }

    /// Its part goes first, as with what a client cancels otherwise.
    private func cancelled(
        _ known: DecisionRecord, by answer: DecisionAnswer
    ) async throws -> TaskTransitions.Outcome? {
        guard known.state == .open else { return try await store(answer, to: known.id) }
        return try await stops.stopping([known.task]) {
            let left = try await leftParts.discardParts(of: [known.task], for: .cancel(keepPartial: false)).left
            let outcome = try await store(answer, to: known.id, leaving: left)
            leftParts.didNote(left)
            return outcome
        }
    }

    /// - Returns: what became of the task; nil if the same answer had been given before.
    /// - Throws: `decision.gone`.
    private func store(
        _ answer: DecisionAnswer, to id: DecisionID, leaving left: [LeftPart] = []
    ) async throws -> TaskTransitions.Outcome? {
        let transitions = transitions
        return try await store.write { transaction -> TaskTransitions.Outcome? in
            guard let decision = try transaction.decision(id) else { throw TransferError.gone(id) }
            guard decision.state == .open, let record = try transitions.readable(decision.task, in: transaction)
            else {
                if decision.state == .answered, decision.answer == answer { return nil }
                throw TransferError.gone(id)
            }
            var settled = decision.settled
            if let space = decision.question.protectionSpace { settled.answered(space, with: answer) }
            try transaction.answer(id, answer, settled: settled)
            try transaction.note(left)
            let event: TaskEvent = answer.action == .cancel ? .cancel(keepPartial: false) : .conditionCleared
            return try transitions.apply(event, to: record, in: transaction)
        }
    }
}

extension TransferError {
    /// The same for a question of somebody else, for one that never was and for one that is over.
    static func gone(_ id: DecisionID) -> TransferError {
        TransferError(
            .decisionGone, "There is no open question \(id); decision.list tells those that are open.",
            details: ["decision": .integer(id.rawValue)])
    }
}

extension AnswerDecision.Parameters {
    /// - Throws: `request.bad_field`, `request.unsupported`; `permission.denied` if an administrator gives secrets for
    ///   another's task.
    fileprivate func answer(to decision: DecisionRecord, by peer: Peer) throws(TransferError) -> DecisionAnswer {
        let actions = decision.question.kind.actions
        guard actions.contains(action) else {
            throw Self.bad("action", "say one of \(actions.map(\.rawValue).joined(separator: ", ")).")
        }
        if action == .useCredential || credential != nil {
            guard decision.session.owner == peer.uid else {
                throw TransferError(
                    .permissionDenied,
                    "action: only the owner of task \(decision.task) gives credentials.",
                    details: ["field": "action"])
            }
        }
        guard (credential != nil) == (action == .useCredential) else {
            throw Self.bad(
                "credential", action == .useCredential ? "missing; it is required." : "goes with useCredential.")
        }
        guard let credential else { return DecisionAnswer(action) }
        guard credential.persistence ?? CredentialPersistence.none == CredentialPersistence.none else {
            throw TransferError(
                .unsupported, "credential.persistence: only `none` is built; daemon.info.features lists what is.",
                details: ["field": "credential.persistence"])
        }
        try SpecRules(path: "credential").check(credential)
        return DecisionAnswer(
            action,
            credential: DecisionCredential(username: credential.username, password: credential.password))
    }

    private static func bad(_ field: String, _ message: String) -> TransferError {
        TransferError(.badField, "\(field): \(message)", details: ["field": .string(field)])
    }
}

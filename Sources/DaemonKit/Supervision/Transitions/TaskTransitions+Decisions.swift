import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// Questions to clients: asked, closed and answered by nobody in the transaction that changes the task's state.
extension TaskTransitions {
    /// A question lives as long as its task waits for the answer.
    func followQuestion(
        of id: TaskID, _ event: TaskEvent, from before: TaskStatus, to after: TaskStatus,
        in transaction: StoreTransaction
    ) throws {
        switch event {
        case .retargeted: return try transaction.forgetDecisions(of: id)
        case .retry where before.state.isFinal: return try transaction.forgetDecisions(of: id)
        case .claimed, .attemptFailed, .integrityFailed, .completed, .pause, .resume, .cancel, .retry, .preempted,
            .daemonRestarted, .conditionCleared, .blocked, .asked, .deadlinePassed, .resourceTimeoutPassed:
            break
        }
        if before.awaitsAnswer, !after.awaitsAnswer { try transaction.closeDecision(of: id) }
    }

    /// What is asked in place of an attempt's end; nil if nobody is asked.
    /// - Parameters:
    ///   - record: with its last answer, as stored.
    ///   - policy: as it was in force for the attempt.
    func question(
        inPlaceOf event: TaskEvent, of record: TaskRecord, _ policy: EffectivePolicy, in transaction: StoreTransaction
    ) throws -> TaskEvent? {
        guard policy.asks.contains(.challenge), case .attemptFailed(let failure, _, _) = event,
            failure.error.code == .authRequired, let response = record.response, let status = response.status,
            failure.error.details["status"] == .integer(Int64(status))
        else { return nil }
        let head = try transaction.wholeHead(of: record.id)
        let space = ProtectionSpace(
            status: status, headers: head?.headers ?? response.headers, url: head?.url ?? response.url,
            proxy: policy.network.proxy)
        guard let space else { return nil }
        var settled = try transaction.decision(of: record.id)?.settled ?? SettledDecisions()
        var shown = response.withoutSecrets
        shown.body = nil
        let ownUser = Self.ownUser(of: record, for: space, policy)
        guard let question = settled.challenged(space, ownUser: ownUser, response: shown) else { return nil }
        return try asked(question, of: record.id, settled, because: failure.error, in: transaction)
    }

    /// User name of the task's own credentials, if they went to this place.
    private static func ownUser(
        of record: TaskRecord, for space: ProtectionSpace, _ policy: EffectivePolicy
    ) -> String? {
        guard !space.isProxy, let url = try? URLRules.parse(record.spec.url ?? ""), url.hostKey == space.origin else {
            return nil
        }
        return policy.network.username ?? url.username
    }

    /// Stores a question.
    /// - Returns: the event that makes its task wait.
    private func asked(
        _ question: Question, of id: TaskID, _ settled: SettledDecisions, because error: TransferError,
        in transaction: StoreTransaction
    ) throws -> TaskEvent {
        let decision = try transaction.ask(question, of: id, at: time.reading().wall, settled: settled)
        var payload = JSONMembers()
        payload.add("decision", decision.rawValue)
        let told = try WireCoding.encode(question)
        payload.add(try JSONMembers(stored: String(decoding: told, as: UTF8.self)))
        return .asked(.authentication, error, payload: payload)
    }
}

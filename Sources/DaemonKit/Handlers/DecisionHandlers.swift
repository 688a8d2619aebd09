import TransferModel
import TransferRPC

/// decision.list and decision.answer.
enum DecisionHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.listDecisions) { parameters, context in
            let owner = try context.scope(parameters.owner).owner
            if let tasks = parameters.tasks, tasks.count > ListTasks.largestSelection {
                throw TransferError.bad("tasks", "at most \(ListTasks.largestSelection) in one call.")
            }
            if let session = parameters.session, let owner {
                _ = try services.tasks(of: SessionKey(owner: owner, identifier: session), context)
            }
            let (durable, isCut) = try await services.durable.decisions.list(
                owner: owner, sessions: parameters.session.map { [$0] }, tasks: parameters.tasks, for: context.peer)
            let (volatile, alsoCut) = try await services.volatile.decisions(
                parameters.session, parameters.tasks, context)
            let all = durable + volatile
            let isTruncated = isCut || alsoCut || all.count > Bounds.listedDecisions
            return ListedDecisions(
                decisions: Array(all.prefix(Bounds.listedDecisions)), truncated: isTruncated ? true : nil)
        }
        table.add(Methods.answerDecision) { parameters, context in
            guard parameters.id.isVolatile else {
                return try await services.durable.decisions.answer(parameters, by: context.peer)
            }
            guard try await services.volatile.owns(parameters.id, context) else {
                throw TransferError.gone(parameters.id)
            }
            return try await services.volatile.services.decisions.answer(parameters, by: context.peer)
        }
    }
}

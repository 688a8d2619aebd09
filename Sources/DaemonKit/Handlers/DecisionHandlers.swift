import TransferModel
import TransferRPC

/// decision.list and decision.answer.
struct DecisionHandlers {
    let services: Services

    func register(in table: inout HandlerTable) {
        let services = services
        table.add(ListDecisions.self) { parameters, context in
            let owner = try context.scope(parameters.owner).owner
            if let tasks = parameters.tasks, tasks.count > ListTasks.largestSelection {
                throw TransferError(
                    .badField, "tasks: at most \(ListTasks.largestSelection) in one call.",
                    details: ["field": "tasks"])
            }
            let (decisions, isCut) = try await services.durable.decisions.list(
                owner: owner, session: parameters.session, tasks: parameters.tasks)
            return ListDecisions.Result(decisions: decisions, truncated: isCut ? true : nil)
        }
        table.add(AnswerDecision.self) { parameters, context in
            try await services.durable.decisions.answer(parameters, by: context.peer)
        }
    }
}

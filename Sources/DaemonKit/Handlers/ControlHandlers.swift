import TransferModel
import TransferRPC
import TransferStore

/// task.pause, task.resume, task.cancel, task.retry and task.remove.
struct ControlHandlers {
    let services: Services

    func register(in table: inout HandlerTable) {
        let services = services
        @Sendable func perform(
            _ action: TaskAction, _ selection: ControlSelection, _ context: RequestContext
        ) async throws -> ControlResult {
            try await Self.perform(action, selection, context, services)
        }
        table.add(PauseTasks.self) { try await perform(.pause, $0, $1) }
        table.add(ResumeTasks.self) { try await perform(.resume, $0, $1) }
        table.add(RetryTasks.self) {
            try await perform($0.sourceChanged == true ? .resend : .retry, $0.selection, $1)
        }
        table.add(CancelTasks.self) {
            try await perform(.cancel(keepPartial: $0.keepPartial ?? false), $0.selection, $1)
        }
        table.add(RemoveTasks.self) {
            try await perform(.remove(deleteFile: $0.deleteFile ?? false), $0.selection, $1)
        }
    }

    private static func perform(
        _ action: TaskAction, _ selection: ControlSelection, _ context: RequestContext, _ services: Services
    ) async throws -> ControlResult {
        let target = try target(selection, context)
        if case .session(let identifier) = target.scope, let owner = target.owner.owner {
            let key = SessionKey(owner: owner, identifier: identifier)
            guard try await services.store.read({ try $0.session(key) }) != nil else {
                throw TransferError.noSession(identifier)
            }
        }
        return try await services.controller.control(action, target)
    }

    /// - Throws: `request.bad_field` but for exactly one of ids, range, session and all; `request.too_large` for too many
    ///   ids; `permission.denied`.
    static func target(_ selection: ControlSelection, _ context: RequestContext) throws(TransferError) -> ControlTarget
    {
        var scopes: [ControlTarget.Scope] = []
        if let ids = selection.ids {
            guard ids.count <= Bounds.ids else {
                throw TransferError(
                    .tooLarge, "ids: at most \(Bounds.ids) in one call.", details: ["field": "ids"])
            }
            var known: Set<TaskID> = []
            scopes.append(.ids(ids.filter { known.insert($0).inserted }))
        }
        if let range = selection.range { scopes.append(.range(range.range)) }
        if let session = selection.session { scopes.append(.session(session)) }
        if selection.all == true { scopes.append(.all) }
        guard let scope = scopes.first, scopes.count == 1 else {
            throw TransferError(.badField, "Say exactly one of ids, range, session and all (true).")
        }
        var owner = try context.scope(selection.owner)
        // An id names one task, whosever it is; only wider selections mean one's own.
        if case .ids = scope, selection.owner == nil, context.peer.isAdmin { owner = .everyone }
        return ControlTarget(scope: scope, states: selection.states.map { Set($0) }, owner: owner)
    }
}

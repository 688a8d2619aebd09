import TransferModel
import TransferRPC
import TransferStore

/// task.pause, task.resume, task.cancel, task.retry and task.remove.
enum ControlHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.pauseTasks) { try await perform(.pause, $0, $1, services) }
        table.add(Methods.resumeTasks) { try await perform(.resume, $0, $1, services) }
        table.add(Methods.retryTasks) {
            try await perform($0.sourceChanged == true ? .resend : .retry, $0.selection, $1, services)
        }
        table.add(Methods.cancelTasks) {
            try await perform(.cancel(keepPartial: $0.keepPartial ?? false), $0.selection, $1, services)
        }
        table.add(Methods.removeTasks) {
            try await perform(.remove(deleteFile: $0.deleteFile ?? false), $0.selection, $1, services)
        }
    }

    private static func perform(
        _ action: TaskAction, _ selection: ControlSelection, _ context: RequestContext, _ services: Services
    ) async throws -> ControlResult {
        let target = try target(selection, context)
        switch target.scope {
        case .session(let identifier):
            guard let owner = target.owner.owner else { break }
            let key = SessionKey(owner: owner, identifier: identifier)
            let tasks = try services.tasks(of: key, context)
            guard try await tasks.store.read({ try $0.session(key) }) != nil else {
                throw TransferError.noSession(identifier)
            }
            return try await tasks.controller.control(action, target)
        case .ids(let ids):
            let volatile = try await services.volatile.visible(ids, to: context.connection.id)
            guard !volatile.isEmpty else { break }
            return try await perform(action, target, ids, volatile, services)
        case .range, .all:
            var result = try await services.durable.controller.control(action, target)
            for identifier in services.volatile.own(context, in: target.owner) {
                var own = target
                own.scope = .session(identifier)
                own.owner = .user(context.peer.uid)
                if case .range(let range) = target.scope { own.range = range }
                result.add(try await services.volatile.services.controller.control(action, own))
            }
            return result
        }
        return try await services.durable.controller.control(action, target)
    }

    /// Controls tasks of which some are volatile.
    private static func perform(
        _ action: TaskAction, _ target: ControlTarget, _ ids: [TaskID], _ volatile: Set<TaskID>, _ services: Services
    ) async throws -> ControlResult {
        var (own, others) = (target, target)
        own.scope = .ids(ids.filter(volatile.contains))
        others.scope = .ids(ids.filter { !volatile.contains($0) })
        var result = try await services.volatile.services.controller.control(action, own)
        guard volatile.count < ids.count else { return result }
        result.add(try await services.durable.controller.control(action, others))
        return result
    }

    /// - Throws: `request.bad_field` unless exactly one of ids, idRange, session and all is given; `request.too_large`
    ///   for too many ids; `permission.denied`.
    static func target(_ selection: ControlSelection, _ context: RequestContext) throws(TransferError) -> ControlTarget
    {
        var scopes: [ControlTarget.Scope] = []
        if let ids = selection.ids {
            guard ids.count <= Bounds.ids else {
                throw TransferError.bad("ids", "at most \(Bounds.ids) in one call.", .tooLarge)
            }
            var known: Set<TaskID> = []
            scopes.append(.ids(ids.filter { known.insert($0).inserted }))
        }
        if let range = selection.range { scopes.append(.range(range.range)) }
        if let session = selection.session { scopes.append(.session(session)) }
        if selection.all == true { scopes.append(.all) }
        guard let scope = scopes.first, scopes.count == 1 else {
            throw TransferError(.badField, "Give exactly one of ids, idRange, session and all (true).")
        }
        var owner = try context.scope(selection.owner)
        // An id names one task, whoever owns it. Wider selections mean the caller's own tasks.
        if case .ids = scope, selection.owner == nil, context.peer.isAdmin { owner = .everyone }
        return ControlTarget(scope: scope, states: selection.states.map { Set($0) }, owner: owner)
    }
}

extension ControlResult {
    fileprivate mutating func add(_ rest: ControlResult) {
        changed += rest.changed
        skipped += rest.skipped
        if let more = rest.files { files = (files ?? []) + more }
        if let more = rest.warnings { warnings = (warnings ?? []) + more }
    }
}

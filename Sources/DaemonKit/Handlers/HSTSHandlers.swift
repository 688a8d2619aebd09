import DaemonSetup
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// hsts.list and hsts.remove. Both concern only the user who asks.
struct HSTSHandlers {
    let services: Services

    func register(in table: inout HandlerTable) {
        let services = services
        table.add(ListHSTS.self) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            let wanted = parameters.domain.map(HostName.canonical)
            let hosts = services.hsts.list(place).filter { host in
                wanted.map { HostName.matches(host.domain, domain: $0) } ?? true
            }
            return ListHSTS.Result(hosts: hosts)
        }
        table.add(RemoveHSTS.self) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            return RemoveHSTS.Result(removed: try await services.hsts.forget(parameters.domain, in: place))
        }
    }

    /// Returns the list that the session's tasks obey. An ephemeral session has its own.
    /// - Throws: `session.not_found`, also if the session has ended; `session.in_use`.
    private static func place(
        _ session: String?, _ context: RequestContext, _ services: Services
    ) async throws -> HSTSKeeper.Place {
        guard let session else { return .shared(context.peer.uid) }
        let key = SessionKey(owner: context.peer.uid, identifier: session)
        guard let record = try await services.tasks(of: key, context).store.read({ try $0.session(key) }),
            record.state != .invalidated
        else {
            throw TransferError.noSession(session)
        }
        return record.kind == .ephemeral ? .volatile(key) : .shared(key.owner)
    }
}

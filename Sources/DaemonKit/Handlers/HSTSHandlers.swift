import DaemonSetup
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// hsts.list and hsts.remove. Both concern only the user who asks.
enum HSTSHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.listHSTS) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            let wanted = try Self.domain(parameters)
            let hosts = services.keepers.hsts.list(place).filter { host in
                wanted.map { HostName.matches(host.domain, domain: $0) } ?? true
            }
            return ListedHSTS(hosts: hosts)
        }
        table.add(Methods.removeHSTS) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            return RemovedHSTS(
                removed: try await services.keepers.hsts.forget(Self.domain(parameters), in: place))
        }
    }

    /// - Throws: `request.bad_field` if the text is no host name. A URL would match no host, which would look like
    ///   success.
    private static func domain(_ selection: HSTSSelection) throws(TransferError) -> String? {
        guard let domain = selection.domain else { return nil }
        let name = HostName.canonical(domain)
        guard !name.isEmpty, !name.utf8.contains(where: { $0 <= 0x20 || "/:?#@\\".utf8.contains($0) }) else {
            throw TransferError.bad("domain", "give a host name such as example.org, not a URL.")
        }
        return name
    }

    /// Returns the list that the session's tasks obey. An ephemeral session has its own.
    /// - Throws: `session.not_found`, also if the session has ended; `session.in_use`.
    private static func place(
        _ session: String?, _ context: RequestContext, _ services: Services
    ) async throws -> OwnedPlace {
        guard let session else { return .shared(context.peer.uid) }
        let record = try await services.session(session, of: context)
        return record.kind == .ephemeral ? .volatile(record.key) : .shared(record.key.owner)
    }
}

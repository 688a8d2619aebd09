import TransferCore
import TransferModel
import TransferRPC

/// trust.list and trust.remove. Both concern only the user who asks.
enum TrustHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        let trust = services.keepers.trust
        table.add(Methods.listTrust) { parameters, context in
            let wanted = try Self.host(parameters)
            return ListedTrust(servers: trust.list(context.peer.uid).filter { wanted == nil || $0.host == wanted })
        }
        table.add(Methods.removeTrust) { parameters, context in
            RemovedTrust(removed: try await trust.remove(host: try Self.host(parameters), of: context.peer.uid))
        }
    }

    /// - Throws: `request.bad_field` if the text is neither a host name nor an address. A URL would match no host, which
    ///   would look like success.
    private static func host(_ selection: TrustSelection) throws(TransferError) -> String? {
        guard let host = selection.host else { return nil }
        let isAddress = host.contains(":") && !host.hasPrefix("[")
        guard !host.isEmpty, !host.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            let url = try? URLRules.parse("https://\(isAddress ? "[\(host)]" : host):443")
        else {
            throw TransferError.bad("host", "give a host name such as example.org, or an address, without a port.")
        }
        return url.host
    }
}

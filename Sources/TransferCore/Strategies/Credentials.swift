import TransferModel

/// Decides which of the given credentials is used: explicit header, bearer, user name (also in the URL), netrc.
enum Credentials {
    /// Leaves in `network` only the credentials that the engine must use.
    static func resolve(_ network: inout NetworkOptions, url: ParsedURL, headers: [HeaderField]) {
        if headers.contains(where: { $0.isNamed("authorization") }) {
            clear(&network)
        } else if network.bearer != nil, url.scheme == .http || url.scheme == .https {
            network.username = nil
            network.password = nil
            network.netrcPath = nil
        } else {
            network.bearer = nil
            if network.username == nil, !network.isOwnRefused, let username = url.username {
                network.username = username
                network.password = url.password ?? network.password
            }
            if network.username != nil { network.netrcPath = nil }
        }
    }

    /// Like `resolve`, but returns the same box if nothing changes: code that compares options then compares only
    /// identities.
    static func resolved(
        _ network: Boxed<NetworkOptions>, url: ParsedURL, headers: [HeaderField]
    ) -> Boxed<NetworkOptions> {
        guard url.username != nil || hasAny(network) else { return network }
        var resolved = network.wrappedValue
        resolve(&resolved, url: url, headers: headers)
        return resolved == network.wrappedValue ? network : Boxed(wrappedValue: resolved)
    }

    private static func hasAny(_ network: Boxed<NetworkOptions>) -> Bool {
        network.wrappedValue.username != nil || network.wrappedValue.password != nil
            || network.wrappedValue.bearer != nil || network.wrappedValue.netrcPath != nil
    }

    private static func clear(_ network: inout NetworkOptions) {
        network.bearer = nil
        network.username = nil
        network.password = nil
        network.netrcPath = nil
    }
}

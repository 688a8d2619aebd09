import TransferModel

/// Decides which of the given credentials counts: explicit header, bearer, user name (also in the URL), netrc.
enum Credentials {
    /// Leaves in `network` only what the engine is to use.
    static func resolve(_ network: inout NetworkOptions, url: ParsedURL, headers: [HeaderField]) {
        if headers.contains(where: { $0.isNamed("authorization") }) {
            clear(&network)
        } else if network.bearer != nil, url.scheme == .http || url.scheme == .https {
            network.username = nil
            network.password = nil
            network.netrcPath = nil
        } else {
            network.bearer = nil
            if network.username == nil, let username = url.username {
                network.username = username
                network.password = url.password ?? network.password
            }
            if network.username != nil { network.netrcPath = nil }
        }
    }

    private static func clear(_ network: inout NetworkOptions) {
        network.bearer = nil
        network.username = nil
        network.password = nil
        network.netrcPath = nil
    }
}

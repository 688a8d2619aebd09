import TransferModel

/// The TLS servers that the user who asks trusts for good.
public enum ListTrust: RPCMethod {
    public static let name = "trust.list"
    public static let summary =
        """
        TLS servers whose keys the caller trusts for good, because an answer `trust` said `permanent`, by name. Tasks of \
        sessions that ask for challenges trust these keys without a question, except in `ephemeral` sessions.
        """
    public static let errors: [ErrorCode] = [.badField]

    public typealias Parameters = TrustSelection

    public struct Result: WireObject, Hashable {
        public var servers: [TrustedServer]

        public init(servers: [TrustedServer]) { self.servers = servers }

        public static let shape = Shape("TrustedServers", Self(servers: [])) { row in
            row("servers", \.servers, "The servers.")
        }
    }
}

/// Withdraws such trust.
public enum RemoveTrust: RPCMethod {
    public static let name = "trust.remove"
    public static let summary =
        """
        Forgets the keys of TLS servers that the caller trusts for good: the next task that meets such a server asks again. \
        Durable when it returns. A task that was answered, or that runs, keeps its trust until it ends.
        """
    public static let errors: [ErrorCode] = [.badField, .diskFull, .diskIO]

    public typealias Parameters = TrustSelection

    public struct Result: WireObject, Hashable {
        public var removed: Int

        public init(removed: Int) { self.removed = removed }

        public static let shape = Shape("RemovedTrust", Self(removed: 0)) { row in
            row("removed", \.removed, "Number of servers that are no longer trusted.")
        }
    }
}

/// Which servers are meant.
public struct TrustSelection: WireObject, Hashable {
    public var host: String?

    public init(host: String? = nil) { self.host = host }

    public static let shape = Shape("TrustSelection", Self()) { row in
        row("host", \.host, "A host name or an address: only its servers, whatever their ports; default: all.")
    }
}

import TransferModel

public struct ListedTrust: WireObject, Hashable {
    public var servers: [TrustedServer]

    public init(servers: [TrustedServer]) { self.servers = servers }

    public static let shape = Shape("TrustedServers", Self(servers: [])) { row in
        row("servers", \.servers, "The servers.")
    }
}

public struct RemovedTrust: WireObject, Hashable {
    public var removed: Int

    public init(removed: Int) { self.removed = removed }

    public static let shape = Shape("RemovedTrust", Self(removed: 0)) { row in
        row("removed", \.removed, "Number of servers that are no longer trusted.")
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

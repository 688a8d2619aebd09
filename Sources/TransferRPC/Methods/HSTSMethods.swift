import TransferModel

public struct ListedHSTS: WireObject, Hashable {
    public var hosts: [HSTSHost]

    public init(hosts: [HSTSHost]) { self.hosts = hosts }

    public static let shape = Shape("HSTSHosts", Self(hosts: [])) { row in
        row("hosts", \.hosts, "Without expired ones.")
    }
}

public struct RemovedHSTS: WireObject, Hashable {
    public var removed: Int

    public init(removed: Int) { self.removed = removed }

    public static let shape = Shape("RemovedHSTS", Self(removed: 0)) { row in
        row("removed", \.removed, "Number of forgotten hosts.")
    }
}

/// Whose hosts are meant, and which.
public struct HSTSSelection: WireObject, Hashable {
    public var session: String?
    public var domain: String?

    public init(session: String? = nil, domain: String? = nil) {
        self.session = session
        self.domain = domain
    }

    public static let shape = Shape("HSTSSelection", Self()) { row in
        row(
            "session", \.session,
            "An `ephemeral` session, for its own hosts; default, and for others: those of the user.")
        row("domain", \.domain, "A host name: only this domain and the names below it; default: all.")
    }
}

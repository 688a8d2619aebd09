import TransferModel

/// The hosts that the user who asks reaches over https alone.
public enum ListHSTS: RPCMethod {
    public static let name = "hsts.list"
    public static let summary =
        "Hosts that have asked to be reached over https alone (RFC 6797), as the caller's tasks have learned them, by name."
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse]

    public typealias Parameters = HSTSSelection

    public struct Result: WireObject, Hashable {
        public var hosts: [HSTSHost]

        public init(hosts: [HSTSHost]) { self.hosts = hosts }

        public static let shape = Shape("HSTSHosts", Self(hosts: [])) { row in
            row("hosts", \.hosts, "Without expired ones.")
        }
    }
}

/// Forgets such hosts.
public enum RemoveHSTS: RPCMethod {
    public static let name = "hsts.remove"
    public static let summary =
        "Forgets hosts that the caller's tasks reach over https alone, until they ask for it again. Durable when it returns."
    public static let errors: [ErrorCode] = [.badField, .sessionNotFound, .sessionInUse, .diskFull, .diskIO]

    public typealias Parameters = HSTSSelection

    public struct Result: WireObject, Hashable {
        public var removed: Int

        public init(removed: Int) { self.removed = removed }

        public static let shape = Shape("RemovedHSTS", Self(removed: 0)) { row in
            row("removed", \.removed, "Number of forgotten hosts.")
        }
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

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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case hosts
        }

        public static let wireName = "HSTSHosts"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .hosts: .required(.list(.object(HSTSHost.self)), "Without expired ones.")
            }
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case removed
        }

        public static let wireName = "RemovedHSTS"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .removed: .required(.integer, "Number of forgotten hosts.")
            }
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case session, domain
    }

    public static let wireName = "HSTSSelection"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .session:
            .optional(
                .string, "An `ephemeral` session, for its own hosts; default, and for others: those of the user.")
        case .domain: .optional(.string, "A host name: only this domain and the names below it; default: all.")
        }
    }
}

extension HSTSHost: WireObject {
    public static let wireName = "HSTSHost"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .domain: .required(.string, "In lower case; beyond ASCII as A-labels (`xn--…`).")
        case .includesSubdomains: .required(.boolean, "The names below the domain too.")
        case .learned: .required(.time, "When the host asked for it last.")
        case .expires: .required(.time, "When it is forgotten, unless it asks again.")
        }
    }
}

extension DomainException: WireObject {
    public static let wireName = "DomainException"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .includesSubdomains: .optional(.boolean, "True: the names below the domain too; default: false.")
        case .allowsInsecureHTTPLoads:
            .optional(
                .boolean,
                "True: unencrypted transfers are allowed there. False, the default: they are refused. Either holds whatever `allowsArbitraryLoads` says."
            )
        case .minimumTLSVersion:
            .optional(.oneOf(TLSVersion.self), "Oldest TLS version to accept there; default: `tlsMinimumVersion`.")
        }
    }
}

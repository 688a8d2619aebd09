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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case servers
        }

        public static let wireName = "TrustedServers"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .servers: .required(.list(.object(TrustedServer.self)), "The servers.")
            }
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

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case removed
        }

        public static let wireName = "RemovedTrust"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .removed: .required(.integer, "Number of servers that are no longer trusted.")
            }
        }
    }
}

/// Which servers are meant.
public struct TrustSelection: WireObject, Hashable {
    public var host: String?

    public init(host: String? = nil) { self.host = host }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case host
    }

    public static let wireName = "TrustSelection"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .host:
            .optional(.string, "A host name or an address: only its servers, whatever their ports; default: all.")
        }
    }
}

extension TrustedServer: WireObject {
    public static let wireName = "TrustedServer"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .host:
            .required(.string, "In lower case; beyond ASCII as A-labels (`xn--…`); an IPv6 address without brackets.")
        case .port: .required(.integer, "The keys are trusted for https at this port alone.")
        case .keys:
            .required(
                .list(.string),
                "`sha256//` and the SHA-256 of the SubjectPublicKeyInfo in Base64, as in questions; the newest last, at most \(Bounds.keysOfServer)."
            )
        case .trusted: .required(.time, "When the newest key was trusted.")
        }
    }
}

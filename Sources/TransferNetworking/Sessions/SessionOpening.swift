import TransferClient
import TransferModel
import TransferRPC

/// Opens a session in the daemon.
struct SessionOpening: Sendable {
    /// What the daemon has of a background session.
    struct Found: Sendable {
        var tasks: [TaskView] = []
        var decisions: [DecisionView] = []
    }

    let parameters: OpenSession
    private let isVolatile: Bool

    /// - Parameter asks: a delegate decides.
    init(_ core: SessionCore, asks: Bool) {
        isVolatile = core.isVolatile
        var configuration = Self.configuration(core.configuration)
        // Foundation follows more redirects than the daemon does by itself.
        configuration.asks = isVolatile ? [.redirect] : []
        if asks { configuration.asks? += isVolatile ? [.challenge, .begin, .cache] : [.challenge, .begin] }
        if !isVolatile {
            configuration.subscriber = Self.subscriber(of: core.name)
            if core.configuration.sessionSendsLaunchEvents, let program = Bundle.main.executableURL?.path {
                var launch = LaunchSpec()
                launch.argv = [program] + CommandLine.arguments.dropFirst()
                configuration.launch = launch
                configuration.sendsLaunchEvents = true
            } else {
                configuration.sendsLaunchEvents = false
            }
        }
        parameters = OpenSession(id: core.name, kind: core.configuration.kind, configuration: configuration)
    }

    static func subscriber(of session: String) -> String { "urlsession:\(session)" }

    /// - Throws: the daemon's refusal, or `ClientError`.
    func run(_ client: DaemonClient) async throws -> Found {
        _ = try await client.call(Methods.openSession, parameters)
        guard isVolatile else {
            var found = Found()
            var list = ListTasks(session: parameters.id)
            repeat {
                let page = try await client.call(Methods.listTasks, list)
                found.tasks += page.tasks
                list.cursor = page.nextCursor
            } while list.cursor != nil
            found.decisions = try await client.call(Methods.listDecisions, .init(session: parameters.id)).decisions
            return found
        }
        var subscription = Subscribe(after: .now)
        subscription.sessions = [parameters.id]
        subscription.types = Notice.types
        subscription.progressInterval = 0.1
        _ = try await client.call(Methods.subscribe, subscription)
        return Found()
    }

    private static func configuration(_ given: URLSessionConfiguration) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.timeoutIntervalForRequest = Mapping.seconds(given.timeoutIntervalForRequest)
        configuration.timeoutIntervalForResource = Mapping.seconds(given.timeoutIntervalForResource)
        configuration.httpMaximumConnectionsPerHost = max(1, given.httpMaximumConnectionsPerHost)
        configuration.httpAdditionalHeaders = Mapping.headers(given.httpAdditionalHeaders ?? [:])
        configuration.httpShouldSetCookies = given.httpShouldSetCookies
        configuration.acceptsAnyStatus = true
        configuration.tlsMinimumVersion =
            switch given.tlsMinimumSupportedProtocolVersion {
            case .TLSv10: .v10
            case .TLSv11: .v11
            case .TLSv12: .v12
            case .TLSv13: .v13
            case nil: nil
            }
        configuration.proxy = proxy(given.connectionProxyDictionary)
        configuration.allowsCellularAccess = given.allowsCellularAccess
        configuration.allowsExpensiveNetworkAccess = given.allowsExpensiveNetworkAccess
        configuration.allowsConstrainedNetworkAccess = given.allowsConstrainedNetworkAccess
        guard given.kind != .background else {
            configuration.isDiscretionary = given.isDiscretionary
            configuration.httpCookieStorage = given.httpCookieStorage == nil ? CookieStorageKind.none : .task
            return configuration
        }
        configuration.httpCookieStorage =
            given.httpCookieStorage.map { $0.isShared ? .shared : .session } ?? CookieStorageKind.none
        configuration.httpCookieAcceptPolicy =
            switch given.httpCookieAcceptPolicy {
            case .always: .always
            case .never: .never
            default: .onlyFromMainDocumentDomain
            }
        configuration.waitsForConnectivity = given.waitsForConnectivity
        configuration.durability = .relaxed
        // A failure ends a task, as at Apple's.
        var retry = RetryPolicySpec()
        retry.attempts = 1
        configuration.retry = retry
        configuration.connectionsPerDownload = 1
        if given.urlCache?.isShared != true {
            var capacities = CacheCapacities()
            capacities.memoryCapacity = ByteCount(Int64(given.urlCache?.memoryCapacity ?? 0))
            let disk = given.kind == .ephemeral ? 0 : given.urlCache?.diskCapacity ?? 0
            capacities.diskCapacity = ByteCount(Int64(disk))
            configuration.urlCache = capacities
        }
        return configuration
    }

    /// The first of Apple's kinds that is enabled.
    private static func proxy(_ dictionary: [AnyHashable: Any]?) -> String? {
        guard let dictionary else { return nil }
        func number(_ key: String) -> Int? { dictionary[key] as? Int ?? (dictionary[key] as? Bool).map { $0 ? 1 : 0 } }
        for (name, scheme) in [("HTTP", "http"), ("HTTPS", "http"), ("SOCKS", "socks5h")] {
            guard number(name + "Enable") != 0, let host = dictionary[name + "Proxy"] as? String else { continue }
            let port = number(name + "Port").map { ":\($0)" } ?? ""
            return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host)\(port)"
        }
        return dictionary.isEmpty ? nil : "none"
    }
}

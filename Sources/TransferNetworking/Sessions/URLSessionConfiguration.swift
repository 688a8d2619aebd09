import Threading
import TransferModel

/// What a session does with its requests. A session keeps a copy: later changes have no effect on it.
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    /// Kinds of multipath connections; only `none` exists here.
    public enum MultipathServiceType: Int, Sendable {
        case none, handover, interactive, aggregate
    }

    private struct Values: @unchecked Sendable {
        var kind = SessionKind.default
        var daemonSocket: String?
        var identifier: String?
        var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
        var timeoutIntervalForRequest: TimeInterval = 60
        var timeoutIntervalForResource: TimeInterval = 604_800
        var networkServiceType = URLRequest.NetworkServiceType.default
        var allowsCellularAccess = true
        var allowsExpensiveNetworkAccess = true
        var allowsConstrainedNetworkAccess = true
        var waitsForConnectivity = false
        var isDiscretionary = false
        var sharedContainerIdentifier: String?
        var sessionSendsLaunchEvents = false
        var connectionProxyDictionary: [AnyHashable: Any]?
        var tlsMinimumSupportedProtocolVersion: TLSProtocolVersion?
        var httpShouldUsePipelining = false
        var httpShouldSetCookies = true
        var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
        var httpAdditionalHeaders: [AnyHashable: Any]?
        var httpMaximumConnectionsPerHost = 6
        var httpCookieStorage: HTTPCookieStorage?
        var urlCredentialStorage: URLCredentialStorage?
        var urlCache: URLCache?
        var shouldUseExtendedBackgroundIdleMode = false
        var protocolClasses: [AnyClass]?
        var multipathServiceType = MultipathServiceType.none
    }

    /// TLS versions by their numbers on the wire (RFC 8446 section 4.1.2).
    public enum TLSProtocolVersion: UInt16, Sendable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        case TLSv10 = 0x0301, TLSv11, TLSv12, TLSv13
    }

    private let values: Guarded<Values>

    private init(values: Values) { self.values = Guarded(values) }

    public override convenience init() {
        var values = Values()
        values.httpCookieStorage = .shared
        values.urlCredentialStorage = .shared
        values.urlCache = .shared
        self.init(values: values)
    }

    static var withoutStores: URLSessionConfiguration { URLSessionConfiguration(values: Values()) }

    /// Uses the user's stores of cookies, credentials and answers. Its tasks end with the process.
    open class var `default`: URLSessionConfiguration { URLSessionConfiguration() }

    /// Keeps cookies, credentials and answers in memory, for itself.
    open class var ephemeral: URLSessionConfiguration {
        var values = Values()
        values.kind = .ephemeral
        let configuration = URLSessionConfiguration(values: values)
        configuration.httpCookieStorage = HTTPCookieStorage(ofSession: nil)
        configuration.urlCredentialStorage = URLCredentialStorage()
        configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0)
        return configuration
    }

    /// A session whose tasks live in the daemon: they outlive this process. One process at a time uses an identifier.
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration()
        configuration.values.withLock {
            $0.kind = .background
            $0.identifier = identifier
            $0.urlCache = nil
        }
        return configuration
    }

    public func copy(with zone: NSZone?) -> Any { URLSessionConfiguration(values: values.withLock { $0 }) }
    open override func copy() -> Any { copy(with: nil) }

    var kind: SessionKind { values.withLock { $0.kind } }
    /// The daemon to use; nil: the user's own, which is started if there is none.
    package var daemonSocket: String? {
        get { self[\.daemonSocket] }
        set { self[\.daemonSocket] = newValue }
    }
    /// Of a background session.
    open var identifier: String? { values.withLock { $0.identifier } }
    open var requestCachePolicy: URLRequest.CachePolicy {
        get { self[\.requestCachePolicy] }
        set { self[\.requestCachePolicy] = newValue }
    }
    /// Seconds without a byte.
    open var timeoutIntervalForRequest: TimeInterval {
        get { self[\.timeoutIntervalForRequest] }
        set { self[\.timeoutIntervalForRequest] = newValue }
    }
    /// Seconds of a whole task; seven days.
    open var timeoutIntervalForResource: TimeInterval {
        get { self[\.timeoutIntervalForResource] }
        set { self[\.timeoutIntervalForResource] = newValue }
    }
    /// Kept, without effect.
    open var networkServiceType: URLRequest.NetworkServiceType {
        get { self[\.networkServiceType] }
        set { self[\.networkServiceType] = newValue }
    }
    /// If false, tasks wait while NetworkManager says that the network is cellular.
    open var allowsCellularAccess: Bool {
        get { self[\.allowsCellularAccess] }
        set { self[\.allowsCellularAccess] = newValue }
    }
    /// If false, tasks wait while NetworkManager says that the network is metered.
    open var allowsExpensiveNetworkAccess: Bool {
        get { self[\.allowsExpensiveNetworkAccess] }
        set { self[\.allowsExpensiveNetworkAccess] = newValue }
    }
    /// If false, tasks wait while the daemon's setting `lowDataMode` is true.
    open var allowsConstrainedNetworkAccess: Bool {
        get { self[\.allowsConstrainedNetworkAccess] }
        set { self[\.allowsConstrainedNetworkAccess] = newValue }
    }
    /// If false, a task fails at once without a network. Background sessions always wait.
    open var waitsForConnectivity: Bool {
        get { self[\.waitsForConnectivity] }
        set { self[\.waitsForConnectivity] = newValue }
    }
    /// If true, tasks of a background session wait while the network is metered or the machine runs on battery. Other
    /// sessions ignore it.
    open var isDiscretionary: Bool {
        get { self[\.isDiscretionary] }
        set { self[\.isDiscretionary] = newValue }
    }
    /// Kept, without effect.
    open var sharedContainerIdentifier: String? {
        get { self[\.sharedContainerIdentifier] }
        set { self[\.sharedContainerIdentifier] = newValue }
    }
    /// Whether the daemon starts this program, with its present arguments, for the events of a background session. False by
    /// default: not every program can be started again at any time.
    open var sessionSendsLaunchEvents: Bool {
        get { self[\.sessionSendsLaunchEvents] }
        set { self[\.sessionSendsLaunchEvents] = newValue }
    }
    /// Apple's keys: `HTTPEnable`, `HTTPProxy`, `HTTPPort`, and the same with HTTPS and SOCKS.
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { self[\.connectionProxyDictionary] }
        set { self[\.connectionProxyDictionary] = newValue }
    }
    /// nil: libcurl's default.
    open var tlsMinimumSupportedProtocolVersion: TLSProtocolVersion? {
        get { self[\.tlsMinimumSupportedProtocolVersion] }
        set { self[\.tlsMinimumSupportedProtocolVersion] = newValue }
    }
    /// Kept, without effect: no browser uses pipelining either.
    open var httpShouldUsePipelining: Bool {
        get { self[\.httpShouldUsePipelining] }
        set { self[\.httpShouldUsePipelining] = newValue }
    }
    open var httpShouldSetCookies: Bool {
        get { self[\.httpShouldSetCookies] }
        set { self[\.httpShouldSetCookies] = newValue }
    }
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { self[\.httpCookieAcceptPolicy] }
        set { self[\.httpCookieAcceptPolicy] = newValue }
    }
    /// Header fields of every request that does not set them.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { self[\.httpAdditionalHeaders] }
        set { self[\.httpAdditionalHeaders] = newValue }
    }
    open var httpMaximumConnectionsPerHost: Int {
        get { self[\.httpMaximumConnectionsPerHost] }
        set { self[\.httpMaximumConnectionsPerHost] = newValue }
    }
    /// nil: cookies are neither taken nor sent.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { self[\.httpCookieStorage] }
        set { self[\.httpCookieStorage] = newValue }
    }
    open var urlCredentialStorage: URLCredentialStorage? {
        get { self[\.urlCredentialStorage] }
        set { self[\.urlCredentialStorage] = newValue }
    }
    /// nil: no answer is stored.
    open var urlCache: URLCache? {
        get { self[\.urlCache] }
        set { self[\.urlCache] = newValue }
    }
    /// Kept, without effect.
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { self[\.shouldUseExtendedBackgroundIdleMode] }
        set { self[\.shouldUseExtendedBackgroundIdleMode] = newValue }
    }
    /// Subclasses of `URLProtocol` that serve requests in this process, the first that can.
    open var protocolClasses: [AnyClass]? {
        get { self[\.protocolClasses] }
        set { self[\.protocolClasses] = newValue }
    }
    /// Kept, without effect.
    open var multipathServiceType: MultipathServiceType {
        get { self[\.multipathServiceType] }
        set { self[\.multipathServiceType] = newValue }
    }

    private subscript<Value>(_ path: WritableKeyPath<Values, Value>) -> Value {
        get { values.withLock { $0[keyPath: path] } }
        set { values.withLock { $0[keyPath: path] = newValue } }
    }
}

/// Apple's name for TLS versions.
public typealias tls_protocol_version_t = URLSessionConfiguration.TLSProtocolVersion

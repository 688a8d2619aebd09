/// What one request and its answer took: steps, connection and bytes. Contains no URL and no header.
public struct ExchangeMetrics: Hashable, Sendable {
    /// Microseconds since `fetchStart`.
    public struct Interval: Hashable, Sendable {
        public var start: Int64
        public var end: Int64

        public init(_ start: Int64, _ end: Int64) {
            self.start = start
            self.end = end
        }
    }

    /// One end of a connection.
    public struct Endpoint: Hashable, Sendable {
        /// IPv4 or IPv6, without brackets.
        public var address: String
        public var port: UInt16

        public init(_ address: String, _ port: UInt16) {
            self.address = address
            self.port = port
        }

        /// `192.0.2.1:80`, `[2001:db8::1]:80`.
        public var text: String {
            address.utf8.contains(UInt8(ascii: ":")) ? "[\(address)]:\(port)" : "\(address):\(port)"
        }
    }

    public struct TLS: WireObject, Hashable {
        public var version: String
        public var cipher: String

        public init(version: String, cipher: String) {
            self.version = version
            self.cipher = cipher
        }

        public static let shape = Shape("TLS", Self(version: "", cipher: "")) { row in
            row("version", \.version, "As OpenSSL names it: `TLSv1.3`.")
            row("cipher", \.cipher, "Likewise: `TLS_AES_256_GCM_SHA384`.")
        }
    }

    /// Names of ALPN (RFC 7301), as far as they are registered.
    public enum TransferProtocol: String, Hashable, Sendable, CaseIterable {
        case http10 = "http/1.0"
        case http11 = "http/1.1"
        case http2 = "h2"
        case http3 = "h3"
        case ftp, ftps, sftp
    }

    /// Microseconds since 1970.
    public var fetchStart: Int64
    public var domainLookup: Interval?
    public var connect: Interval?
    public var secureConnection: Interval?
    public var request: Interval?
    public var response: Interval?
    public var transferProtocol: TransferProtocol?
    /// The request went over a connection that had served another.
    public var isReused = false
    /// Nothing went over the network: the answer came from the cache.
    public var isFromCache = false
    /// Host and port of the proxy, without credentials.
    public var proxy: String?
    /// The peer of the connection: the proxy, if there is one.
    public var remote: Endpoint?
    public var local: Endpoint?
    public var tls: TLS?
    public var requestHeaderBytes: Int64 = 0
    public var requestBodyBytes: Int64 = 0
    public var responseHeaderBytes: Int64 = 0
    public var responseBodyBytes: Int64 = 0

    public init(fetchStart: Int64) { self.fetchStart = fetchStart }
}

/// The exchanges of one task, in the order in which they ended: the newest ones, and the number of older ones dropped.
public struct TaskMetrics: Hashable, Sendable {
    public private(set) var entries: [ExchangeMetrics]
    /// Number of older exchanges that are not kept.
    public private(set) var dropped: Int

    public init(_ entries: [ExchangeMetrics] = [], dropped: Int = 0) {
        self.entries = entries
        self.dropped = dropped
        trim()
    }

    public var isEmpty: Bool { entries.isEmpty }

    public mutating func add(_ entry: ExchangeMetrics) {
        entries.append(entry)
        trim()
    }

    /// Appends what came later.
    public mutating func add(_ later: TaskMetrics) {
        // The exchanges that `later` dropped were newer than all in `entries`.
        if later.dropped > 0 {
            count(entries.count)
            count(later.dropped)
            entries = []
        }
        entries += later.entries
        trim()
    }

    private mutating func trim() {
        let excess = entries.count - Bounds.metrics
        guard excess > 0 else { return }
        entries.removeFirst(excess)
        count(excess)
    }

    /// A damaged store may contain any number.
    private mutating func count(_ gone: Int) {
        let (sum, overflows) = dropped.addingReportingOverflow(gone)
        dropped = overflows ? .max : sum
    }
}

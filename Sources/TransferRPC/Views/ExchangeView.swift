import TransferModel

/// The metrics of one request and its answer, as `task.get` returns them.
public struct ExchangeView: WireObject, Hashable {
    public var fetchStart: Timestamp
    public var domainLookup: PeriodView?
    public var connect: PeriodView?
    public var secureConnection: PeriodView?
    public var request: PeriodView?
    public var response: PeriodView?
    public var `protocol`: String?
    public var reused: Bool
    public var proxy: String?
    public var remote: String?
    public var local: String?
    public var tls: ExchangeMetrics.TLS?
    public var requestHeaderBytes: Int64
    public var requestBodyBytes: Int64
    public var responseHeaderBytes: Int64
    public var responseBodyBytes: Int64
    public var fetchType: FetchType

    public init(_ metrics: ExchangeMetrics) {
        func period(_ interval: ExchangeMetrics.Interval?) -> PeriodView? {
            interval.map { PeriodView(start: Self.time(metrics, $0.start), end: Self.time(metrics, $0.end)) }
        }
        fetchStart = Self.time(metrics, 0)
        domainLookup = period(metrics.domainLookup)
        connect = period(metrics.connect)
        secureConnection = period(metrics.secureConnection)
        request = period(metrics.request)
        response = period(metrics.response)
        `protocol` = metrics.transferProtocol?.rawValue
        reused = metrics.isReused
        proxy = metrics.proxy
        remote = metrics.remote?.text
        local = metrics.local?.text
        tls = metrics.tls
        requestHeaderBytes = metrics.requestHeaderBytes
        requestBodyBytes = metrics.requestBodyBytes
        responseHeaderBytes = metrics.responseHeaderBytes
        responseBodyBytes = metrics.responseBodyBytes
        fetchType = metrics.isFromCache ? .localCache : .networkLoad
    }

    /// Numbers from a damaged store may have any size.
    private static func time(_ metrics: ExchangeMetrics, _ offset: Int64) -> Timestamp {
        let (sum, overflows) = metrics.fetchStart.addingReportingOverflow(offset)
        return Timestamp(milliseconds: (overflows ? .max : sum) / 1000)
    }

    public static let shape = Shape("Exchange", Self(ExchangeMetrics(fetchStart: 0))) { row in
        row("fetchStart", \.fetchStart, "When the network thread got the request.")
        row(
            "domainLookup", \.domainLookup,
            "Lookup of the host's or proxy's name, if a connection was made; almost no time for an address.")
        row(
            "connect", \.connect,
            "Connecting, if a connection was made or tried; with libcurl 7.88 it includes a TLS handshake that fails.")
        row("secureConnection", \.secureConnection, "TLS handshake (sftp: SSH), including a proxy's tunnel before it.")
        row(
            "request", \.request,
            "Sending the request. It ends when the last byte was handed to the kernel. ftp, sftp: the commands before the file."
        )
        row("response", \.response, "From the answer's first byte to its end.")
        row(
            "protocol", \.protocol, "The protocol of the server's answer.",
            as: .choice(ExchangeMetrics.TransferProtocol.allCases.map(\.rawValue)))
        row("reused", \.reused, "True: the request used a connection that had served an earlier request.")
        row("proxy", \.proxy, "Host and port of the proxy, without credentials.")
        row("remote", \.remote, "Address and port at the other end: the proxy's, if there is one. IPv6 in brackets.")
        row("local", \.local, "Address and port at this end.")
        row("tls", \.tls, "The result of the TLS handshake.")
        row(
            "requestHeaderBytes", \.requestHeaderBytes, "Request line and fields; in HTTP/2 as HTTP/1 writes them.",
            as: .byteCount)
        row("requestBodyBytes", \.requestBodyBytes, "Bytes of the request's body that were sent.", as: .byteCount)
        row(
            "responseHeaderBytes", \.responseHeaderBytes,
            "Status line, fields and trailers, interim answers too; in HTTP/2 as HTTP/1 writes them.", as: .byteCount)
        row(
            "responseBodyBytes", \.responseBodyBytes, "Bytes of the answer's body that arrived, before decoding.",
            as: .byteCount)
        row("fetchType", \.fetchType, "Where the answer came from.")
    }
}

/// Where an answer comes from.
public enum FetchType: String, Word {
    case networkLoad, localCache
}

/// A period of time.
public struct PeriodView: WireObject, Hashable {
    public var start: Timestamp
    public var end: Timestamp

    public init(start: Timestamp, end: Timestamp) {
        self.start = start
        self.end = end
    }

    public static let shape = Shape("Period", Self(start: Timestamp(milliseconds: 0), end: Timestamp(milliseconds: 0)))
    { row in
        row("start", \.start, "When it began.")
        row("end", \.end, "When it ended, or when the exchange did.")
    }
}

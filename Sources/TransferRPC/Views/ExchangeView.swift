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
    public var tls: TLSView?
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
        tls = metrics.tls.map { TLSView(version: $0.version, cipher: $0.cipher) }
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case fetchStart, domainLookup, connect, secureConnection, request, response, `protocol`, reused, proxy, remote,
            local, tls, requestHeaderBytes, requestBodyBytes, responseHeaderBytes, responseBodyBytes, fetchType
    }

    public static let wireName = "Exchange"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .fetchStart: .required(.time, "When the network thread got the request.")
        case .domainLookup:
            .optional(
                .object(PeriodView.self),
                "Lookup of the host's or proxy's name, if a connection was made; almost no time for an address.")
        case .connect:
            .optional(
                .object(PeriodView.self),
                "Connecting, if a connection was made or tried; with libcurl 7.88 it includes a TLS handshake that fails."
            )
        case .secureConnection:
            .optional(.object(PeriodView.self), "TLS handshake (sftp: SSH), including a proxy's tunnel before it.")
        case .request:
            .optional(
                .object(PeriodView.self),
                "Sending the request. It ends when the last byte was handed to the kernel. ftp, sftp: the commands before the file."
            )
        case .response: .optional(.object(PeriodView.self), "From the answer's first byte to its end.")
        case .protocol:
            .optional(
                .choice(ExchangeMetrics.TransferProtocol.allCases.map(\.rawValue)),
                "The protocol of the server's answer.")
        case .reused: .required(.boolean, "True: the request used a connection that had served an earlier request.")
        case .proxy: .optional(.string, "Host and port of the proxy, without credentials.")
        case .remote:
            .optional(.string, "Address and port at the other end: the proxy's, if there is one. IPv6 in brackets.")
        case .local: .optional(.string, "Address and port at this end.")
        case .tls: .optional(.object(TLSView.self), "The result of the TLS handshake.")
        case .requestHeaderBytes: .required(.byteCount, "Request line and fields; in HTTP/2 as HTTP/1 writes them.")
        case .requestBodyBytes: .required(.byteCount, "Bytes of the request's body that were sent.")
        case .responseHeaderBytes:
            .required(
                .byteCount, "Status line, fields and trailers, interim answers too; in HTTP/2 as HTTP/1 writes them.")
        case .responseBodyBytes: .required(.byteCount, "Bytes of the answer's body that arrived, before decoding.")
        case .fetchType: .required(.oneOf(FetchType.self), "Where the answer came from.")
        }
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

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case start, end
    }

    public static let wireName = "Period"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .start: .required(.time, "When it began.")
        case .end: .required(.time, "When it ended, or when the exchange did.")
        }
    }
}

/// TLS of a connection.
public struct TLSView: WireObject, Hashable {
    public var version: String
    public var cipher: String

    public init(version: String, cipher: String) {
        self.version = version
        self.cipher = cipher
    }

    public enum CodingKeys: String, CodingKey, CaseIterable {
        case version, cipher
    }

    public static let wireName = "TLS"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .version: .required(.string, "As OpenSSL names it: `TLSv1.3`.")
        case .cipher: .required(.string, "Likewise: `TLS_AES_256_GCM_SHA384`.")
        }
    }
}

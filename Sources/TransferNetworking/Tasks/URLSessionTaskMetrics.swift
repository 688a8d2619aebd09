import TransferModel
import TransferRPC

/// How long a task and each of its requests took.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    /// Where an answer came from.
    public enum ResourceFetchType: Int, Sendable {
        case unknown, networkLoad, serverPush, localCache
    }
    /// How a name was resolved; the daemon does not tell.
    public enum DomainResolutionProtocol: Int, Sendable {
        case unknown, udp, tcp, tls, https
    }

    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    public let taskInterval: DateInterval
    public let redirectCount: Int

    init(_ view: TaskView?, _ task: URLSessionTask) {
        let count = view?.metrics?.count ?? 0
        transactionMetrics = (view?.metrics ?? []).enumerated().map { index, exchange in
            URLSessionTaskTransactionMetrics(exchange, task, isLast: index == count - 1)
        }
        taskInterval = DateInterval(start: task.course.began, end: max(task.course.began, Date()))
        redirectCount = task.course.redirects
    }
}

/// How long one request and its response took.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    /// The task's last request.
    public let request: URLRequest
    /// nil for a request whose answer was not the task's last.
    public let response: URLResponse?
    public let fetchStartDate: Date?
    public let domainLookupStartDate, domainLookupEndDate: Date?
    public let connectStartDate, connectEndDate: Date?
    public let secureConnectionStartDate, secureConnectionEndDate: Date?
    public let requestStartDate, requestEndDate: Date?
    public let responseStartDate, responseEndDate: Date?
    public let networkProtocolName: String?
    public let isProxyConnection: Bool
    public let isReusedConnection: Bool
    public let resourceFetchType: URLSessionTaskMetrics.ResourceFetchType
    public let countOfRequestHeaderBytesSent, countOfRequestBodyBytesSent: Int64
    public let countOfRequestBodyBytesBeforeEncoding: Int64
    public let countOfResponseHeaderBytesReceived, countOfResponseBodyBytesReceived: Int64
    public let countOfResponseBodyBytesAfterDecoding: Int64
    public let localAddress, remoteAddress: String?
    public let localPort, remotePort: Int?
    public let negotiatedTLSProtocolVersion: tls_protocol_version_t?
    /// By IANA's number; the daemon tells its name only.
    public let negotiatedTLSCipherSuite: UInt16?
    public let isCellular = false
    public let isExpensive = false
    public let isConstrained = false
    public let isMultipath = false
    public let domainResolutionProtocol = URLSessionTaskMetrics.DomainResolutionProtocol.unknown

    init(_ exchange: ExchangeView, _ task: URLSessionTask, isLast: Bool) {
        func date(_ time: Timestamp?) -> Date? { time.map { Date(timeIntervalSince1970: Double($0.rawValue) / 1000) } }
        func split(_ address: String?) -> (String?, Int?) {
            guard let address, let colon = address.lastIndex(of: ":") else { return (address, nil) }
            return (
                String(address[..<colon]).trimmingCharacters(in: ["[", "]"]),
                Int(address[address.index(after: colon)...])
            )
        }
        request = task.currentRequest ?? task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
        response = isLast ? task.response : nil
        fetchStartDate = date(exchange.fetchStart)
        (domainLookupStartDate, domainLookupEndDate) = (
            date(exchange.domainLookup?.start), date(exchange.domainLookup?.end)
        )
        (connectStartDate, connectEndDate) = (date(exchange.connect?.start), date(exchange.connect?.end))
        (secureConnectionStartDate, secureConnectionEndDate) = (
            date(exchange.secureConnection?.start), date(exchange.secureConnection?.end)
        )
        (requestStartDate, requestEndDate) = (date(exchange.request?.start), date(exchange.request?.end))
        (responseStartDate, responseEndDate) = (date(exchange.response?.start), date(exchange.response?.end))
        networkProtocolName = exchange.protocol
        isProxyConnection = exchange.proxy != nil
        isReusedConnection = exchange.reused
        resourceFetchType = exchange.fetchType == .localCache ? .localCache : .networkLoad
        countOfRequestHeaderBytesSent = exchange.requestHeaderBytes
        countOfRequestBodyBytesSent = exchange.requestBodyBytes
        countOfRequestBodyBytesBeforeEncoding = exchange.requestBodyBytes
        countOfResponseHeaderBytesReceived = exchange.responseHeaderBytes
        countOfResponseBodyBytesReceived = exchange.responseBodyBytes
        countOfResponseBodyBytesAfterDecoding = isLast ? task.countOfBytesReceived : exchange.responseBodyBytes
        (localAddress, localPort) = split(exchange.local)
        (remoteAddress, remotePort) = split(exchange.remote)
        negotiatedTLSProtocolVersion =
            switch exchange.tls?.version {
            case let text? where text.hasSuffix("1.3"): .TLSv13
            case let text? where text.hasSuffix("1.2"): .TLSv12
            case let text? where text.hasSuffix("1.1"): .TLSv11
            case _?: .TLSv10
            case nil: nil
            }
        negotiatedTLSCipherSuite = nil
    }
}

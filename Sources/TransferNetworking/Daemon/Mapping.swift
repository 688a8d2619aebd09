import TransferModel
import TransferRPC

/// How values of the URL loading system and of the daemon's protocol correspond.
enum Mapping {
    // MARK: Requests

    /// What programs set although URLSession says that it sets them itself, and properties of a `URLProtocol`.
    private static let unsent: Set = [
        "accept-encoding", "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", URLProtocol.propertyField.lowercased(),
    ]

    static func headers(of request: URLRequest) -> [HeaderField] { headers(request.allHTTPHeaderFields ?? [:]) }
    static func headers(_ fields: [AnyHashable: Any]) -> [HeaderField] {
        fields.map { HeaderField("\($0.key)", "\($0.value)") }.filter { !unsent.contains($0.name.lowercased()) }
            .sorted { $0.name < $1.name }
    }

    /// A timeout that the daemon accepts: infinity stands for the longest.
    static func seconds(_ interval: TimeInterval) -> Seconds {
        Seconds(rawValue: interval > 0.001 ? min(interval, Bounds.longestTimeout) : 0.001)
    }

    /// The nearest time in the years 1 to 9999, which can be written.
    static func time(_ date: Date) -> Timestamp {
        let (first, last) = (-62_135_769_600_000.0, 253_402_300_799_999.0)
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        return Timestamp(milliseconds: Int64(milliseconds > first ? min(milliseconds, last) : first))
    }

    static func body(_ data: Data) -> RequestBody {
        var body = RequestBody()
        body.base64 = data.base64EncodedString()
        return body
    }

    /// In answers to questions. What is as proposed is left out: the question does not show secrets of URLs.
    static func request(_ request: URLRequest, insteadOf proposed: URLRequest? = nil) -> TaskRequest {
        var result = TaskRequest()
        if request.url != proposed?.url { result.url = request.url?.absoluteString }
        if request.httpMethod != proposed?.httpMethod { result.method = request.httpMethod }
        if proposed == nil || request.allHTTPHeaderFields != proposed?.allHTTPHeaderFields {
            result.headers = headers(of: request)
        }
        if let body = request.httpBody, body != proposed?.httpBody { result.body = Mapping.body(body) }
        return result
    }

    /// The request of a question, with the values that the question does not show.
    static func proposed(_ question: TaskRequest, _ current: URLRequest?) -> URLRequest? {
        guard let url = question.url.flatMap({ URL(string: $0) }) else { return nil }
        var request = current ?? URLRequest(url: url)
        request.url = url
        let method = question.method ?? "GET"
        request.httpMethod = method
        if ["GET", "HEAD"].contains(method.uppercased()) { (request.httpBody, request.httpBodyStream) = (nil, nil) }
        var fields: [String: String] = [:]
        for field in question.headers ?? [] {
            fields[field.name] =
                field.value.hasSuffix(HeaderField.mask)
                ? current?.value(forHTTPHeaderField: field.name) ?? field.value : field.value
        }
        request.allHTTPHeaderFields = fields
        return request
    }

    static func policy(_ policy: URLRequest.CachePolicy) -> RequestCachePolicy? {
        switch policy {
        case .useProtocolCachePolicy: nil
        case .reloadIgnoringLocalCacheData: .reloadIgnoringLocalCacheData
        case .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringLocalAndRemoteCacheData
        case .returnCacheDataElseLoad: .returnCacheDataElseLoad
        case .returnCacheDataDontLoad: .returnCacheDataDontLoad
        case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
        }
    }

    // MARK: Responses

    /// Repeated fields are one value, joined by commas (RFC 9110 section 5.3).
    static func response(_ info: ResponseInfo) -> URLResponse {
        let url = URL(string: info.url) ?? URL(fileURLWithPath: info.url)
        guard let status = info.status, url.scheme?.hasPrefix("http") ?? false else {
            return URLResponse(
                url: url, mimeType: info.mimeType, expectedContentLength: Int(info.expectedLength),
                textEncodingName: info.textEncoding)
        }
        var fields: [String: String] = [:]
        var spelling: [String: String] = [:]
        for field in info.headers {
            let name = spelling[field.name.lowercased()] ?? field.name
            spelling[field.name.lowercased()] = name
            fields[name] = fields[name].map { $0 + ", " + field.value } ?? field.value
        }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
            ?? URLResponse(url: url, mimeType: info.mimeType, expectedContentLength: -1, textEncodingName: nil)
    }

    // MARK: Errors

    static func error(_ error: any Error, _ url: URL?) -> URLError {
        guard let failure = error as? TransferError else {
            let code = (error as? URLError)?.code ?? .networkConnectionLost
            return URLError(code, userInfo: [NSLocalizedDescriptionKey: "\(error)"])
        }
        var info: [String: Any] = [NSLocalizedDescriptionKey: failure.message]
        if let url { info[NSURLErrorFailingURLErrorKey] = url }
        // A scheme that data tasks have, and a URL that is wrong otherwise.
        let isBad = failure.code == .badURL && url.flatMap { $0.scheme }.map(schemes.contains) == true
        return URLError(isBad ? .badURL : code(of: failure), userInfo: info)
    }

    private static let schemes: Set = ["http", "https"]

    /// Foundation's words for errors that this library makes; the daemon's come with its own.
    static func words(for code: URLError.Code) -> String? {
        switch code {
        case .cancelled: "cancelled"
        case .unsupportedURL: "unsupported URL"
        case .dataLengthExceedsMaximum: "resource exceeds maximum size"
        case .httpTooManyRedirects: "too many HTTP redirects"
        case .networkConnectionLost: "The network connection was lost."
        default: nil
        }
    }

    private static func code(of error: TransferError) -> URLError.Code {
        switch error.code {
        case .badURL: .unsupportedURL
        case .networkDNS: .cannotFindHost
        case .networkConnect: .cannotConnectToHost
        case .networkLost, .validatorChanged, .shuttingDown, .stateNewer, .taskNotFound, .sessionNotFound,
            .sessionInUse:
            .networkConnectionLost
        case .networkTimeout, .deadlineExceeded: .timedOut
        case .tlsUntrusted:
            switch error.details["certificate"]?.stringValue {
            case "expired", "revoked": .serverCertificateHasBadDate
            case "not_yet_valid": .serverCertificateNotYetValid
            case "unknown_issuer", "self_signed": .serverCertificateHasUnknownRoot
            default: .serverCertificateUntrusted
            }
        case .tlsFailed: .secureConnectionFailed
        case .httpRedirectLimit: .httpTooManyRedirects
        case .httpProtocol where error.details["decompressionBomb"]?.boolValue == true: .cannotDecodeContentData
        case .httpStatus, .httpProtocol, .integrityChecksum, .integrityLength: .badServerResponse
        case .authRequired, .authFailed: .userAuthenticationRequired
        case .cancelled, .sessionInvalidated: .cancelled
        case .plaintextRefused: .appTransportSecurityRequiresSecureConnection
        case .conditionsRefused: .dataNotAllowed
        case .cacheMiss: .resourceUnavailable
        case .tooLarge: .dataLengthExceedsMaximum
        case .sourceUnreadable: .fileDoesNotExist
        case .permissionDenied: .noPermissionsToReadFile
        case .destinationExists, .destinationNotWritable, .destinationBadPath: .cannotCreateFile
        case .diskFull, .diskQuota, .diskIO: .cannotWriteToFile
        default: .unknown
        }
    }
}

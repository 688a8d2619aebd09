import TransferCore
import TransferModel

extension ResponseInfo {
    init(_ head: ResponseHead, requested: String, verdict: Verdict) {
        let contentType = head.values("Content-Type").last
        let (total, begin): (Int64, ByteCount) =
            switch verdict {
            case .accept(let acceptance): (acceptance.total?.rawValue ?? -1, acceptance.offset)
            case .stop where head.status == 206: (head.size?.rawValue ?? -1, .zero)
            case .stop:
                (head.size?.rawValue ?? head.values("Content-Length").last.flatMap { Int64($0) } ?? -1, .zero)
            }
        self.init(
            url: head.redirects > 0 ? URLRules.withoutSecrets(head.url) : URLRules.withoutCredentials(head.url),
            status: head.status, statusText: head.status.map { HTTPStatus.text($0) },
            mimeType: contentType.map { MediaType.essence($0) },
            textEncoding: contentType.flatMap { MediaType.parameter("charset", of: $0) },
            expectedLength: total,
            suggestedFilename: FilenameRules.suggested(head: head, url: requested),
            resumedFrom: begin > .zero ? begin.rawValue : nil)
        if let cachedAge = head.cachedAge { (fromCache, age) = (true, cachedAge) }
        show(head.headers, atMost: Self.keptHeaderBytes)
    }

    /// The most bytes of header fields in lists and events. Otherwise each attempt with a server that sends more would
    /// grow the event log by what libcurl accepts, 300 KiB. `WholeHead` has all fields.
    static let keptHeaderBytes = 16 << 10

    /// Fields that most answers have, and that contain no secret.
    static let plain = [
        "server", "date", "content-type", "content-length", "last-modified", "connection", "etag", "accept-ranges",
        "cache-control", "expires", "vary", "age", "content-encoding", "transfer-encoding", "content-range",
        "keep-alive", "content-disposition",
    ]

    /// `plain` by the length of the name, because only few have the same length.
    private static let plainByLength = (0...(plain.map(\.utf8.count).max() ?? 0)).map { length in
        plain.filter { $0.utf8.count == length }
    }

    private static func shown(_ header: HeaderField) -> String {
        let length = header.name.utf8.count
        if length < plainByLength.count, plainByLength[length].contains(where: header.isNamed) { return header.value }
        return header.shownValue
    }

    /// Shows the fields that fit, with repeats joined by commas (RFC 9110 section 5.3), in the order of first
    /// appearance. Credentials are masked here, because the event about an answer is stored unchanged.
    mutating func show(_ headers: [HeaderField], atMost limit: Int = .max) {
        var result: [HeaderField] = []
        result.reserveCapacity(headers.count)
        var room = limit
        headersTruncated = nil
        for header in headers where !header.isNamed("set-cookie") {
            let size = header.name.utf8.count + header.value.utf8.count + 4
            guard size <= room else {
                headersTruncated = true
                continue
            }
            room -= size
            let value = Self.shown(header)
            if let place = result.firstIndex(named: header.name) {
                result[place].value += ", " + value
            } else {
                result.append(HeaderField(header.name, value))
            }
        }
        self.headers = result
    }

    /// The coding of the body that remains, which the file's name shows.
    var contentCoding: String? {
        ResponseHead(url: url, headers: headers).contentCoding
    }
}

extension HeaderField {
    /// The value for clients and logs: without credentials, also in URLs.
    var shownValue: String {
        if isURL { return URLRules.withoutSecrets(value) }
        let shown = masked
        return shown.maskedToken ?? URLRules.maskingURLs(in: shown.value, holdsReferences: isNamed("link"))
    }

    /// Whether the value is a URL, perhaps a relative one, as defined for the field.
    var isURL: Bool { ["location", "content-location", "refresh", "referer"].contains(where: isNamed) }
}

extension WholeHead {
    /// nil if `response` shows the whole header, as for nearly all answers. Then it is stored only once.
    init?(_ head: ResponseHead, beyond response: ResponseInfo) {
        guard head.url != response.url || head.headers != response.headers else { return nil }
        self.init(url: head.url, headers: head.headers)
    }
}

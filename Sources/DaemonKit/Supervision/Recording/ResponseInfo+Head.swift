import TransferCore
import TransferModel
import TransferRPC

extension ResponseInfo {
    init(_ head: ResponseHead, requested: String, verdict: Verdict) {
        let contentType = head.values("Content-Type").last
        let (total, begin): (Int64, ByteCount) =
            switch verdict {
            case .accept(let acceptance): (acceptance.total?.rawValue ?? -1, acceptance.offset)
            case .stop: (head.size?.rawValue ?? -1, .zero)
            }
        self.init(
            url: head.redirects > 0 ? URLRules.withoutSecrets(head.url) : URLRules.withoutCredentials(head.url),
            status: head.status,
            statusText: head.status.map { HTTPStatus.text($0) }, headers: Self.joined(head.headers),
            mimeType: contentType.map { MediaType.essence($0) },
            textEncoding: contentType.flatMap { MediaType.parameter("charset", of: $0) },
            expectedLength: total,
            suggestedFilename: FilenameRules.suggested(head: head, url: requested),
            resumedFrom: begin > .zero ? begin.rawValue : nil)
    }

    /// Most bytes of header fields that are kept of one answer: each attempt of a server that sends more would grow the
    /// event log by what libcurl lets through, 300 KB.
    static let keptHeaderBytes = 16 << 10

    /// Fields that most answers have, and that tell no secret.
    static let plain = [
        "server", "date", "content-type", "content-length", "last-modified", "connection", "etag", "accept-ranges",
        "cache-control", "expires", "vary", "age", "content-encoding", "transfer-encoding", "content-range",
        "keep-alive", "content-disposition",
    ]

    private static func shown(_ header: HeaderField) -> String {
        if plain.contains(where: header.isNamed) { return header.value }
        return placing.contains(where: header.isNamed) ? URLRules.withoutSecrets(header.value) : header.masked.value
    }

    /// Fields whose value is a URL.
    private static let placing = ["location", "content-location", "refresh"]

    /// Repeats comma-joined (RFC 9110 section 5.3), in the order of first appearance; those that fit. Credentials are
    /// masked here already: the event that tells of an answer is stored as it is.
    private static func joined(_ headers: [HeaderField]) -> [HeaderField] {
        var result: [HeaderField] = []
        result.reserveCapacity(headers.count)
        var room = keptHeaderBytes
        for header in headers {
            let size = header.name.utf8.count + header.value.utf8.count + 4
            guard size <= room, !header.isNamed("set-cookie") else { continue }
            room -= size
            let value = shown(header)
            if let place = result.firstIndex(where: { $0.isNamed(header.name) }) {
                result[place].value += ", " + value
            } else {
                result.append(HeaderField(header.name, value))
            }
        }
        return result
    }

    /// What of the body remains coded is said by the file's name.
    var contentCoding: String? {
        ContentCodingRules.coding(of: ResponseHead(url: url, headers: headers))
    }

    var jsonValue: JSONValue {
        var members: [String: JSONValue] = [
            "url": .string(url), "expectedLength": .integer(expectedLength),
            "headers": .array(headers.map { .array([.string($0.name), .string($0.value)]) }),
        ]
        members["status"] = status.map { .integer(Int64($0)) }
        members["statusText"] = statusText.map { .string($0) }
        members["mimeType"] = mimeType.map { .string($0) }
        members["textEncoding"] = textEncoding.map { .string($0) }
        members["suggestedFilename"] = suggestedFilename.map { .string($0) }
        members["resumedFrom"] = resumedFrom.map { .integer($0) }
        return .object(members)
    }
}

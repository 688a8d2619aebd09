import TransferModel

/// The body of a request to a helper.
package enum HelperBody: Sendable, Hashable {
    case bytes([UInt8])
    /// A whole file that is too long for a line. The helper reads it itself.
    case file(String, ByteCount)
}

/// A request to a helper, and the daemon's lines about it.
package struct HelperOrder: Sendable, Hashable {
    package var url: String
    package var method: String
    package var headers: [HeaderField]
    /// The offset at which the helper should begin.
    package var offset: Int64
    /// Identifies the version of the held bytes; nil if no bytes are held, or if a digest proves the whole.
    package var validator: String?
    package var body: HelperBody?
    /// The whole length of that version.
    package var heldTotal: Int64?

    /// The longest body in bytes that `load` carries.
    package static let longestBody = 1 << 20

    package init(_ exchange: Exchange) {
        url = exchange.url
        method = exchange.method ?? "GET"
        headers = exchange.headers
        let range = exchange.ownHeaders.values(named: "range").first
        offset = range.flatMap { Int64($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
        validator = exchange.ownHeaders.values(named: "if-range").first.flatMap(Self.validator(of:))
        heldTotal = (exchange.judge as? HTTPJudge)?.held?.total?.rawValue
    }

    // MARK: Lines

    /// With its line feed.
    package func load(_ id: Int64) -> [UInt8] {
        var members: [String: JSONValue] = [
            "id": .integer(id), "url": .string(url), "method": .string(method),
            "headers": .array(headers.map { [.string($0.name), .string($0.value)] }), "offset": .integer(offset),
            "validator": validator.map { .string($0) } ?? .null,
        ]
        switch body {
        case .bytes(let bytes)?: members["body"] = ["base64": .string(bytes.base64)]
        case .file(let path, let size)?: members["body"] = ["file": .string(path), "size": .integer(size.rawValue)]
        case nil: break
        }
        return Self.line("load", members)
    }

    package static func cancel(_ id: Int64) -> [UInt8] { line("cancel", ["id": .integer(id)]) }

    /// The line that answers a challenge.
    /// - Parameter credential: nil if there is none. The helper then continues without it.
    package static func answer(_ id: Int64, _ credential: (username: String, password: String)?) -> [UInt8] {
        guard let credential else {
            return line(
                "answer", ["id": .integer(id), "decision": .string(DecisionAction.rejectProtectionSpace.rawValue)])
        }
        return line(
            "answer",
            [
                "id": .integer(id), "decision": .string(DecisionAction.useCredential.rawValue),
                "credential": [
                    "username": .string(credential.username), "password": .string(credential.password),
                ],
            ])
    }

    private static func line(_ type: String, _ members: [String: JSONValue]) -> [UInt8] {
        let object = JSONValue.object(members.merging(["type": .string(type)]) { $1 })
        // This cannot fail, because the values are strings and integers.
        return JSONCoding.encode(object) + [UInt8(ascii: "\n")]
    }

    // MARK: Answers

    /// Fields that frame a body or name its version. Members of the protocol replace them.
    private static let dropped: Set<String> = RequestHeaders.framing.union([
        "content-range", "accept-ranges", "etag", "date", "set-cookie",
    ])

    /// The answer as a header of HTTP, so that the judge and the strategy of HTTP can be used.
    package func head(of response: HelperResponse) -> ResponseHead {
        var head = ResponseHead(url: url, status: response.status ?? 200)
        head.headers = response.headers.filter { !Self.dropped.contains($0.name.lowercased()) }
        if let name = response.suggestedFilename, head.values("content-disposition").isEmpty {
            let encoded = PathSegment.encoded(name)
            head.headers.append(HeaderField("Content-Disposition", "attachment; filename*=UTF-8''\(encoded)"))
        }
        if let validator = response.validator { head.headers.append(HeaderField("ETag", Self.tag(of: validator))) }
        let isSuccess = head.status.map { (200..<300).contains($0) } ?? false
        guard isSuccess, response.offset > 0, let total = total(of: response) else {
            if isSuccess, head.status == 206 { head.status = 200 }
            // The helper has started over, whatever the version. Asking again would give the same result.
            if offset > 0 { head.headers.append(HeaderField("Accept-Ranges", "none")) }
            if let length = response.length { head.headers.append(HeaderField("Content-Length", "\(length)")) }
            return head
        }
        head.status = 206
        head.headers.append(HeaderField("Content-Range", "bytes \(response.offset)-\(total - 1)/\(total)"))
        return head
    }

    /// Whether an answer continues the held bytes: it has their validator, and its end is known. An answer from 0
    /// continues nothing.
    package func isContinued(by response: HelperResponse) -> Bool {
        guard response.offset > 0, total(of: response) != nil else { return false }
        return validator == nil || response.validator == validator
    }

    /// The length of the whole resource, even if the helper gives that of the rest. nil if it is unknown or impossible.
    func total(of response: HelperResponse) -> Int64? {
        guard var total = response.length ?? heldTotal else { return nil }
        if let heldTotal, total != heldTotal, total == heldTotal - response.offset { total = heldTotal }
        return total > response.offset ? total : nil
    }

    /// A validator as a strong entity tag (RFC 9110 section 8.8.3). It may contain any characters.
    static func tag(of validator: String) -> String { "\"\(PathSegment.encoded(validator))\"" }

    static func validator(of tag: String) -> String? {
        guard Validators.isStrong(tag) else { return nil }
        return String(validating: PercentCoding.decode(tag.dropFirst().dropLast()), as: UTF8.self)
    }
}

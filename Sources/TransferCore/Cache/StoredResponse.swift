import TransferModel

/// An answer as a cache keeps it, without its body: how long it is fresh, and which requests it may answer.
///
/// Times are of the wall clock, in seconds since 1970 (RFC 9111 section 4.2.3).
package struct StoredResponse: Sendable, Hashable {
    package var status: Int
    package var httpVersion: String?
    package var reason: String?
    package var headers: [HeaderField] { didSet { said = Said(headers) } }
    /// The statements of `headers` about freshness. They are read once, because each task that requests the URL needs
    /// them.
    private var said: Said
    /// When the request that brought or last validated it was made.
    package var requestTime: Int64
    /// When its header arrived, or that of the 304 that last validated it.
    package var responseTime: Int64
    /// The request's fields that chose it (section 4.1).
    package var selection: CacheSelection

    package init(
        status: Int, httpVersion: String? = nil, reason: String? = nil, headers: [HeaderField], requestTime: Int64,
        responseTime: Int64, selection: CacheSelection
    ) {
        self.status = status
        self.httpVersion = httpVersion
        self.reason = reason
        self.headers = headers
        said = Said(headers)
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.selection = selection
    }

    package var directives: CacheControl { said.directives }

    // MARK: Age

    /// Seconds since the origin made or validated it (section 4.2.3).
    package func age(at now: Int64) -> Int64 {
        let apparent = max(0, responseTime - (date ?? responseTime))
        let corrected = said.age + max(0, responseTime - requestTime)
        return min(max(apparent, corrected) + max(0, now - responseTime), CacheControl.longest)
    }

    private var date: Int64? { said.date }

    // MARK: Freshness

    /// How long it is fresh, in seconds (section 4.2.1): `max-age`, or else Expires, or else an estimate.
    package var lifetime: Int64 {
        if let explicit = said.directives.maxAge { return explicit }
        guard let end = said.expiry else { return heuristicLifetime(isPublic: said.directives.isPublic) }
        return end == .min ? 0 : max(0, min(end - (date ?? responseTime), CacheControl.longest))
    }

    /// A tenth of the time for which the resource had not changed (section 4.2.2), at most a day.
    private func heuristicLifetime(isPublic: Bool) -> Int64 {
        guard isPublic || CacheRequest.isHeuristicallyCacheable(status),
            let modified = said.modified
        else { return 0 }
        return max(0, min(((date ?? responseTime) - modified) / 10, Self.longestGuess))
    }

    static let longestGuess: Int64 = 86_400

    /// The clock was set back since the answer was stored, so its age is unknown.
    package func isOfTheFuture(at now: Int64) -> Bool { now < responseTime }

    package func isFresh(at now: Int64) -> Bool { !isOfTheFuture(at: now) && age(at: now) < lifetime }

    // MARK: Validation

    /// Fields that ask the server whether this is still its answer (section 4.3.1); empty if it has no validator.
    package var validators: [HeaderField] {
        var fields: [HeaderField] = []
        if let tag = entityTag { fields.append(HeaderField("If-None-Match", tag)) }
        if let modified = headers.values(named: "last-modified").first?.trimmed, HTTPDate.parse(modified) != nil {
            fields.append(HeaderField("If-Modified-Since", modified))
        }
        return fields
    }

    private var entityTag: String? {
        headers.values(named: "etag").first.map(\.trimmed).flatMap { Validators.isStrong(Self.opaque($0)) ? $0 : nil }
    }

    /// Weak comparison (RFC 9110 section 8.8.3.2).
    private static func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }

    /// The same answer with the new fields of a 304 (sections 3.2 and 4.3.4); nil if the 304 is for another version.
    package func freshened(by head: ResponseHead, requestTime: Int64, responseTime: Int64) -> StoredResponse? {
        if let known = headers.values(named: "etag").first?.trimmed, let now = head.values("etag").first?.trimmed,
            Self.opaque(known) != Self.opaque(now)
        {
            return nil
        }
        var result = self
        let news = CacheRequest.kept(head.headers).filter { !Self.describesBody($0) }
        result.headers.removeAll { field in
            // The earlier Age does not apply to the validated answer.
            field.isNamed("age") || news.contains { $0.isNamed(field.name) }
        }
        result.headers += news
        result.requestTime = requestTime
        result.responseTime = responseTime
        return result
    }

    /// Whether the field describes the stored body, and is not replaced (section 3.2).
    private static func describesBody(_ field: HeaderField) -> Bool {
        describing.contains { field.isNamed($0) }
    }

    private static let describing = ["content-encoding", "content-type", "content-range", "content-length"]

    /// The header that a task gets, with the current Age (section 4).
    package func head(of url: String, age: Int64) -> ResponseHead {
        var headers = headers.filter { !$0.isNamed("age") }
        headers.append(HeaderField("Age", String(age)))
        var head = ResponseHead(url: url, status: status, httpVersion: httpVersion, reason: reason, headers: headers)
        head.cachedAge = age
        return head
    }
}

extension StoredResponse {
    private struct Said: Sendable, Hashable {
        var directives: CacheControl
        var date: Int64?
        /// Seconds.
        var age: Int64
        /// According to its Expires fields. Fields that differ from each other, or are not dates in a valid format (such
        /// as `0`), count as the past (section 5.3): `Int64.min`.
        var expiry: Int64?
        var modified: Int64?

        init(_ headers: [HeaderField]) {
            directives = CacheControl(headers.values(named: "cache-control"))
            date = headers.values(named: "date").first.flatMap(HTTPDate.parse)
            age = headers.values(named: "age").first.flatMap(Self.firstMember).flatMap(CacheControl.seconds) ?? 0
            expiry = Self.expiry(headers.values(named: "expires"))
            modified = headers.values(named: "last-modified").first.flatMap(HTTPDate.parse)
        }

        private static func expiry(_ fields: [String]) -> Int64? {
            guard let first = fields.first else { return nil }
            let isOne = fields.allSatisfy { $0 == first } && HTTPDate.isExact(first)
            return isOne ? HTTPDate.parse(first) ?? .min : .min
        }

        /// The first member of a list counts (section 5.1).
        private static func firstMember(_ value: String) -> String? {
            value.split(separator: ",", omittingEmptySubsequences: false).first.map { String($0).trimmed }
        }
    }
}

// MARK: - Text

/// The head as a text, for a store that does not read it.
extension StoredResponse {
    /// Status, version and reason, then a line `name: value` for each field; nil for what has a line break in it.
    package var text: String? {
        let lines =
            ["\(status)", httpVersion ?? "", reason ?? ""] + headers.map { "\($0.name): \($0.value)" }
        return lines.contains { $0.utf8.contains(UInt8(ascii: "\n")) } ? nil : lines.joined(separator: "\n")
    }

    /// nil if the text is none that was written.
    package init?(text: String, selection: String, requestTime: Int64, responseTime: Int64) {
        // Bytes, not characters: a value may begin with a mark that would join the blank before it.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        guard lines.count >= 3, let status = Int(lines[0]) else { return nil }
        var headers: [HeaderField] = []
        for line in lines[3...] {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), line.utf8[colon...].starts(with: ": ".utf8)
            else { return nil }
            let value = line.utf8[colon...].dropFirst(2)
            headers.append(HeaderField(String(Substring(line.utf8[..<colon])), String(Substring(value))))
        }
        self.init(
            status: status, httpVersion: lines[1].isEmpty ? nil : lines[1],
            reason: lines[2].isEmpty ? nil : lines[2], headers: headers, requestTime: requestTime,
            responseTime: responseTime, selection: CacheSelection(text: selection))
    }
}

import TransferModel

/// What a response header says about its body: length, coding, media type.
enum MessageFraming {
    /// The body's length from Content-Length; nil if there is none or it must be ignored (RFC 9112 section 6.3).
    /// - Throws: `http.protocol` if values differ or are not numbers, because two parties could read two different
    ///   bodies.
    static func contentLength(_ head: ResponseHead) throws(TransferError) -> ByteCount? {
        if let length = plainLength(head) { return length }
        let values = head.values("content-length").flatMap {
            $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        .map { Substring($0).trimmed }
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0 == first || ContentRange.number($0) == ContentRange.number(first) }) else {
            throw bad("contradicting Content-Length values", values)
        }
        guard let length = ContentRange.number(first) else {
            throw bad("a Content-Length that is not a possible length", values)
        }
        let chunked = head.values("transfer-encoding").contains { $0.lowercased().contains("chunked") }
        return chunked ? nil : length
    }

    /// The only Content-Length, if nothing else says how the body ends.
    private static func plainLength(_ head: ResponseHead) -> ByteCount? {
        let lengths = head.values("content-length")
        guard lengths.count == 1, head.values("transfer-encoding").isEmpty else { return nil }
        return ContentRange.number(lengths[0])
    }

    private static func bad(_ what: String, _ values: [String]) -> TransferError {
        TransferError(
            .httpProtocol, "The server sent \(what); report it to its operator.",
            details: ["contentLength": .string(String(values.joined(separator: ", ").prefix(200)))])
    }

    /// Codings of the body, in the order they were applied; nil if there is none.
    static func contentCoding(_ head: ResponseHead) -> String? {
        ContentCodingRules.coding(of: head)
    }

    /// Media type without parameters, lower case.
    static func mediaType(_ head: ResponseHead) -> String? {
        head.values("content-type").first.map(MediaType.essence)
    }

    static func validators(_ head: ResponseHead) -> Validators {
        Validators(
            etag: single("etag", head), lastModified: single("last-modified", head),
            date: head.values("date").first?.trimmed)
    }

    /// A field that should occur once. Differing values are joined (RFC 9110 section 5.3): such a validator equals no
    /// held one and is not strong.
    private static func single(_ name: String, _ head: ResponseHead) -> String? {
        let all = head.values(name)
        guard all.count > 1 else { return all.first?.trimmed }
        var values: [String] = []
        for value in all.map(\.trimmed) where !values.contains(value) { values.append(value) }
        return values.joined(separator: ", ")
    }
}

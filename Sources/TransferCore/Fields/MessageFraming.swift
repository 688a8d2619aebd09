import TransferModel

/// What a response header says about its body.
extension ResponseHead {
    /// The body's length from Content-Length; nil if there is none or it must be ignored (RFC 9112 section 6.3).
    /// - Throws: `http.protocol` if values differ or are not numbers, because two parties could read two different
    ///   bodies.
    func contentLength() throws(TransferError) -> ByteCount? {
        let (lengths, codings) = (values("content-length"), values("transfer-encoding"))
        // Mostly there is one, and nothing else says how the body ends.
        if lengths.count == 1, codings.isEmpty, let length = ContentRange.number(lengths[0]) { return length }
        let values = lengths.flatMap {
            $0.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        }
        .map { Substring($0).trimmed }
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0 == first || ContentRange.number($0) == ContentRange.number(first) }) else {
            throw Self.bad("contradicting Content-Length values", values)
        }
        guard let length = ContentRange.number(first) else {
            throw Self.bad("a Content-Length that is not a possible length", values)
        }
        return codings.contains { $0.lowercased().contains("chunked") } ? nil : length
    }

    private static func bad(_ what: String, _ values: [String]) -> TransferError {
        TransferError(
            .httpProtocol, "The server sent \(what); report it to its operator.",
            details: ["contentLength": .string(String(values.joined(separator: ", ").prefix(200)))])
    }

    /// Media type without parameters, lower case.
    var mediaType: String? { values("content-type").first.map(MediaType.essence) }

    var validators: Validators {
        Validators(
            etag: single("etag"), lastModified: single("last-modified"), date: values("date").first?.trimmed)
    }

    /// A field that should occur once. Differing values are joined (RFC 9110 section 5.3): such a validator equals no
    /// held one and is not strong.
    private func single(_ name: String) -> String? {
        let all = values(name)
        guard all.count > 1 else { return all.first?.trimmed }
        var values: [String] = []
        for value in all.map(\.trimmed) where !values.contains(value) { values.append(value) }
        return values.joined(separator: ", ")
    }
}

extension Validators {
    /// Whether it is a quoted tag without `W/` (RFC 9110 section 8.8.3): it changes with every byte, so ranges of two
    /// answers with the same tag belong together. A tag with control characters could not be sent back.
    static func isStrong(_ tag: String) -> Bool {
        let (bytes, quote) = (tag.utf8, UInt8(ascii: "\""))
        guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 >= 32 && $0 != 127 && $0 != quote }
    }
}

import TransferModel

/// Builds the header fields of a download request from those of the session, the caller and dld.
package enum RequestHeaders {
    /// Fields that frame the message, or choose the range or the coding: dld sets them, and drops them from those of
    /// callers.
    static let owned: Set<String> = framing.union(["range", "if-range", "accept-encoding"])

    /// Fields that only frame the message.
    static let framing: Set<String> = [
        "te", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade",
        "trailer",
    ]

    /// The caller's fields that go to another origin, besides Accept and its relatives: they say what is requested, not
    /// who requests it.
    private static let carriedAcross: Set<String> = ["user-agent", "range", "if-range"]

    /// Whether a field of the caller may go to another origin, such as a redirect's target or a mirror.
    package static func crossesOrigins(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "accept" || name.hasPrefix("accept-") || carriedAcross.contains(name)
    }

    /// Methods are case-sensitive (RFC 9110 section 9.1), but a caller who writes `get` means GET.
    package static func method(_ given: String?, hasBody: Bool) -> String {
        guard let given else { return hasBody ? "POST" : "GET" }
        let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"]
        return known.first { $0 == given.uppercased() } ?? given
    }

    /// - Throws: `request.bad_field` if a name is not a token or a value has CR, LF or NUL (RFC 9110 section 5).
    package static func validate(_ headers: [HeaderField]) throws(TransferError) {
        for header in headers {
            guard HeaderField.isToken(header.name) else {
                throw TransferError.bad("headers", "\"\(header.name.prefix(40))\" is not a field name.")
            }
            guard !header.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
                throw TransferError.bad("headers", "the value of \(header.name) has a line break or NUL.")
            }
        }
    }

    /// The caller's fields replace the session's of the same name.
    static func merge(
        session: [HeaderField], task: [HeaderField], owned: Set<String> = Self.owned
    ) -> [HeaderField] {
        guard !session.isEmpty || !task.isEmpty else { return [] }
        let replaced = Set(task.map { $0.name.lowercased() })
        return (session.filter { !replaced.contains($0.name.lowercased()) } + task)
            .filter { !owned.contains($0.name.lowercased()) }
    }

    /// The fields that a download adds.
    /// - Parameters:
    ///   - base: the merged fields of session and caller.
    ///   - range: where to start, and the proof that the server still has the same version.
    static func own(beside base: [HeaderField], range: RangeRequest?) -> [HeaderField] {
        var headers: [HeaderField] = []
        if !base.contains(where: { $0.isNamed("want-repr-digest") }) { headers.append(DigestFields.want) }
        // Offsets must count the bytes of the file, not of a coded form.
        headers.append(HeaderField("Accept-Encoding", "identity"))
        guard let range else { return headers }
        headers.append(HeaderField("Range", "bytes=\(range.offset)-\(range.last.map(\.description) ?? "")"))
        if let validator = range.ifRange { headers.append(HeaderField("If-Range", validator)) }
        return headers
    }
}

/// One range, with the validator for If-Range if one may be used.
struct RangeRequest: Sendable, Hashable {
    var offset: ByteCount
    /// Its last byte; nil = to the end of the file.
    var last: ByteCount?
    var ifRange: String?
}

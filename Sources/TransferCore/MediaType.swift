/// Reads Content-Type values (RFC 9110 section 8.3.1).
package enum MediaType {
    /// `text/html` from `text/html; charset=utf-8`, in lower case.
    package static func essence(_ value: String) -> String {
        // The usual case: lower case, and nothing to cut off.
        if value.bytes({ $0.allSatisfy(isPlain) }) { return value }
        let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
        return value[..<end].trimmed.lowercased()
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "+"):
            true
        default: false
        }
    }

    /// A parameter's value, unquoted.
    package static func parameter(_ name: String, of value: String) -> String? {
        guard value.utf8.contains(UInt8(ascii: ";")) else { return nil }
        for part in value.split(separator: ";").dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmed.lowercased() == name else { continue }
            var text = pair[1].trimmed
            if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") {
                text = String(text.dropFirst().dropLast())
            }
            return text
        }
        return nil
    }
}

/// Texts for HTTP status codes (the IANA registry of RFC 9110 section 16.2).
package enum HTTPStatus {
    package static func text(_ status: Int) -> String {
        names[status] ?? classes[status / 100] ?? "unknown"
    }

    private static let classes = [
        1: "informational", 2: "success", 3: "redirection", 4: "client error", 5: "server error",
    ]

    private static let names: [Int: String] = [
        100: "continue", 101: "switching protocols", 103: "early hints",
        200: "OK", 201: "created", 202: "accepted", 203: "non-authoritative information", 204: "no content",
        205: "reset content", 206: "partial content", 207: "multi-status",
        300: "multiple choices", 301: "moved permanently", 302: "found", 303: "see other", 304: "not modified",
        307: "temporarily redirected", 308: "permanently redirected",
        400: "bad request", 401: "unauthorized", 402: "payment required", 403: "forbidden", 404: "not found",
        405: "method not allowed", 406: "unacceptable", 407: "proxy authentication required", 408: "request timed out",
        409: "conflict", 410: "no longer exists", 411: "length required", 412: "precondition failed",
        413: "request too large", 414: "requested URL too long", 415: "unsupported media type",
        416: "requested range not satisfiable", 417: "expectation failed", 421: "misdirected request",
        422: "unprocessable content", 423: "locked", 425: "too early", 426: "upgrade required",
        428: "precondition required", 429: "too many requests", 431: "request header fields too large",
        451: "unavailable for legal reasons",
        500: "internal server error", 501: "unimplemented", 502: "bad gateway", 503: "service unavailable",
        504: "gateway timed out", 505: "unsupported version", 507: "insufficient storage",
        511: "network authentication required",
    ]
}

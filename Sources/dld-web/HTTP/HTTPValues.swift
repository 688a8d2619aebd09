import NIOHTTP1
import TransferModel

/// A request whose head is complete and has passed the gate.
struct WebRequest: Sendable {
    var method: HTTPMethod
    /// The path below the prefix, such as `/rpc`.
    var path: String
    /// The values of the query, percent-decoded. The first of each name counts.
    var query: [String: String]
    var headers: HTTPHeaders
    /// What a proxy says of the outside; only from a peer that may say so.
    var forwarded: Forwarded
    /// The session that the cookie belongs to, and the cookie's value.
    var session: String?
    var cookie: String?
    /// The longest body, in bytes.
    var bodyLimit: Int
    var body: [UInt8] = []

    struct Forwarded: Hashable, Sendable {
        var prefix = ""
        var isSecure = false
    }

    /// RFC 9110 section 12.5.3, as far as it concerns one coding: named, and not with a weight of zero.
    var acceptsGzip: Bool {
        headers[canonicalForm: "accept-encoding"].contains { item in
            let parts = item.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            guard parts.first == "gzip" else { return false }
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }
}

/// What is sent for a request. The connection adds the headers that every answer has.
struct WebAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events; `session` is the one whose end ends them.
        case events(after: Int64?, session: String)
    }

    var status: HTTPResponseStatus
    var headers: [(name: String, value: String)] = []
    var body = Body.bytes([])
    /// The connection ends after this answer.
    var closes = false

    static func json(_ value: JSONValue, _ status: HTTPResponseStatus = .ok) -> WebAnswer {
        json(JSONCoding.encode(value), status)
    }

    static func json(_ text: [UInt8], _ status: HTTPResponseStatus = .ok) -> WebAnswer {
        WebAnswer(status: status, headers: [("Content-Type", "application/json")], body: .bytes(text))
    }

    static func text(_ text: String, type: String, _ status: HTTPResponseStatus = .ok) -> WebAnswer {
        WebAnswer(status: status, headers: [("Content-Type", "\(type); charset=utf-8")], body: .bytes(Array(text.utf8)))
    }

    static let empty = WebAnswer(status: .noContent)

    static func refused(_ refusal: WebRefusal) -> WebAnswer {
        var answer = json(
            .object(["error": ["code": .string(refusal.code), "message": .string(refusal.message)]]), refusal.status)
        if let allow = refusal.allow { answer.headers.append(("Allow", allow)) }
        answer.closes = refusal.closes
        return answer
    }
}

/// Why a request has no other answer. It tells nothing about what exists.
struct WebRefusal: Error, Hashable, Sendable {
    var status: HTTPResponseStatus
    var code: String
    var message: String
    var allow: String?
    var closes = false

    static func malformed(_ message: String) -> WebRefusal {
        WebRefusal(status: .badRequest, code: "http.malformed", message: message, closes: true)
    }

    static let foreignUser = WebRefusal(
        status: .forbidden, code: "peer.refused", message: "This page belongs to another user.", closes: true)
    static let misdirected = WebRefusal(
        status: .misdirectedRequest, code: "host.unknown",
        message: "This name is not served here; dld-web --host names more.")
    static let foreignOrigin = WebRefusal(
        status: .forbidden, code: "origin.foreign", message: "The request comes from another site.")
    static let signedOut = WebRefusal(
        status: .unauthorized, code: "session.signed_out", message: "Not signed in. Run dlctl web.")
    static let wrongToken = WebRefusal(
        status: .forbidden, code: "token.wrong",
        message: "The X-Dld-Token header is missing or wrong; GET session has it.")
    static let notFound = WebRefusal(status: .notFound, code: "http.not_found", message: "There is nothing here.")
    static let notJSON = WebRefusal(
        status: .unsupportedMediaType, code: "http.content_type", message: "Content-Type must be application/json.")
    static let bodyTooLarge = WebRefusal(
        status: .payloadTooLarge, code: "request.too_large", message: "A body has at most 8 MiB.", closes: true)
    static let headTooLarge = WebRefusal(
        status: .requestHeaderFieldsTooLarge, code: "request.too_large", message: "A head has at most 16 KiB.",
        closes: true)
    static let tooSlow = WebRefusal(
        status: .requestTimeout, code: "http.timeout", message: "The request took too long.", closes: true)
    static let busy = WebRefusal(
        status: .serviceUnavailable, code: "limit.reached", message: "Too many connections; close some pages.",
        closes: true)

    static let notStored = WebRefusal(
        status: .internalServerError, code: "disk.io",
        message: "This browser is signed out, but that cannot be stored; it would be signed in again after a restart.")

    static func wrongMethod(_ allowed: [HTTPMethod]) -> WebRefusal {
        WebRefusal(
            status: .methodNotAllowed, code: "http.method", message: "This method is not allowed here.",
            allow: allowed.map(\.rawValue).joined(separator: ", "))
    }
}

/// The path and the query of a request's target.
struct WebTarget: Hashable, Sendable {
    var path: String
    var query: [String: String]

    /// - Throws: `.malformed` for what a path of this program never has: other forms than origin-form (RFC 9112 section
    ///   3.2.1), dot segments, a backslash, NUL, or bytes beyond ASCII.
    init(_ target: String) throws(WebRefusal) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let raw = parts.first.map(String.init) ?? ""
        guard raw.hasPrefix("/"), target.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            !raw.contains("\\"), !target.contains("#"), let decoded = Self.decoded(raw, plusIsSpace: false),
            !decoded.utf8.contains(where: { $0 < 0x20 || $0 == 0x5c || $0 == 0x7f }),
            !decoded.split(separator: "/").contains(where: { $0 == ".." || $0 == "." })
        else { throw .malformed("The request's path is not acceptable.") }
        path = decoded
        var values: [String: String] = [:]
        for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let member = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(String(member[0]), plusIsSpace: true),
                let value = Self.decoded(member.count > 1 ? String(member[1]) : "", plusIsSpace: true)
            else { throw .malformed("The request's query is not acceptable.") }
            if values[name] == nil { values[name] = value }
        }
        query = values
    }

    /// nil if an escape is incomplete, or if the result is not UTF-8.
    private static func decoded(_ text: String, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init) }
}

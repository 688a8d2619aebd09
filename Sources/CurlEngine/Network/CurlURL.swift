import CCurl
import Threading
import TransferCore
import TransferModel

/// A URL as libcurl itself reads it, so that the checked URL is the requested one (curl_url_get(3)).
struct CurlURL: Hashable, Sendable {
    /// Without user info and fragment.
    var text: String
    var scheme: String
    var host: String
    var port: String
    /// User info of the URL, decoded.
    var user: String?
    var password: String?

    /// nil if libcurl cannot read it.
    init?(_ text: String) {
        let length = Self.plainPath(in: text) ?? 0
        let (origin, path) = (String(Substring(text.utf8.prefix(length))), Substring(text.utf8.dropFirst(length)))
        if length > 0, let known = Self.known.withLock({ $0[origin] }) {
            self = known
            self.text += path
        } else {
            self.init(base: nil, reference: text)
            if length > 0 { Self.remember(self, of: origin, path) }
        }
    }

    /// The same URL over https (RFC 6797 section 8.3); unchanged if its scheme is not http.
    var secured: CurlURL {
        guard let text = StrictTransportSecurity.secured(text) else { return self }
        var url = self
        url.text = text
        url.scheme = "https"
        if port == "80" { url.port = "443" }
        return url
    }

    /// Reads a helper's URL without a host, which libcurl cannot read. nil if the text is not such a URL.
    init?(ofHelper text: String) {
        guard let parsed = try? URLRules.parse(text), parsed.scheme == .helper else { return nil }
        self.text = parsed.requestURL
        scheme = parsed.schemeName
        host = parsed.host
        port = parsed.port.map { "\($0)" } ?? ""
    }

    /// Resolves `reference`, as a Location field has it, against this URL (RFC 3986 section 5).
    func resolving(_ reference: String) -> CurlURL? {
        // This means the same document (section 5.2.2), but libcurl would resolve it to the folder.
        if reference.isEmpty || reference.utf8.first == UInt8(ascii: "#") { return self }
        return CurlURL(base: text, reference: reference)
    }

    private init?(base: String?, reference: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        // Bits of curl/urlapi.h: NON_SUPPORT_SCHEME 1<<3, URLENCODE 1<<7, ALLOW_SPACE 1<<11.
        let flags = UInt32(1 << 3 | 1 << 7 | 1 << 11)
        if let base, curl_url_set(handle, CURLUPART_URL, base, flags) != CURLUE_OK { return nil }
        guard curl_url_set(handle, CURLUPART_URL, reference, flags) == CURLUE_OK else { return nil }
        user = Self.part(handle, CURLUPART_USER, decoding: true)
        password = Self.part(handle, CURLUPART_PASSWORD, decoding: true)
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
            curl_url_set(handle, part, nil, 0)
        }
        guard let given = Self.part(handle, CURLUPART_HOST), !given.isEmpty, let host = Self.ascii(given) else {
            return nil
        }
        // Converted here, because libcurl would convert it according to the locale of the process.
        if host != given, curl_url_set(handle, CURLUPART_HOST, host, 0) != CURLUE_OK { return nil }
        guard let text = Self.part(handle, CURLUPART_URL), let scheme = Self.part(handle, CURLUPART_SCHEME) else {
            return nil
        }
        self.text = text
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        // DEFAULT_PORT 1<<0.
        port = Self.part(handle, CURLUPART_PORT, flags: 1) ?? ""
    }

    /// nil if IDNA refuses it.
    private static func ascii(_ host: String) -> String? {
        host.utf8.contains { $0 >= 0x80 } ? HostName.ascii(host) : host
    }

    /// The origins that libcurl has read, by their original text, without path. Reading a URL with libcurl takes ten
    /// times as long as the check for plain paths.
    private static let known = Guarded<[String: CurlURL]>([:])
    private static let mostKnown = 256

    private static func remember(_ url: CurlURL, of origin: String, _ path: Substring) {
        guard url.text.hasSuffix(path) else { return }
        var url = url
        url.text.removeLast(path.count)
        known.withLock { [url] known in
            if known.count >= mostKnown { known = [:] }
            known[origin] = url
        }
    }

    /// Where the path begins, if libcurl would not change it and the text before it is an origin: nothing needs
    /// encoding, and no segment begins with a dot. Not for URLs with user info, because that belongs to one URL only.
    private static func plainPath(in text: String) -> Int? {
        text.bytes { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8),
                let path = bytes[(colon + 3)...].firstIndex(of: UInt8(ascii: "/")),
                !bytes[..<path].contains(UInt8(ascii: "@"))
            else { return nil }
            var last: UInt8 = 0
            for byte in bytes[path...] {
                guard isPlain(byte), byte != UInt8(ascii: ".") || last != UInt8(ascii: "/") else { return nil }
                last = byte
            }
            return path
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-")...UInt8(ascii: "/"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func part(
        _ handle: OpaquePointer, _ part: CURLUPart, decoding: Bool = false, flags: UInt32 = 0
    ) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        // URLDECODE 1<<6.
        guard curl_url_get(handle, part, &value, decoding ? 1 << 6 : flags) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }

    /// For errors that clients see.
    var shown: String { URLRules.withoutSecrets(text) }

    func hasSameOrigin(as other: CurlURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// At most scheme, host, port and a slash at the end of the path differ.
    func isSamePlace(as other: CurlURL) -> Bool { place == other.place }

    private var place: String {
        let path = text.dropFirst(scheme.count + 3).drop { $0 != "/" }
        let query = path.firstIndex(of: "?") ?? path.endIndex
        return path[..<query].dropLast(path[..<query].hasSuffix("/") ? 1 : 0) + String(path[query...])
    }

    var isPlaintext: Bool { scheme == "http" || scheme == "ftp" }
    var isHTTP: Bool { scheme == "http" || scheme == "https" }
}

/// The positions of the parts of a URL that needs no further checks. Its scheme is http or https, scheme and host are
/// in lower case, there is no user info, query or fragment, and nothing has to be encoded, decoded or removed. Most
/// URLs are like this, and reading them takes one pass.
struct PlainURL {
    let scheme: URLScheme
    /// As written; nil if none is written.
    let port: Int?
    /// Offsets in bytes.
    let host: Range<Int>
    let path: Int
    /// After the last slash.
    let name: Int

    /// nil for any other URL.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let scheme = Self.scheme(of: bytes), bytes.count <= URLRules.longest else { return nil }
        var index = scheme.rawValue.utf8.count + 3
        let first = index
        var last = UInt8(ascii: ".")
        while index < bytes.count, Self.isOfName(bytes[index]) {
            if bytes[index] == UInt8(ascii: "."), last == UInt8(ascii: ".") { return nil }
            last = bytes[index]
            index += 1
        }
        guard 1...253 ~= index - first, index < bytes.count else { return nil }
        host = first..<index
        var port: Int?
        if bytes[index] == UInt8(ascii: ":") {
            guard let number = Self.port(bytes[(index + 1)...].prefix(6)), number != scheme.defaultPort else {
                return nil
            }
            port = number
            index += 1 + String(number).utf8.count
        }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return nil }
        path = index
        var name = index
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "/") {
                name = index + 1
            } else if !Self.isUnreserved(bytes[index]) {
                return nil
            }
            index += 1
        }
        (self.scheme, self.port, self.name) = (scheme, port, name)
    }

    private static func scheme(of bytes: UnsafeBufferPointer<UInt8>) -> URLScheme? {
        guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"),
            bytes[2] == UInt8(ascii: "t"),
            bytes[3] == UInt8(ascii: "p")
        else { return nil }
        let isSecure = bytes[4] == UInt8(ascii: "s")
        let colon = isSecure ? 5 : 4
        guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"),
            bytes[colon + 2] == UInt8(ascii: "/")
        else { return nil }
        return isSecure ? .https : .http
    }

    /// The number that ends before a slash, if that is its usual form.
    private static func port(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var number = 0
        for byte in bytes {
            if byte == UInt8(ascii: "/") { return 1...65535 ~= number ? number : nil }
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte, number > 0 || byte != UInt8(ascii: "0") else {
                return nil
            }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return nil
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        isUnreserved(byte) && !(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte)
    }

    /// Unreserved (RFC 3986 section 2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }
}

extension ParsedURL {
    /// nil if `text` is not a `PlainURL`.
    init?(plain text: String) {
        let read = text.bytes { bytes -> (url: PlainURL, host: String, path: String, place: String)? in
            guard let url = PlainURL(bytes) else { return nil }
            func part(_ range: Range<Int>) -> String {
                String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
            }
            return (url, part(url.host), part(url.path..<bytes.count), part(0..<url.path))
        }
        guard let (url, host, path, place) = read, let port = url.port ?? url.scheme.defaultPort else { return nil }
        self.init(
            scheme: url.scheme, host: host, port: port, path: path, requestURL: text,
            hostKey: url.port == nil ? "\(place):\(port)" : place)
    }
}

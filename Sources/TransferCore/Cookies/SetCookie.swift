import TransferModel

/// One parsed Set-Cookie field (RFC 6265bis section 5.6): what the server asks for, not what a store accepts.
package struct SetCookie: Sendable, Hashable {
    package var name: String
    package var value: String
    /// When the cookie expires; nil if the field does not say. Max-Age takes precedence over Expires (section 5.7, step
    /// 6).
    package var expires: Timestamp?
    /// In lower case, without a leading dot; empty if the field names none.
    package var domain = ""
    /// nil if the field names none, or one without a leading slash.
    package var path: String?
    package var secure = false
    package var httpOnly = false
    package var sameSite: Cookie.SameSite?

    /// The longest lifetime of a cookie (section 5.5).
    package static let longestLife = Seconds(400 * 86_400)

    /// nil for a field that must be ignored.
    package init?(_ field: String, at now: Timestamp) {
        guard !Self.hasControl(field) else { return nil }
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let pair = Self.pair(parts[0])
        (name, value) = pair.name.map { (String($0), String(pair.value)) } ?? ("", String(pair.value))
        guard Self.isStorable(name: name, value: value) else { return nil }
        var maxAge: Timestamp?
        for part in parts.dropFirst() {
            let attribute = Self.pair(part)
            // An attribute without "=" is only a name.
            let value = attribute.name == nil ? "" : attribute.value
            guard value.utf8.count <= Bounds.cookieAttribute else { continue }
            switch (attribute.name ?? attribute.value).lowercased() {
            case "expires": if let date = CookieDate.parse(value) { expires = Self.bounded(date, now) }
            case "max-age": if let end = Self.end(value, now) { maxAge = end }
            case "domain": domain = (value.hasPrefix(".") ? value.dropFirst() : value).lowercased()
            case "path": path = value.hasPrefix("/") ? String(value) : nil
            case "secure": secure = true
            case "httponly": httpOnly = true
            case "samesite": sameSite = Cookie.SameSite(rawValue: value.lowercased())
            default: break
            }
        }
        expires = maxAge ?? expires
    }

    /// Whether a store may hold a cookie with this name and value, regardless of who sets it.
    package static func isStorable(name: String, value: String) -> Bool {
        !(name.isEmpty && value.isEmpty) && isShort(name + value) && !hasControl(name) && !hasControl(value)
    }

    private static func isShort(_ text: String) -> Bool {
        text.utf8.count <= Bounds.cookie || CookieOctets.octets(of: text).count <= Bounds.cookie
    }

    /// A field with control characters other than tab is ignored (section 5.6, step 1).
    private static func hasControl(_ text: String) -> Bool {
        text.bytes { $0.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } }
    }

    /// Name and value, without surrounding blanks; without "=", there is no name.
    private static func pair(_ part: Substring.UTF8View) -> (name: Substring?, value: Substring) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (nil, trimmed(part)) }
        return (trimmed(part[..<equals]), trimmed(part[part.index(after: equals)...]))
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> Substring {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return Substring(bytes)
    }

    /// Section 5.6.2; nil if the text is not a number.
    private static func end(_ text: Substring, _ now: Timestamp) -> Timestamp? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // A number with too many digits is longer than the longest lifetime.
        let seconds = Int64(digits) ?? .max
        if isNegative || seconds == 0 { return Timestamp(milliseconds: .min) }
        return bounded(now.advanced(by: Seconds(Double(seconds))), now)
    }

    package static func bounded(_ end: Timestamp, _ now: Timestamp) -> Timestamp {
        min(end, now.advanced(by: longestLife))
    }
}

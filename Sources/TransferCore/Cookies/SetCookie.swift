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
        (name, value) = (pair.name ?? "", pair.value)
        guard Self.isStorable(name: name, value: value) else { return nil }
        var maxAge: Timestamp?
        for part in parts.dropFirst() {
            let attribute = Self.pair(part)
            // An attribute without "=" is only a name.
            let value = attribute.name == nil ? "" : attribute.value
            guard value.utf8.count <= Bounds.cookieAttribute else { continue }
            switch (attribute.name ?? attribute.value).lowercased() {
            case "expires": if let date = HTTPDate.ofCookie(value) { expires = Self.bounded(date, now) }
            case "max-age": if let end = Self.end(value, now) { maxAge = end }
            case "domain": domain = (value.hasPrefix(".") ? value.dropFirst() : value[...]).lowercased()
            case "path": path = value.hasPrefix("/") ? value : nil
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
    private static func pair(_ part: Substring.UTF8View) -> (name: String?, value: String) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (nil, Substring(part).trimmed) }
        return (Substring(part[..<equals]).trimmed, Substring(part[part.index(after: equals)...]).trimmed)
    }

    /// Section 5.6.2; nil if the text is not a number.
    private static func end(_ text: String, _ now: Timestamp) -> Timestamp? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard digits.isDigits else { return nil }
        // A number with too many digits is longer than the longest lifetime.
        let seconds = Int64(digits) ?? .max
        if isNegative || seconds == 0 { return Timestamp(milliseconds: .min) }
        return bounded(now.advanced(by: Seconds(Double(seconds))), now)
    }

    package static func bounded(_ end: Timestamp, _ now: Timestamp) -> Timestamp {
        min(end, now.advanced(by: longestLife))
    }
}

/// Dates of cookies. The algorithm of RFC 6265bis section 5.1.1 accepts much that no date format allows.
extension HTTPDate {
    /// The date of an Expires attribute; nil if the text has no date, or a date that does not exist.
    package static func ofCookie(_ text: String) -> Timestamp? {
        var time: (hour: Int, minute: Int, second: Int)?
        var (day, month, year): (Int?, Int?, Int?)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = number(token, of: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, of: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        guard year >= 1601, (1...daysOf(month, year)).contains(day), time.hour <= 23, time.minute <= 59,
            time.second <= 59
        else { return nil }
        let days = HTTPDate.dayNumber(Int64(year), Int64(month), Int64(day))
        return Timestamp(
            milliseconds: (days * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)) * 1000)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// The number at the start of the token, if it has a permitted count of digits and no further digit follows.
    private static func number(_ token: Substring.UTF8View, of lengths: ClosedRange<Int>) -> Int? {
        let digits = token.prefix(while: \.isDigit)
        return lengths.contains(digits.count) ? Int(Substring(digits)) : nil
    }

    private static func clock(_ token: Substring.UTF8View) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isDigit), parts[1].allSatisfy(\.isDigit),
            let hour = number(parts[0], of: 1...2), let minute = number(parts[1], of: 1...2),
            let second = number(parts[2], of: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func monthNumber(_ token: Substring.UTF8View) -> Int? {
        months.firstIndex(of: Substring(token.prefix(3)).lowercased()).map { $0 + 1 }
    }

    private static func daysOf(_ month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }
}

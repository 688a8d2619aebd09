import TransferModel

/// The text format of cookies that curl, wget and browser extensions share: one cookie per line, with seven fields
/// separated by tabs. Source: https://curl.se/docs/http-cookies.html
package enum NetscapeCookies {
    /// The cookies of a file, and why the other lines were refused.
    package struct Contents: Sendable, Hashable {
        package var cookies: [Cookie] = []
        /// The line of each cookie, from 1.
        package var lines: [Int] = []
        package var refusals: [Refusal] = []

        /// The file is not a file of cookies.
        package var isOther: Bool { cookies.isEmpty && !refusals.isEmpty && refusals.allSatisfy { $0.name == nil } }
    }

    /// What is wrong with a line.
    package struct Refusal: Error, Hashable {
        package fileprivate(set) var line = 0
        /// nil if the line does not have the form of a cookie.
        package var name: String?
        package var why: String
        /// It is as it should be, but over.
        package var isExpired = false
    }

    private static let header = "# Netscape HTTP Cookie File"
    private static let httpOnly = "#HttpOnly_"
    /// 9999-12-31T23:59:59Z, the last second that RFC 3339 can write.
    private static let latest: Int64 = 253_402_300_799

    package static func parse(_ text: String, at now: Timestamp) -> Contents { parse(Array(text.utf8), at: now) }

    /// - Parameter text: may begin with a byte order mark. A cookie that is not in UTF-8 is refused.
    package static func parse(_ text: [UInt8], at now: Timestamp) -> Contents {
        var contents = Contents()
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let lines = text.dropFirst(text.starts(with: mark) ? mark.count : 0)
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in lines.enumerated() {
            let known = String(validating: bytes, as: UTF8.self)
            var line = Substring(known ?? String(decoding: bytes, as: UTF8.self))
            while line.utf8.last == UInt8(ascii: "\r") { line = Substring(line.utf8.dropLast()) }
            // Compared as bytes: a combining mark after this text would hide it from characters.
            let isHTTPOnly = line.utf8.starts(with: httpOnly.utf8)
            if isHTTPOnly { line = Substring(line.utf8.dropFirst(httpOnly.utf8.count)) }
            let isComment = !isHTTPOnly && line.utf8.first == UInt8(ascii: "#")
            if isComment || line.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
            do throws(Refusal) {
                let cookie = try cookie(line, isHTTPOnly, now)
                guard known != nil else { throw Refusal(name: cookie.name, why: "it is not in UTF-8") }
                contents.cookies.append(cookie)
                contents.lines.append(index + 1)
            } catch {
                var refusal = error
                refusal.line = index + 1
                contents.refusals.append(refusal)
            }
        }
        return contents
    }

    private static func cookie(_ line: Substring, _ isHTTPOnly: Bool, _ now: Timestamp) throws(Refusal) -> Cookie {
        let fields = line.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        // Some writers omit the tab before an empty value.
        guard fields.count == 7 || fields.count == 6 else {
            let count = fields.count == 1 ? "1 field" : "\(fields.count) fields"
            throw Refusal(why: "it has \(count); a cookie has 7, with tabs between them")
        }
        let isDotted = fields[0].utf8.first == UInt8(ascii: ".")
        let domain = (isDotted ? String(Substring(fields[0].utf8.dropFirst())) : fields[0]).lowercased()
        guard let first = domain.utf8.first, !".#".utf8.contains(first) else {
            throw Refusal(name: fields[5], why: "it names no domain")
        }
        guard let includesNames = flag(fields[1]), let secure = flag(fields[3]) else {
            throw Refusal(why: "its second and fourth fields must be TRUE or FALSE")
        }
        guard let seconds = seconds(fields[4]) else {
            throw Refusal(name: fields[5], why: "its fifth field must be a time in seconds since 1970")
        }
        let end = seconds == 0 ? nil : Timestamp(milliseconds: seconds * 1000)
        if let end, end <= now { throw Refusal(name: fields[5], why: "it has expired", isExpired: true) }
        return Cookie(
            name: fields[5], value: fields.count > 6 ? fields[6] : "", domain: domain,
            path: fields[2].hasPrefix("/") ? fields[2] : "/", expires: end, secure: secure, httpOnly: isHTTPOnly,
            hostOnly: !includesNames)
    }

    /// Whole seconds since 1970, at most `latest`; nil if the text is no such time. Some writers put a number that no
    /// calendar can hold for "never".
    private static func seconds(_ text: String) -> Int64? {
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return min(Int64(text) ?? latest, latest)
        }
        // Rounded away from 0, which has a meaning of its own.
        guard let seconds = Double(text)?.rounded(.awayFromZero), seconds.magnitude < 1e15 else { return nil }
        return min(Int64(seconds), latest)
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }

    /// Whether a line can hold the cookie: a tab would end a field.
    package static func canHold(_ cookie: Cookie) -> Bool {
        ![cookie.name, cookie.value, cookie.path].contains { $0.utf8.contains(UInt8(ascii: "\t")) }
    }

    /// The text of a file. The format has no field for SameSite.
    /// - Parameter cookies: those that a line can hold.
    package static func text(_ cookies: [Cookie]) -> String {
        cookies.reduce(into: header + "\n\n") { text, cookie in
            let end = (cookie.expires?.rawValue ?? 0) / 1000
            let fields = [
                (cookie.httpOnly ? httpOnly : "") + (cookie.hostOnly ? "" : ".") + cookie.domain,
                cookie.hostOnly ? "FALSE" : "TRUE", cookie.path, cookie.secure ? "TRUE" : "FALSE", "\(end)",
                cookie.name, cookie.value,
            ]
            text += fields.joined(separator: "\t") + "\n"
        }
    }
}

/// The parts of a URL that the policy judges. It refuses whatever two parsers may read differently, because dld parses
/// the URL again.
struct JobURL: Hashable, Sendable {
    /// In lower case.
    var scheme: String
    /// In lower case, without brackets and a dot at its end.
    var host = ""
    var hasUserInfo = false
    /// Without query and fragment, still percent-encoded.
    var path: String

    /// Schemes whose URLs name a host; libcurl finds one behind any number of slashes.
    private static let hosted: Set<String> = ["http", "https", "ftp", "ftps", "sftp"]

    /// - Returns: nil if it has no scheme, a control character anywhere, or an ambiguous authority (RFC 3986 section 3).
    init?(_ text: String) {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        scheme = text[..<colon].lowercased()
        guard scheme.utf8.first.map({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }) == true,
            scheme.utf8.allSatisfy(Self.isSchemeByte)
        else { return nil }
        let rest = text.utf8[text.utf8.index(after: colon)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? rest.endIndex
        path = String(rest[..<end]) ?? ""
        guard path.utf8.starts(with: "//".utf8) else {
            if Self.hosted.contains(scheme) { return nil }
            return
        }
        let afterSlashes = path.utf8.dropFirst(2)
        let authority = afterSlashes.prefix { $0 != UInt8(ascii: "/") }
        path = String(afterSlashes.dropFirst(authority.count)) ?? ""
        let parts = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let place = parts.last.flatMap({ String($0) }) else { return nil }
        hasUserInfo = parts.count == 2
        guard !authority.contains(UInt8(ascii: "\\")), !authority.contains(UInt8(ascii: " ")),
            !place.utf8.contains(UInt8(ascii: "%")), let host = Self.host(of: place),
            !host.isEmpty || !Self.hosted.contains(scheme)
        else { return nil }
        self.host = host
    }

    /// The last segment of the path as a file's name; nil if it names none.
    var fileName: String? {
        let segment = path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed()
        let name = String(
            String(decoding: Self.decoded(Array(segment)), as: UTF8.self).unicodeScalars.map {
                $0 == "/" || $0.properties.generalCategory == .control ? "_" : Character($0)
            })
        return ["", ".", ".."].contains(name) ? nil : name
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.".utf8.contains(byte)
    }

    /// - Returns: nil if what follows the host is no port.
    private static func host(of place: String) -> String? {
        let isBracketed = place.utf8.first == UInt8(ascii: "[")
        let inner = isBracketed ? place.utf8.dropFirst() : place.utf8[...]
        let host = inner.prefix { $0 != UInt8(ascii: isBracketed ? "]" : ":") }
        var after = inner[host.endIndex...]
        if isBracketed {
            guard after.first == UInt8(ascii: "]") else { return nil }
            after = after.dropFirst()
        }
        guard after.isEmpty || after.first == UInt8(ascii: ":"),
            after.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        var name = String(host)?.lowercased() ?? ""
        if name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        return name
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var (decoded, index): ([UInt8], Int) = ([], 0)
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Character(Unicode.Scalar(bytes[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(bytes[index + 2])).hexDigitValue
            {
                decoded.append(UInt8(high << 4 | low))
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }
}

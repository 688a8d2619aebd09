import CIDN
import Glibc
import TransferModel

/// Checks the `host:port` part of a URL (RFC 3986 section 3.2). Names are percent-decoded (section 3.2.2); those beyond
/// ASCII become A-labels (RFC 5890).
extension HostName {
    static func parse(_ text: Substring, scheme: URLScheme) throws(TransferError) -> (host: String, port: Int) {
        let (host, portText) = try split(text)
        guard !host.isEmpty else { throw URLRules.bad("it names no host") }
        guard let portText, !portText.isEmpty else { return (host, scheme.defaultPort ?? 0) }
        guard portText.isDigits, let port = Int(portText), (1...65535).contains(port)
        else { throw URLRules.bad("its port is not a number from 1 to 65535") }
        return (host, port)
    }

    private static func split(_ text: Substring) throws(TransferError) -> (host: String, port: Substring?) {
        if text.utf8.first == UInt8(ascii: "[") {
            guard let close = text.firstIndex(of: "]") else {
                throw URLRules.bad("the bracket of its IPv6 address is open")
            }
            let address = text[text.index(after: text.startIndex)..<close].lowercased()
            guard isIPv6(address) else { throw URLRules.bad("\"\(address)\" is not an IPv6 address") }
            let rest = text[text.index(after: close)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw URLRules.bad("after \"]\" only a port may come") }
            return (address, rest.isEmpty ? nil : rest.dropFirst())
        }
        let length = text.bytes { $0.firstIndex(of: UInt8(ascii: ":")) ?? $0.count }
        let given = Substring(text.utf8.prefix(length))
        let rest = text.utf8[given.endIndex...]
        guard !Substring(rest.dropFirst()).holds(UInt8(ascii: ":")) else {
            throw URLRules.bad("an IPv6 address needs brackets")
        }
        let port = rest.isEmpty ? nil : Substring(rest.dropFirst())
        // Once: what is encoded twice has a percent sign left, and that is no name.
        let host = given.holds(UInt8(ascii: "%")) ? decoded(given) : given
        if host.bytes({ $0.contains { $0 >= 0x80 } }), let name = ascii(String(host)) { return (name, port) }
        guard host.isEmpty || isName(host) else { throw URLRules.bad("\"\(given.prefix(60))\" is not a host name") }
        let isSmall = host.bytes { !$0.contains { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 } }
        return (isSmall ? String(host) : host.lowercased(), port)
    }

    /// The name itself if what it encodes is not UTF-8.
    private static func decoded(_ name: Substring) -> Substring {
        String(validating: PercentCoding.decode(name), as: UTF8.self).map { $0[...] } ?? name
    }

    /// Whether it may be a name in ASCII. Names in use go beyond RFC 1035 section 2.3.1.
    static func isName(_ host: Substring) -> Bool {
        host.utf8.count <= 253 && host.bytes { $0.allSatisfy(PlainURL.isUnreserved) } && !hasEmptyLabel(host)
    }

    /// Whether it begins with a dot or has two dots in a row.
    private static func hasEmptyLabel(_ host: Substring) -> Bool {
        host.bytes { bytes in
            var last = UInt8(ascii: ".")
            for byte in bytes {
                if byte == UInt8(ascii: "."), last == byte { return true }
                last = byte
            }
            return false
        }
    }

    /// Whether it is an IPv4 address in four parts, or an IPv6 address.
    static func isWholeAddress(_ text: String) -> Bool { isIPv6(text) || isIPv4(text[...]) }

    /// RFC 4291 section 2.2, with an optional zone (RFC 6874).
    private static func isIPv6(_ text: String) -> Bool {
        let address = text.prefix { $0 != "%" }
        let isTame = text.utf8.dropFirst(address.utf8.count).allSatisfy {
            "-._~%".utf8.contains($0) || $0.isLetter || $0.isDigit
        }
        guard isTame else { return false }
        let halves = address.split(separator: "::", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), address.contains(":") else { return false }
        var groups = 0
        for (index, half) in halves.enumerated() where !half.isEmpty {
            guard let count = groupCount(half, mayEndInIPv4: index == halves.count - 1) else { return false }
            groups += count
        }
        return halves.count == 2 ? groups <= 7 : groups == 8
    }

    private static func groupCount(_ half: Substring, mayEndInIPv4: Bool) -> Int? {
        let groups = half.split(separator: ":", omittingEmptySubsequences: false)
        var count = 0
        for (index, group) in groups.enumerated() {
            if mayEndInIPv4, index == groups.count - 1, isIPv4(group) {
                count += 2
            } else if (1...4).contains(group.utf8.count), group.utf8.allSatisfy({ Hex.digit($0) != nil }) {
                count += 1
            } else {
                return nil
            }
        }
        return count
    }

    private static func isIPv4(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { part in UInt8(part) != nil && !part.hasPrefix("+") }
    }
}

extension HostName {
    /// A name in the form in which names are compared (RFC 6797 section 8.2): in lower case, without the dot of the
    /// root, and with A-labels for labels beyond ASCII (RFC 5890). An IPv6 address is in its shortest form (RFC 5952),
    /// without brackets. A name that cannot be converted is unchanged.
    package static func canonical(_ host: String) -> String {
        if host.utf8.contains(UInt8(ascii: ":")) { return shortest(host) ?? host.lowercased() }
        let name = withoutLastDots(host)
        guard name.utf8.contains(where: { $0 >= 0x80 }), !name.holds(0) else {
            return name.utf8.contains { (0x41...0x5A).contains($0) } ? name.lowercased() : name
        }
        return ascii(name).map(withoutLastDots) ?? name
    }

    private static func withoutLastDots(_ name: String) -> String {
        var name = name
        while name.utf8.count > 1, name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        return name
    }

    /// nil if it is not an IPv6 address (inet_pton(3)).
    private static func shortest(_ text: String) -> String? {
        var address = in6_addr()
        let isBracketed = text.utf8.first == UInt8(ascii: "[") && text.utf8.last == UInt8(ascii: "]")
        let text = isBracketed ? String(text.dropFirst().dropLast()) : text
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        return inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)).map { String(cString: $0) }
    }

    /// A name beyond ASCII as DNS has it, with A-labels (RFC 5891 section 5, UTS 46 without transitional mapping).
    /// - Returns: nil if IDNA refuses it, or if the result is not a host name. Some characters become a slash or a
    ///   colon.
    package static func ascii(_ name: String) -> String? {
        guard name.utf8.count <= longestGiven, !name.holds(0) else { return nil }
        var found: UnsafeMutablePointer<UInt8>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        guard idn2_lookup_u8(name, &found, flags) == IDN2_OK.rawValue, let found else { return nil }
        defer { idn2_free(found) }
        let ascii = String(cString: found)
        return isName(ascii[...]) ? ascii : nil
    }

    /// Four bytes for each of the most bytes that a name may have.
    private static let longestGiven = 4 * 253

    /// Whether it is a DNS name in canonical form: labels of at most 63 letters, digits, hyphens and underscores (RFC
    /// 1035 section 2.3.1, which lacks underscores, but they are in use).
    package static func isDomain(_ name: String) -> Bool {
        guard (1...253).contains(name.utf8.count), !isAddress(name) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count)
                && label.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || byte.isDigit || "-_".utf8.contains(byte)
                }
        }
    }
}

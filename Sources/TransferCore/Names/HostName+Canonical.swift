import CIDN
import Glibc
import TransferModel

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
        return HostRules.isName(ascii[...]) ? ascii : nil
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
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
                        || byte == UInt8(ascii: "_")
                }
        }
    }
}

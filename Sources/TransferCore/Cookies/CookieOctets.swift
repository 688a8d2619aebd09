/// Keeps cookies as text without changing their octets, because a server must get back exactly what it set. RFC 6265bis
/// section 5.6 defines cookies as octets, without a character set.
///
/// Valid UTF-8 is unchanged. Each other octet becomes the character U+F700 plus the octet. So do the octets of these
/// characters themselves. Therefore no two different cookies become the same text.
package enum CookieOctets {
    private static let base: UInt32 = 0xF700

    private static func standsForOctet(_ scalar: Unicode.Scalar) -> Bool {
        (base + 0x80...base + 0xFF).contains(scalar.value)
    }

    package static func text(of octets: some Sequence<UInt8>) -> String {
        var rest = Array(octets)[...]
        let whole = String(validating: rest, as: UTF8.self)
        if let whole, !whole.unicodeScalars.contains(where: standsForOctet) { return whole }
        var text = String.UnicodeScalarView()
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            let valid = String(validating: rest.prefix(length), as: UTF8.self)?.unicodeScalars.first
            if let valid, !standsForOctet(valid) {
                text.append(valid)
                rest.removeFirst(length)
            } else {
                text.append(Unicode.Scalar(base + UInt32(first)) ?? Unicode.Scalar(first))
                rest.removeFirst()
            }
        }
        return String(text)
    }

    package static func octets(of text: String) -> [UInt8] {
        guard text.unicodeScalars.contains(where: standsForOctet) else { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar -> [UInt8] in
            standsForOctet(scalar) ? [UInt8(scalar.value - base)] : Array(String(scalar).utf8)
        }
    }
}

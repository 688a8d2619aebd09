import CPSL
import TransferModel

/// The names below which anybody may register: the list that is compiled into libpsl (publicsuffix.org).
package enum PublicSuffixes {
    /// Whether no single owner has all names below this one (`com`, `co.uk`, `github.io`). True for every name of one
    /// label.
    package static func contains(_ domain: String) -> Bool {
        let name = withoutLastDot(domain)
        guard !name.isEmpty, !HostName.isAddress(name) else { return false }
        return psl_is_public_suffix(psl_builtin(), name) == 1
    }

    /// The registered name that a host belongs to: `example.co.uk` for `www.example.co.uk`. An address, a public suffix
    /// and a name of one label are returned unchanged.
    package static func site(of host: String) -> String {
        let name = withoutLastDot(host)
        guard !HostName.isAddress(name) else { return name }
        return name.withCString { psl_registrable_domain(psl_builtin(), $0).map { String(cString: $0) } } ?? name
    }

    /// libpsl counts the root's dot as one more label.
    private static func withoutLastDot(_ name: String) -> String {
        name.utf8.last == UInt8(ascii: ".") ? String(name.dropLast()) : name
    }
}

/// Host names as cookies compare them: in lower case (RFC 6265bis section 5.1.2).
package enum HostName {
    /// Whether it is an IPv4 or IPv6 address: no host name ends in a label of digits alone.
    package static func isAddress(_ host: String) -> Bool {
        host.bytes { bytes in
            guard !bytes.isEmpty else { return false }
            if bytes.contains(UInt8(ascii: ":")) { return true }
            let label = bytes.suffix { $0 != UInt8(ascii: ".") }
            return !label.isEmpty && label.allSatisfy { (0x30...0x39).contains($0) }
        }
    }

    /// A host or a domain in the form in which cookies compare them: in lower case, with A-labels, an IPv6 address in
    /// its shortest form and without brackets. The dot of the root stays.
    package static func ofCookie(_ host: String) -> String {
        host.utf8.contains { $0 == UInt8(ascii: ":") || $0 >= 0x80 } ? canonical(host) : host.lowercased()
    }

    /// RFC 6265bis section 5.1.3.
    package static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        guard host.utf8.count > domain.utf8.count, !domain.isEmpty, host.hasSuffix(domain) else { return false }
        return host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".") && !isAddress(host)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The longest suffix whose bytes all satisfy `predicate`.
    fileprivate func suffix(while predicate: (UInt8) -> Bool) -> Slice<Self> {
        var start = endIndex
        while start > startIndex, predicate(self[start - 1]) { start -= 1 }
        return self[start...]
    }
}

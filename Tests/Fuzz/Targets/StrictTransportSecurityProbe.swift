import TransferCore
import TransferModel

/// Strict-Transport-Security fields. Each line is `host|field` or the field of one host. A list stays within its
/// limits, and knows no host that never sent a field.
struct StrictTransportSecurityProbe: Probe {
    var parse: @Sendable (String) -> StrictTransportSecurity?

    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    static let target = FuzzTarget(
        "strict-transport-security",
        words: [
            "max-age=", "31536000", "\"", "\\", "; ", "includeSubDomains", "preload", "=", "0", "99999999999999999999",
            "|",
            "a.example.org", "127.0.0.1", "[::1]", "bücher.example", "xn--", ".", "\n", "\t", "\u{0}",
        ],
        StrictTransportSecurityProbe { StrictTransportSecurity($0) },
        // A last directive is read even if its name occurred before.
        planted: StrictTransportSecurityProbe { field in
            StrictTransportSecurity(field)
                ?? field.lastIndex(of: ";").flatMap { StrictTransportSecurity(String(field[..<$0])) }
        })

    func check(_ input: [UInt8]) throws {
        var list = HSTSList()
        var asked: Set<String> = []
        for line in input.split(separator: 10) {
            let parts = line.split(separator: UInt8(ascii: "|"), maxSplits: 1, omittingEmptySubsequences: false)
            let host = parts.count > 1 ? fieldValue(Array(parts[0])) : "www.example.org"
            let field = fieldValue(Array(parts[parts.count - 1]))
            try check(field)
            _ = list.receive(field, from: host, at: Self.now)
            asked.insert(HostName.canonical(host))
        }
        let known = list.all(at: Self.now)
        try hold(known.count <= Bounds.hstsHosts, "\(known.count) hosts")
        let last = Self.now.advanced(by: Seconds(Bounds.longestTimeout))
        for host in known {
            try hold(asked.contains(host.domain), "\(shown(host.domain)) never asked")
            try hold(!HostName.isAddress(host.domain), "\(shown(host.domain)) is an address")
            try hold(host.expires > Self.now && host.expires <= last, "it expires at \(host.expires)")
            try hold(list.isKnown(host.domain, at: Self.now), "\(shown(host.domain)) is listed and not known")
            try hold(
                list.isKnown("zq7." + host.domain, at: Self.now) || !host.includesSubdomains,
                "a name below \(shown(host.domain)) is not known")
        }
        try hold(!list.isKnown("other.test", at: Self.now) || asked.contains("test"), "other.test is known")
    }

    /// Text that is added to a conforming field changes the result only as the grammar says.
    private func check(_ field: String) throws {
        guard let said = parse(field) else { return }
        try hold(said.maxAge >= 0 && said.maxAge <= Int64(Bounds.longestTimeout), "max-age \(said.maxAge)")
        try hold(field.utf8.count <= Bounds.strictTransportSecurity, "\(field.utf8.count) bytes are read")
        guard field.utf8.count < Bounds.strictTransportSecurity - 100 else { return }
        try hold(parse(field + ";max-age=1") == nil, "max-age comes twice in \(shown(field))")
        try hold(parse(field + " ; ;") == said, "empty directives change \(shown(field))")
        try hold(
            parse(field + ";zq7unknown=\";\"") == said || field.contains("zq7"), "\(shown(field)) and an unknown one")
        let wider = parse(field + ";includesubdomains")
        try hold(
            said.includesSubdomains ? wider == nil : wider?.maxAge == said.maxAge, "\(shown(field)) and subdomains")
    }
}

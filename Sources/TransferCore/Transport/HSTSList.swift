import TransferModel

/// The hosts that have asked to be reached over https alone (RFC 6797).
package struct HSTSList: Sendable {
    private struct Entry {
        var host: HSTSHost
        /// The registered domain. The names below it share a bound.
        var site: String
        /// The expiry that the store has.
        var storedExpiry: Timestamp
    }

    private var entries: [String: Entry] = [:]

    /// - Parameter hosts: the stored hosts.
    package init(_ hosts: [HSTSHost] = []) {
        for host in hosts {
            entries[host.domain] = Entry(
                host: host, site: PublicSuffixes.site(of: host.domain), storedExpiry: host.expires)
        }
    }

    package func host(_ domain: String) -> HSTSHost? { entries[domain]?.host }

    /// The hosts that have not expired, sorted by name.
    package func all(at now: Timestamp) -> [HSTSHost] {
        entries.values.map(\.host).filter { $0.expires > now }.sorted { $0.domain < $1.domain }
    }

    /// Whether a host must be reached over https alone: it is known itself, or a domain above it is known with its
    /// subdomains (section 8.2). Addresses are never known.
    package func isKnown(_ host: String, at now: Timestamp) -> Bool { known(host, at: now) != nil }

    /// The entry that makes a host known: its own, or that of a domain above it.
    package func known(_ host: String, at now: Timestamp) -> HSTSHost? {
        guard !entries.isEmpty else { return nil }
        let name = HostName.canonical(host)
        guard !HostName.isAddress(name) else { return nil }
        var domain = name[...]
        while true {
            if let known = entries[String(domain)]?.host, known.expires > now,
                known.includesSubdomains || domain.utf8.count == name.utf8.count
            {
                return known
            }
            guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            domain = domain[domain.utf8.index(after: dot)...]
        }
    }

    /// Takes the first Strict-Transport-Security field of an answer that came over TLS from a server whose certificate
    /// was verified (section 8.1).
    /// - Returns: the domains whose stored entries must be written again, or removed if they are no longer in the list.
    package mutating func receive(_ field: String, from host: String, at now: Timestamp) -> [String] {
        let domain = HostName.canonical(host)
        // Section 8.1.1: no addresses. The root has no names that a server could answer for.
        guard HostName.isDomain(domain), let said = StrictTransportSecurity(field) else { return [] }
        guard said.maxAge > 0 else { return entries.removeValue(forKey: domain) == nil ? [] : [domain] }
        let known = HSTSHost(
            domain: domain, includesSubdomains: said.includesSubdomains, learned: now,
            expires: now.advanced(by: Seconds(Double(said.maxAge))))
        if let before = entries[domain] {
            entries[domain]?.host = known
            // Each answer repeats the field. If the expiry moves by less than a tenth of its time, or a day, it is not
            // written again.
            let shift = abs(before.storedExpiry.rawValue - known.expires.rawValue)
            if before.host.includesSubdomains == known.includesSubdomains, shift < min(86_400_000, said.maxAge * 100) {
                return []
            }
            entries[domain]?.storedExpiry = known.expires
            return [domain]
        }
        let site = PublicSuffixes.site(of: domain)
        entries[domain] = Entry(host: known, site: site, storedExpiry: known.expires)
        return [domain] + shrink(of: site, keeping: domain, at: now)
    }

    /// If a bound is exceeded, removes the host that asked longest ago, of the same registered domain or of all.
    /// Expired hosts are removed first.
    private mutating func shrink(of site: String, keeping new: String, at now: Timestamp) -> [String] {
        func excess() -> [Entry]? {
            let ofSite = entries.values.filter { $0.site == site }
            if ofSite.count > Bounds.hstsHostsOfSite { return ofSite }
            return entries.count > Bounds.hstsHosts ? Array(entries.values) : nil
        }
        guard excess() != nil else { return [] }
        var gone = entries.values.filter { $0.host.expires <= now }.map(\.host.domain)
        for domain in gone { entries[domain] = nil }
        if let oldest = excess()?.filter({ $0.host.domain != new })
            .min(by: { ($0.host.learned, $0.host.domain) < ($1.host.learned, $1.host.domain) })
        {
            entries[oldest.host.domain] = nil
            gone.append(oldest.host.domain)
        }
        return gone
    }

    /// Forgets a domain and the names below it, or all.
    /// - Returns: the domains that were known.
    package mutating func forget(_ domain: String?) -> [String] {
        let wanted = domain.map(HostName.canonical)
        let gone = entries.keys.filter { name in wanted.map { HostName.matches(name, domain: $0) } ?? true }
        for name in gone { entries[name] = nil }
        return gone
    }
}

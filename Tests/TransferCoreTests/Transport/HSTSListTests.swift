import Testing
import TransferModel

@testable import TransferCore

/// Which hosts are known, and for how long (RFC 6797 section 8).
struct HSTSListTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private var list = HSTSList()

    private mutating func learn(
        _ host: String, _ field: String = "max-age=1000", after seconds: Double = 0
    ) -> [String] {
        list.receive(field, from: host, at: Self.now.advanced(by: Seconds(seconds)))
    }

    private func isKnown(_ host: String, after seconds: Double = 0) -> Bool {
        list.isKnown(host, at: Self.now.advanced(by: Seconds(seconds)))
    }

    /// Section 8.2: a host is known if it matches itself, or a domain above it that includes its subdomains. Labels are
    /// compared, not letters.
    @Test mutating func theHostItselfOrWhatIsAboveIt() {
        #expect(learn("a.example.org") == ["a.example.org"])
        for host in ["a.example.org", "A.Example.ORG", "a.example.org."] { #expect(isKnown(host), "\(host)") }
        for host in ["b.a.example.org", "example.org", "ba.example.org", "a.example.or", "org", "", "."] {
            #expect(!isKnown(host), "\(host)")
        }
        _ = learn("a.example.org", "max-age=1000; includeSubDomains")
        for host in ["b.a.example.org", "c.b.a.example.org", "C.B.A.EXAMPLE.ORG.", "a.example.org"] {
            #expect(isKnown(host), "\(host)")
        }
        for host in ["ba.example.org", "example.org", "x-a.example.org"] { #expect(!isKnown(host), "\(host)") }
    }

    /// An entry for a subdomain without includeSubDomains does not weaken the domain above it.
    @Test mutating func aDomainAboveCountsBesideTheHostsOwn() {
        _ = learn("example.org", "max-age=1000; includeSubDomains")
        _ = learn("a.example.org", "max-age=1000")
        #expect(isKnown("b.a.example.org"))
        #expect(learn("a.example.org", "max-age=0") == ["a.example.org"])
        #expect(isKnown("a.example.org"))
    }

    /// Section 8.1.1.
    @Test(arguments: ["127.0.0.1", "127.0.0.1.", "[::1]", "::1", "1.2.3", "0x7f.1", "[2001:db8::1]"])
    mutating func addressesNeverAre(_ host: String) {
        #expect(learn(host, "max-age=1000; includeSubDomains").isEmpty)
        #expect(!isKnown(host) && list.all(at: Self.now).isEmpty)
        let stored = HSTSHost(
            domain: host, includesSubdomains: true, learned: Self.now, expires: Self.now.advanced(by: 1000))
        #expect(!HSTSList([stored]).isKnown(host, at: Self.now))
    }

    @Test mutating func namesBeyondASCIIAreOneInBothForms() {
        _ = learn("BÜCHER.example")
        #expect(isKnown("xn--bcher-kva.example") && isKnown("bücher.example") && !isKnown("bucher.example"))
        #expect(list.all(at: Self.now).map(\.domain) == ["xn--bcher-kva.example"])
    }

    @Test mutating func itExpires() {
        _ = learn("a.org", "max-age=1000")
        #expect(isKnown("a.org", after: 999.9) && !isKnown("a.org", after: 1000))
        #expect(list.all(at: Self.now.advanced(by: 1000)).isEmpty)
        // Each answer counts from its arrival (section 8.1), and may withdraw includeSubDomains.
        _ = learn("a.org", "max-age=1000; includeSubDomains", after: 500)
        #expect(isKnown("a.org", after: 1499) && isKnown("b.a.org", after: 1499) && !isKnown("a.org", after: 1500))
        _ = learn("a.org", "max-age=10", after: 600)
        #expect(isKnown("a.org", after: 609) && !isKnown("a.org", after: 611) && !isKnown("b.a.org", after: 601))
    }

    /// Section 6.1.1: zero removes the host at once.
    @Test mutating func zeroForgets() {
        #expect(learn("a.org", "max-age=0").isEmpty)
        _ = learn("a.org", "max-age=1000; includeSubDomains")
        #expect(learn("b.a.org", "max-age=0").isEmpty && isKnown("a.org"))
        #expect(learn("a.org", "max-age=0; includeSubDomains") == ["a.org"])
        #expect(!isKnown("a.org") && !isKnown("b.a.org"))
    }

    @Test mutating func whatDoesNotConformChangesNothing() {
        _ = learn("a.org", "max-age=1000; includeSubDomains")
        for field in ["", "max-age=0; max-age=0", "includeSubDomains", "max-age=x"] {
            #expect(learn("a.org", field).isEmpty)
        }
        #expect(isKnown("b.a.org", after: 999))
    }

    /// Every answer repeats the field. The store gets it only when the change matters, and then completely.
    @Test mutating func aRepetitionIsNotWorthAWrite() {
        #expect(learn("a.org", "max-age=31536000") == ["a.org"])
        for hour in 1..<24 {
            #expect(learn("a.org", "max-age=31536000", after: Double(hour) * 3600).isEmpty)
        }
        #expect(list.host("a.org")?.expires == Self.now.advanced(by: Seconds(31_536_000.0 + 23 * 3600)))
        #expect(learn("a.org", "max-age=31536000", after: 24 * 3600) == ["a.org"])
        #expect(learn("a.org", "max-age=31536000; includeSubDomains", after: 24 * 3600) == ["a.org"])
        #expect(learn("b.org", "max-age=100") == ["b.org"])
        #expect(
            learn("b.org", "max-age=100", after: 9).isEmpty && learn("b.org", "max-age=100", after: 10) == ["b.org"])
        #expect(learn("b.org", "max-age=50", after: 10) == ["b.org"])
    }

    /// A server with a wildcard name takes no entries from others: its own oldest entry is removed.
    @Test mutating func aSiteHasABound() {
        _ = learn("other.org")
        for number in 0...Bounds.hstsHostsOfSite {
            _ = learn("n\(number).evil.co.uk", after: Double(number))
        }
        let known = list.all(at: Self.now).map(\.domain)
        #expect(known.count == Bounds.hstsHostsOfSite + 1 && known.contains("other.org"))
        #expect(!known.contains("n0.evil.co.uk") && known.contains("n1.evil.co.uk"))
        // A host that is renewed is no longer the oldest.
        _ = learn("n1.evil.co.uk", after: 200)
        #expect(learn("new.evil.co.uk", after: 201) == ["new.evil.co.uk", "n2.evil.co.uk"])
        #expect(isKnown("n1.evil.co.uk", after: 201))
    }

    @Test mutating func soHasTheList() {
        for number in 0...Bounds.hstsHosts { _ = learn("n\(number).org", after: Double(number) / 100) }
        #expect(list.all(at: Self.now).count == Bounds.hstsHosts)
        #expect(!isKnown("n0.org") && isKnown("n1.org"))
        // Expired entries are removed first.
        _ = learn("short.org", "max-age=1", after: 50)
        #expect(learn("late.org", after: 52) == ["late.org", "short.org"])
        #expect(isKnown("n2.org", after: 52))
    }

    @Test mutating func aDomainIsForgottenWithWhatIsBelowIt() {
        for host in ["example.org", "a.example.org", "b.a.example.org", "example.com"] { _ = learn(host) }
        #expect(Set(list.forget("A.example.org.")) == ["a.example.org", "b.a.example.org"])
        #expect(list.forget("a.example.org").isEmpty)
        #expect(list.all(at: Self.now).map(\.domain) == ["example.com", "example.org"])
        #expect(list.forget(nil).count == 2)
        #expect(list.all(at: Self.now).isEmpty)
    }
}

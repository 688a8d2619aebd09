import Testing
import TransferModel

@testable import TransferCore

@Suite struct CredentialMarksTests {
    private static func demand(_ realm: String) -> ProtectionSpace {
        ProtectionSpace(
            host: "a.org", port: 443, protocol: "https", realm: realm, method: .httpBasic, isProxy: false)
    }

    @Test func aMarkIsOfOneCredentialInItsSpace() {
        var marks = CredentialMarks()
        marks.add("anna", "p", at: CredentialSpace(Self.demand("r")))
        #expect(marks.contain("anna", "p", for: Self.demand("r")))
        #expect(!marks.contain("anna", "p", for: Self.demand("other")))
        #expect(
            !marks.contain("anna", "q", for: Self.demand("r")) && !marks.contain("annap", "", for: Self.demand("r")))
        let site = CredentialSpace(host: "a.org", port: 443, protocol: "https")
        marks.add("bert", "p", at: site)
        #expect(marks.contain("bert", "p", for: Self.demand("other")))
        marks.remove("anna", "p", at: site)
        #expect(!marks.contain("anna", "p", for: Self.demand("r")) && marks.contain("bert", "p", for: Self.demand("r")))
        marks.remove(at: site)
        #expect(marks == CredentialMarks())
    }

    /// An answer that a client gave later is not meant.
    @Test func aMarkIsOfWhatWasBefore() {
        var marks = CredentialMarks()
        let (space, demand) = (CredentialSpace(Self.demand("r")), Self.demand("r"))
        marks.add("anna", "p", at: space, time: 5)
        #expect(marks.contain("anna", "p", for: demand, after: 4))
        #expect(!marks.contain("anna", "p", for: demand, after: 5))
        marks.add("anna", "p", at: space, time: 7)
        #expect(marks.contain("anna", "p", for: demand, after: 6) && marks.contain("anna", "p", for: demand))
    }

    @Test func theOldestGoesOverTheBound() {
        var marks = CredentialMarks()
        let space = CredentialSpace(Self.demand("r"))
        for number in 0...Bounds.credentials { marks.add("u\(number)", "p", at: space) }
        #expect(!marks.contain("u0", "p", for: Self.demand("r")) && marks.contain("u1", "p", for: Self.demand("r")))
    }
}

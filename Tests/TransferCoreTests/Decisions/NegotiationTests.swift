import Testing
import TransferModel

@testable import TransferCore

@Suite struct NegotiationTests {
    /// RFC 4178 section 4.2.1, byte by byte.
    @Test func kerberosIsAllThatIsOffered() {
        let expected: [UInt8] = [
            0x60, 0x22, 6, 6, 0x2B, 6, 1, 5, 5, 2,  // SPNEGO
            0xA0, 0x18, 0x30, 0x16,  // NegTokenInit
            0xA0, 0x0D, 0x30, 0x0B, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2,  // mechTypes
            0xA2, 0x05, 4, 3, 1, 2, 3,  // mechToken
        ]
        #expect(Negotiation.initial([1, 2, 3]) == expected)
        #expect(Negotiation.field([1, 2, 3]) == "Negotiate " + expected.base64)
    }

    /// X.690 section 8.1.3.
    @Test(arguments: [(100, 1), (200, 2), (300, 3), (70_000, 4)])
    func lengthsAreAsShortAsCanBe(count: Int, bytes: Int) {
        let token = Negotiation.initial(Array(repeating: 7, count: count))
        #expect(token.suffix(count).allSatisfy { $0 == 7 })
        let length = Array(token.dropLast(count).suffix(bytes))
        if bytes == 1 {
            #expect(length == [UInt8(count)])
        } else {
            #expect(length[0] == 0x80 | UInt8(bytes - 1) && length[1] != 0)
            #expect(length.dropFirst().reduce(0) { $0 << 8 | Int($1) } == count)
        }
        #expect(token.dropLast(count + bytes).last == 4)
    }

    private func head(_ value: String, status: Int = 401) -> ResponseHead {
        let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        return ResponseHead(url: "https://a.example/", status: status, headers: [HeaderField(name, value)])
    }

    /// What Kerberos says goes before what the server says.
    @Test func aFailureSaysWhoRefused() {
        #expect(Negotiation.failure(head("Negotiate")).isRefusal)
        #expect(!Negotiation.failure(head("Negotiate")).reason.contains("dialogue"))
        #expect(Negotiation.failure(head("Negotiate oRQw==")).reason.contains("dialogue"))
        #expect(Negotiation.failure(head("Negotiate oRQw==", status: 407)).reason.contains("dialogue"))
        var head = head("Negotiate oRQw==")
        head.kerberosFailure = KerberosFailure("no realm")
        #expect(Negotiation.failure(head) == KerberosFailure("no realm"))
    }
}

import Testing
import TransferModel

@testable import TransferCore

struct PayloadTests {
    @Test func lengthsCountEverything() {
        #expect(Payload.none.length == nil)
        #expect(Payload.bytes([]).length == 0)
        #expect(Payload.source(offset: 5, length: 7).length == 7)
        let framed = Payload.framed(head: [1, 2], offset: 5, length: 7, tail: [3])
        #expect(framed.length == 10)
        #expect(framed.sourceLength == 7)
        #expect(framed.sourceOffset == 5)
        #expect(Payload.bytes([1]).sourceOffset == nil)
    }

    @Test func digestsHaveTheirFieldsForm() {
        let bytes: [UInt8] = Array(0..<32)
        let structured = PayloadDigest(.representation, .sha256)
        #expect(structured.field(bytes).value == "sha-256=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:")
        #expect(DigestFields.parse([structured.field(bytes)])[.sha256] == Hex.encode(bytes))
        let tus = PayloadDigest(.upload, .sha1)
        #expect(tus.field([0]).value == "sha1 AA==")
    }
}

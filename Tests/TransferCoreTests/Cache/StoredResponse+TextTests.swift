import Testing
import TransferModel

@testable import TransferCore

struct StoredResponseTextTests {
    private func response(_ headers: [HeaderField], reason: String? = "OK") -> StoredResponse {
        StoredResponse(
            status: 200, httpVersion: "1.1", reason: reason, headers: headers, requestTime: 3, responseTime: 4,
            selection: CacheSelection(text: "accept-encoding: gzip\nx"))
    }

    @Test func aHeadComesBackAsItWas() throws {
        let one = response([HeaderField("A", "b: c"), HeaderField("A", ""), HeaderField("Ä", " ü ")])
        for stored in [one, response([], reason: nil)] {
            let text = try #require(stored.text)
            #expect(
                StoredResponse(text: text, selection: stored.selection.text, requestTime: 3, responseTime: 4) == stored)
        }
    }

    @Test func whatWouldReadAsAnotherFieldIsNotWritten() {
        #expect(response([HeaderField("A", "b\nC: d")]).text == nil)
        #expect(response([], reason: "a\nb").text == nil)
    }

    @Test(arguments: ["", "200", "x\n\n", "200\n\n\nA", "200\n\n\nA:b"])
    func otherTextsAreRefused(_ text: String) {
        #expect(StoredResponse(text: text, selection: "", requestTime: 0, responseTime: 0) == nil)
    }
}

import Testing

@testable import TransferModel

struct ResponseBodyTests {
    @Test func textIsShownAsText() {
        let body = ResponseBody(showing: Array("grüß".utf8), isTruncated: false)
        #expect(body.text == "grüß")
        #expect(body.base64 == nil)
        #expect(body.truncated == nil)
    }

    @Test func aCharacterCutAtTheEndIsLeftOut() {
        for cut in 1...3 {
            let body = ResponseBody(showing: Array("ab🙂".utf8.dropLast(cut)), isTruncated: true)
            #expect(body.text == "ab")
            #expect(body.truncated == true)
        }
    }

    @Test func otherBytesAreBase64() {
        #expect(ResponseBody(showing: [0xFF, 0xFE], isTruncated: false).base64 == "//4=")
        // A body that was not cut is not text if its end is invalid.
        #expect(ResponseBody(showing: Array("ab🙂".utf8.dropLast(1)), isTruncated: false).text == nil)
    }
}

import Testing

@testable import TransferCore

struct MediaTypeTests {
    @Test func essenceAndParameters() {
        let value = "Text/HTML ; Charset=\"utf-8\"; x=y"
        #expect(MediaType.essence(value) == "text/html")
        #expect(MediaType.parameter("charset", of: value) == "utf-8")
        #expect(MediaType.parameter("z", of: value) == nil)
    }

    @Test func statusTextsCoverUnknownCodes() {
        #expect(HTTPStatus.text(200) == "OK")
        #expect(HTTPStatus.text(404) == "not found")
        #expect(HTTPStatus.text(599) == "server error")
        #expect(HTTPStatus.text(999) == "unknown")
    }
}

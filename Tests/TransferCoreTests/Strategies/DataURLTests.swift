import Testing
import TransferModel

@testable import TransferCore

struct DataURLTests {
    @Test(arguments: [
        ("data:,A%20brief%20note", "text/plain;charset=US-ASCII", "A brief note"),
        ("data:text/html;charset=utf-8,%3Cp%3E", "text/html;charset=utf-8", "<p>"),
        ("data:text/plain;base64,SGVsbG8=", "text/plain", "Hello"),
        ("data:text/plain;base64,SGVsbG8", "text/plain", "Hello"),
        ("data:;base64,SGVs%62G8%3D", "text/plain;charset=US-ASCII", "Hello"),
        ("data:;charset=utf-8,x", "text/plain;charset=utf-8", "x"),
        ("DATA:,a#fragment", "text/plain;charset=US-ASCII", "a"),
        ("data:,", "text/plain;charset=US-ASCII", ""),
        ("data:,100%", "text/plain;charset=US-ASCII", "100%"),
    ])
    func decodes(_ url: String, _ type: String, _ text: String) throws {
        let content = try DataURL(url)
        #expect(content.mediaType == type)
        #expect(content.bytes == Array(text.utf8))
    }

    @Test(arguments: ["data:", "data:text/plain", "data:;base64,!!!", "http://x/"])
    func refuses(_ url: String) {
        let error = #expect(throws: TransferError.self) { try DataURL(url) }
        #expect(error?.code == .badURL)
    }
}

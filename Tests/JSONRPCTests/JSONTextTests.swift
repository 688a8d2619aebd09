import Foundation
import JSONRPC
import Testing

struct JSONTextTests {
    @Test(arguments: ["", "plain", "\"quoted\" \\ and /", "\u{0}\u{1}\u{8}\n\r\t\u{1F}", "é 漢 😀 \u{2028}\u{7F}"])
    func survivesADecoder(_ text: String) throws {
        #expect(try JSONDecoder().decode(String.self, from: Data(JSONText.quoted(text))) == text)
    }
}

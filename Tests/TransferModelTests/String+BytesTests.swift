import Testing

@testable import TransferModel

@Suite struct StringBytesTests {
    @Test(arguments: [
        "", "a", "fifteen bytes..", "a text that is too long to lie in the string itself", "ä/ö", "e\u{301}/",
    ])
    func bytesAreThoseOfUTF8(text: String) {
        #expect(text.bytes { Array($0) } == Array(text.utf8))
        let part = text.dropFirst(3)
        #expect(part.bytes { Array($0) } == Array(part.utf8))
        #expect(text.holds(UInt8(ascii: "/")) == text.utf8.contains(UInt8(ascii: "/")))
    }

    @Test(arguments: [[], [""], ["a"], ["", "ä", "", "b", "日本"], [String(repeating: "x", count: 300), "/", "é"]])
    func joinedTextsAreOneText(_ parts: [String]) {
        let joined =
            switch parts.count {
            case 0: String.joining()
            case 1: String.joining(parts[0])
            case 3: String.joining(parts[0], parts[1], parts[2])
            default: String.joining(parts[0], parts[1], parts[2], parts[3], parts[4])
            }
        #expect(joined == parts.joined())
    }
}

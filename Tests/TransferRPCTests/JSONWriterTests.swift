import Testing
import TransferModel
import TransferRPC

struct JSONWriterTests {
    @Test(arguments: [
        JSONValue.null, true, 0, -5, 9_223_372_036_854_775_807, 1.5, 1e-7, 1e300, "", "a\"b\\c\u{0}\u{1F}\u{7F}é😀", [],
        [1, "a", nil],
        [:], ["a": ["b": [["c": 1]]], "d": []],
    ])
    func writesWhatADecoderReads(_ value: JSONValue) throws {
        var writer = JSONWriter()
        writer.write(value)
        #expect(
            try WireCoding.decode([JSONValue].self, from: Array("[".utf8) + writer.bytes + Array("]".utf8)) == [value])
    }

    @Test func writesNullForNumbersThatJSONDoesNotHave() {
        var writer = JSONWriter()
        writer.write(.array([.number(.infinity), .number(.nan)]))
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "[null,null]")
    }
}

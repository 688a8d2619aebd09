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

    /// Else an event would be told in one way when it happens and in another one from the log.
    @Test(arguments: [0, 2, -3, 86_400, 1.5, 0.001, 1e300])
    func writesANumberAsAfterItWasStored(_ number: Double) throws {
        let stored = try WireCoding.decode(JSONValue.self, from: try WireCoding.encode(JSONValue.number(number)))
        var (first, later) = (JSONWriter(), JSONWriter())
        first.write(.number(number))
        later.write(stored)
        #expect(first.bytes == later.bytes)
    }

    @Test func writesNullForNumbersThatJSONDoesNotHave() {
        var writer = JSONWriter()
        writer.write(.array([.number(.infinity), .number(.nan)]))
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "[null,null]")
    }
}

import Testing

@testable import TransferModel

struct JSONCursorTests {
    private func text(room: Int, _ write: (inout JSONCursor) -> Void) -> String {
        String(unsafeUninitializedCapacity: room) { space in
            var cursor = JSONCursor(space)
            write(&cursor)
            return cursor.count
        }
    }

    @Test(arguments: ["", "a", "with \"quotes\" and \\", "\u{0}\n\u{1F}", "grüß 🙂 of more than eight bytes"])
    func quotesAsOthersDo(_ string: String) throws {
        var expected: [UInt8] = []
        JSONEscape.quote(string, into: &expected)
        #expect(
            text(room: JSONCursor.room(of: string)) { $0.write(quoting: string) }
                == String(decoding: expected, as: UTF8.self))
    }

    @Test(arguments: [0, 9, 10, -1, .max, .min] as [Int64])
    func writesNumbers(_ value: Int64) {
        #expect(text(room: JSONCursor.roomOfNumber) { $0.write(value) } == String(value))
    }

    @Test(arguments: [0, 1_800_000_000_123, .max, .min] as [Int64])
    func writesTimes(_ milliseconds: Int64) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(text(room: JSONCursor.roomOfNumber) { $0.write(quoting: time) } == "\"\(time)\"")
    }

    @Test func writesTextAsItIs() {
        #expect(
            text(room: 16) {
                $0.write(",")
                $0.write(Array("{\"a\":1}".utf8).dropFirst())
            } == ",\"a\":1}")
    }
}

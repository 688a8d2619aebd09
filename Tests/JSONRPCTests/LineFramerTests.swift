import JSONRPC
import NIOCore
import Testing

struct LineFramerTests {
    /// Returns all pieces of `text` when it arrives in chunks of `size` bytes.
    private func pieces(_ text: String, size: Int, limit: Int) -> [LineFramer.Piece] {
        var framer = LineFramer(limit: limit)
        var pieces: [LineFramer.Piece] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            framer.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let piece = framer.next() { pieces.append(piece) }
        }
        return pieces
    }

    @Test(arguments: 1...9)
    func cutsLinesHoweverTheyArrive(_ size: Int) {
        let lines = ["one", "", "two", "thirteen", "é"]
        let text = lines.map { $0 + "\n" }.joined() + "half"
        #expect(pieces(text, size: size, limit: 8) == lines.map { .line(Array($0.utf8)) })
    }

    @Test(arguments: 1...12)
    func givesUpAtALineOverTheLimit(_ size: Int) {
        let found = pieces("12345678\n123456789\nafter\n", size: size, limit: 8)
        #expect(found == [.line(Array("12345678".utf8)), .overlong])
    }

    @Test func givesUpBeforeTheLineEnds() {
        var framer = LineFramer(limit: 4)
        framer.append(ByteBuffer(string: "1234"))
        #expect(framer.next() == nil && framer.heldBytes == 4)
        framer.append(ByteBuffer(string: "5"))
        #expect(framer.next() == .overlong && framer.heldBytes == 0)
        framer.append(ByteBuffer(string: "\n\n"))
        #expect(framer.next() == nil && framer.heldBytes == 0)
    }
}

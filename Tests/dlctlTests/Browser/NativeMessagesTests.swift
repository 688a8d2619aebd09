import Glibc
import TestSupport
import Testing
import TransferModel

@testable import dlctl

@Suite struct NativeMessagesTests {
    private typealias Incoming = NativeMessages.Incoming

    /// What is read of these bytes, up to the end.
    private func read(_ bytes: [UInt8]) throws -> [Incoming] {
        let folder = try TemporaryFolder()
        try Files.write(folder.file("in"), bytes)
        let input = open(folder.file("in"), O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var found: [Incoming] = []
        while found.count < 10 {
            found.append(NativeMessages(input: input).next())
            if [.end, .cut].contains(found.last) { break }
        }
        return found
    }

    static func framed(_ text: [UInt8]) -> [UInt8] { withUnsafeBytes(of: UInt32(text.count)) { Array($0) } + text }

    @Test func messagesAreReadInOrder() throws {
        let two = Self.framed([1, 2, 3]) + Self.framed([]) + Self.framed([4])
        #expect(try read(two) == [.message([1, 2, 3]), .message([]), .message([4]), .end])
    }

    @Test func aLongMessageIsReadWholeAndATooLongOneIsDropped() throws {
        let longest = [UInt8](repeating: 7, count: NativeMessages.longestMessage)
        #expect(try read(Self.framed(longest)) == [.message(longest), .end])
        #expect(
            try read(Self.framed(longest + [7]) + Self.framed([4])) == [
                .tooLong(NativeMessages.longestMessage + 1), .message([4]), .end,
            ])
    }

    @Test(arguments: 1..<7) func aCutMessageIsNoneAndNotTheEnd(length: Int) throws {
        #expect(try read(Array(Self.framed([1, 2, 3]).prefix(length))) == [.cut])
    }

    @Test func aTooLongMessageMayBeCut() throws {
        #expect(try read([0xFF, 0xFF, 0xFF, 0xFF, 1]) == [.tooLong(Int(UInt32.max)), .end])
    }

    @Test func answersAreFramed() throws {
        let folder = try TemporaryFolder()
        let output = open(folder.file("out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let messages = NativeMessages(output: output)
        messages.send(["code": 0])
        // A browser would end the connection at a longer one.
        messages.send(.string(String(repeating: "x", count: NativeMessages.longestAnswer)))
        #expect(try Files.read(folder.file("out")) == Self.framed(Array(#"{"code":0}"#.utf8)))
    }
}

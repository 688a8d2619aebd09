import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import FileKit

struct ContentDecodingTests {
    private let fixture: FilesFixture

    init() throws { fixture = try FilesFixture() }

    /// `printf 'hello hello hello' | gzip -n`
    private static let gzip: [UInt8] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0, 0x80, 0x88, 0xf9,
        0xe5,
        0x11, 0, 0, 0,
    ]
    private static let raw = Array(gzip[10..<20])

    private func decode(_ codings: [ContentCodingRules.Undoable], _ bytes: [UInt8]) throws -> String {
        try Files.write(fixture.temporary.file("coded"), bytes)
        try Files.write(fixture.temporary.file("plain"), "what was there before, which is longer")
        let coded = Descriptor(open(fixture.temporary.file("coded"), O_RDONLY))
        let plain = Descriptor(open(fixture.temporary.file("plain"), O_RDWR))
        let written = try ContentDecoding(codings).decode(coded: coded.rawValue, into: plain.rawValue, path: "plain")
        let text = try fixture.text("plain")
        #expect(written == ByteCount(Int64(text.utf8.count)))
        return text
    }

    @Test func gzipIsDecodedMemberAfterMember() throws {
        #expect(try decode([.gzip], Self.gzip) == "hello hello hello")
        #expect(try decode([.gzip], Self.gzip + Self.gzip) == "hello hello hellohello hello hello")
        #expect(try decode([.gzip], Self.gzip + [0, 0, 0]) == "hello hello hello")
    }

    @Test func deflateIsDecodedWithAndWithoutItsHeader() throws {
        #expect(try decode([.deflate], Self.raw) == "hello hello hello")
        let adler: [UInt8] = [0x3a, 0x2e, 0x06, 0x7d]
        #expect(try decode([.deflate], [0x78, 0x9c] + Self.raw + adler) == "hello hello hello")
    }

    @Test func anEarlyEndIsNoticed() throws {
        for length in [1, 10, 15, Self.gzip.count - 1] {
            #expect(code { _ = try decode([.gzip], Array(Self.gzip[..<length])) } == .integrityLength)
        }
        #expect(code { _ = try decode([.gzip], []) } == .integrityLength)
    }

    @Test func damageIsNoticed() throws {
        var damaged = Self.gzip
        damaged[22] ^= 0xff
        #expect(code { _ = try decode([.gzip], damaged) } == .httpProtocol)
        #expect(code { _ = try decode([.gzip], Array("plain text".utf8)) } == .httpProtocol)
    }

    @Test func layersAreDecodedOneAfterTheOther() async throws {
        let twice = try await packed(Self.gzip)
        #expect(try decode([.gzip, .gzip], twice) == "hello hello hello")
        let raw = try await packed(Self.raw)
        #expect(try decode([.gzip, .deflate], raw) == "hello hello hello")
        #expect(code { _ = try decode([.gzip, .gzip], Self.gzip) } == .httpProtocol)
        let cut = try await packed(Array(Self.gzip.dropLast(9)))
        #expect(code { _ = try decode([.gzip, .gzip], cut) } == .integrityLength)
        let none = try await packed([])
        #expect(code { _ = try decode([.gzip, .gzip], none) } == .integrityLength)
    }

    /// A few bytes may become very many.
    @Test func decodingEndsWhenNobodyWantsIt() async throws {
        let bomb = try await packed(try await packed([UInt8](repeating: 0, count: 64 << 20)))
        #expect(bomb.count < 1000)
        try Files.write(fixture.temporary.file("coded"), bomb)
        let coded = Descriptor(open(fixture.temporary.file("coded"), O_RDONLY))
        let plain = Descriptor(open(fixture.temporary.file("plain"), O_RDWR | O_CREAT, 0o600))
        let found = code {
            _ = try ContentDecoding([.gzip, .gzip]).decode(
                coded: coded.rawValue, into: plain.rawValue, path: "plain"
            ) { (status(of: plain.rawValue)?.st_size ?? 0) > 1 << 20 }
        }
        #expect(found == .cancelled)
        #expect((status(of: plain.rawValue)?.st_size ?? 0) < 8 << 20)
    }

    @Test func withoutCodingsItCopies() throws {
        #expect(try decode([], Array("as it is".utf8)) == "as it is")
    }

    private func packed(_ bytes: [UInt8]) async throws -> [UInt8] {
        let path = fixture.temporary.file("to pack")
        try Files.write(path, bytes)
        let (status, output) = try await Program.run(["gzip", "-nf", path])
        #expect(status == 0, "\(output)")
        return try Files.read(path + ".gz")
    }
}

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
    /// Follows `raw` in a stream with a header (RFC 1950).
    private static let adler: [UInt8] = [0x3a, 0x2e, 0x06, 0x7d]
    /// The same text packed with `brotli` and with `zstd`.
    private static let brotli: [UInt8] = [
        0xa1, 0x80, 0, 0xc0, 0x6f, 0xa4, 0x74, 0xf3, 0x26, 0xaa, 0x32, 0xb4, 0x64, 0x03, 0x79, 0x0b, 0x78, 0xe2, 0,
        0xe3, 0,
    ]
    private static let zstd: [UInt8] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x11, 0x65, 0, 0, 0x30, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 1, 0, 0x31, 0x4a,
        0x11,
        0xa2, 0xed, 0x1e, 0x0c,
    ]
    private static let samples: [(ContentCodingRules.Undoable, [UInt8])] = [
        (.gzip, gzip), (.deflate, raw), (.br, brotli), (.zstd, zstd),
    ]

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
        #expect(try decode([.deflate], [0x78, 0x9c] + Self.raw + Self.adler) == "hello hello hello")
    }

    /// A body that arrives in pieces of any size, and is taken in pieces of any size.
    @Test(arguments: samples) func eachCodingIsDecodedNoFurtherThanItIsTaken(
        coding: ContentCodingRules.Undoable, coded: [UInt8]
    ) async throws {
        let plain = Packing.text(1 << 20)
        for codings in [[coding], [coding, .gzip]] {
            let names = codings.reversed().map(\.rawValue).joined(separator: ", ")
            let packed = try await Packing.pack(plain, names)
            for (piece, most) in [(packed.count, 100_000), (7000, 300_000), (packed.count, Int.max)] {
                let subject = StreamedDecoding(codings)
                var (used, taken) = (0, [UInt8]())
                while used < packed.count {
                    let end = min(used + piece, packed.count)
                    let before = taken.count
                    let count = try packed[used..<end].withUnsafeBytes { bytes in
                        try subject.decode(bytes) { decoded in
                            let count = min(decoded.count, most - (taken.count - before))
                            taken.append(contentsOf: decoded.prefix(count))
                            return count
                        }
                    }
                    #expect(taken.count - before <= most)
                    used = count.map { used + $0 } ?? end
                }
                // All coded bytes are used, but more bytes may be decoded from them.
                while try subject.decode(
                    UnsafeRawBufferPointer(start: nil, count: 0),
                    taking: { decoded in
                        taken.append(contentsOf: decoded.prefix(most))
                        return min(most, decoded.count)
                    }) != nil
                {}
                try subject.end()
                #expect(identical(taken, plain), "\(names) \(piece) \(most)")
            }
        }
    }

    /// In pieces too, no new member begins after other bytes.
    @Test(arguments: samples + [(.deflate, [0x78, 0x9c] + raw + adler)]) func whatFollowsTheEndMarkIsIgnoredInPiecesToo(
        coding: ContentCodingRules.Undoable, coded: [UInt8]
    ) throws {
        let whole = coded + Array("x".utf8) + coded
        for piece in 1...whole.count {
            let subject = StreamedDecoding([coding])
            var (used, taken) = (0, [UInt8]())
            while used < whole.count {
                let end = min(used + piece, whole.count)
                let count = try whole[used..<end].withUnsafeBytes { bytes in
                    try subject.decode(bytes) { decoded in
                        taken.append(contentsOf: decoded)
                        return decoded.count
                    }
                }
                used = count.map { used + $0 } ?? end
            }
            try subject.end()
            #expect(taken == Array("hello hello hello".utf8), "in pieces of \(piece)")
        }
    }

    @Test func aBombThatComesIsOneByWhatCameSoFar() async throws {
        let packed = try await Packing.pack([UInt8](repeating: 0, count: 20 << 20), "gzip")
        let subject = StreamedDecoding([.gzip])
        var taken = 0
        let error = #expect(throws: TransferError.self) {
            try packed.withUnsafeBytes { bytes in
                try subject.decode(bytes) { decoded in
                    taken += decoded.count
                    return decoded.count
                }
            }
        }
        #expect(error?.code == .httpProtocol)
        #expect(taken <= Int(Bounds.decodedAlways))
    }

    @Test(arguments: samples) func eachCodingIsDecodedInOnePieceAndInMany(
        coding: ContentCodingRules.Undoable, coded: [UInt8]
    ) async throws {
        #expect(ContentDecoding.possible.contains(coding))
        #expect(try decode([coding], coded) == "hello hello hello")
        #expect(try ContentDecoding([coding]).decode(coded, atMost: 17) == Array("hello hello hello".utf8))
        // Longer than a buffer on both sides.
        let plain = Packing.text(3 << 20)
        let long = try await Packing.pack(plain, coding.rawValue)
        #expect(try ContentDecoding([coding]).decode(long, atMost: .mebibytes(3)).map { identical($0, plain) } == true)
        #expect(identical(Array(try decode([coding], long).utf8), plain))
    }

    /// The caller is told how many bytes of the file are decoded so far.
    @Test func howMuchIsDecodedIsTold() async throws {
        let folder = try TemporaryFolder()
        let plain = Packing.text(3 << 20)
        try Files.write(folder.file("coded"), try await Packing.pack(plain, "gzip"))
        let (coded, output) = (
            open(folder.file("coded"), O_RDONLY | O_CLOEXEC),
            open(folder.file("plain"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        )
        try #require(coded >= 0 && output >= 0)
        defer { for descriptor in [coded, output] { close(descriptor) } }
        var told: [ByteCount] = []
        let bytes = try ContentDecoding([.gzip]).decode(
            coded: coded, into: output, path: "plain", told: { told.append($0) })
        #expect(bytes == .mebibytes(3) && told.last == bytes && told.count > 1)
        #expect(told == told.sorted())
    }

    @Test(arguments: samples) func anEarlyEndIsNoticed(coding: ContentCodingRules.Undoable, coded: [UInt8]) {
        for length in 1..<coded.count {
            #expect(
                code { _ = try decode([coding], Array(coded[..<length])) } == .integrityLength, "\(coding) \(length)")
            #expect(
                code { _ = try ContentDecoding([coding]).decode(Array(coded[..<length]), atMost: 99) }
                    == .integrityLength)
        }
    }

    /// Servers send Content-Encoding even in answers without a body.
    @Test(arguments: samples) func anEmptyBodyIsEmpty(coding: ContentCodingRules.Undoable, _: [UInt8]) throws {
        #expect(try decode([coding], []) == "")
        #expect(try ContentDecoding([coding]).decode([], atMost: 0) == [])
    }

    /// As in gzip(1), with any bytes that cannot continue the stream.
    @Test(arguments: samples) func whatFollowsTheEndMarkIsIgnored(
        coding: ContentCodingRules.Undoable, coded: [UInt8]
    ) throws {
        for rest in ["\0\0\0", "and so on"] {
            #expect(try decode([coding], coded + Array(rest.utf8)) == "hello hello hello")
        }
    }

    @Test func zstdIsDecodedFrameAfterFrame() throws {
        #expect(try decode([.zstd], Self.zstd + Self.zstd) == "hello hello hellohello hello hello")
        // A skippable frame of three bytes.
        let skipped: [UInt8] = [0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
        #expect(try decode([.zstd], Self.zstd + skipped + Self.zstd) == "hello hello hellohello hello hello")
        #expect(code { _ = try decode([.zstd], Self.zstd + Self.zstd.dropLast()) } == .integrityLength)
    }

    @Test func damageIsNoticed() throws {
        for (coding, coded, place) in [
            (ContentCodingRules.Undoable.gzip, Self.gzip, 22), (.zstd, Self.zstd, 23), (.br, Self.brotli, 4),
            (.deflate, Self.raw, 0),
        ] {
            var damaged = coded
            damaged[place] ^= 0xff
            let found = error { _ = try ContentDecoding([coding]).decode(damaged, atMost: 99) }
            #expect(
                found?.code == .httpProtocol && found?.isUndecodable == true, "\(coding): \(String(describing: found))")
        }
        for coding in [ContentCodingRules.Undoable.gzip, .zstd] {
            #expect(code { _ = try decode([coding], Array("plain text".utf8)) } == .httpProtocol)
        }
    }

    /// RFC 9659: a decoder needs at most 8 MiB for a window.
    @Test func aLargerWindowThanZstdMayHaveIsRefused() async throws {
        try Files.write(fixture.temporary.file("long"), Packing.text(20 << 20))
        try await Program.require(["zstd", "-q", "-1", "--long=24", fixture.temporary.file("long")])
        let long = try Files.read(fixture.temporary.file("long.zst"))
        let found = error { _ = try ContentDecoding([.zstd]).decode(long, atMost: .mebibytes(99)) }
        #expect(found?.code == .httpProtocol && found?.retryable == false && found?.message.contains("window") == true)
    }

    @Test func whatIsLongerThanItMayBeIsNotKept() throws {
        #expect(try ContentDecoding([.gzip]).decode(Self.gzip, atMost: 16) == nil)
    }

    // MARK: Bombs

    private func error(_ body: () throws -> Void) -> TransferError? {
        do {
            try body()
            return nil
        } catch {
            return error as? TransferError
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip", "gzip, zstd"])
    func aBombEndsAtTheRatio(codings: String) async throws {
        let bomb = try await Packing.pack([UInt8](repeating: 0, count: 64 << 20), codings)
        let undone = try #require(ContentCodingRules.undoingAll(codings))
        try Files.write(fixture.temporary.file("coded"), bomb)
        let coded = Descriptor(open(fixture.temporary.file("coded"), O_RDONLY))
        let plain = Descriptor(open(fixture.temporary.file("plain"), O_RDWR | O_CREAT, 0o600))
        let most = ContentCodingRules.mostDecoded(of: ByteCount(Int64(bomb.count)))
        let found = error {
            _ = try ContentDecoding(undone).decode(coded: coded.rawValue, into: plain.rawValue, path: "plain")
        }
        #expect(found?.code == .httpProtocol && found?.retryable == false)
        #expect(found?.message.contains("more than \(most) bytes in \(bomb.count)") == true, "\(found?.message ?? "")")
        #expect(status(of: plain.rawValue).map { Int64($0.st_size) <= most.rawValue } == true)
        #expect(found?.details[TransferError.bombMember] == true)
        let inMemory = error { _ = try ContentDecoding(undone).decode(bomb, atMost: .mebibytes(16)) }
        #expect(inMemory?.code == .httpProtocol && inMemory?.retryable == false)
    }

    /// What is kept is less than the ratio allows for the whole.
    @Test(arguments: ["gzip", "deflate", "gzip, gzip"])
    func whatPassesTheLimitByDecodingIsABomb(codings: String) async throws {
        let bomb = try await Packing.pack([UInt8](repeating: 0, count: 64 << 20), codings)
        let undone = try #require(ContentCodingRules.undoingAll(codings))
        let found = error { _ = try ContentDecoding(undone).decode(bomb, atMost: .mebibytes(8)) }
        #expect(found?.code == .httpProtocol && found?.retryable == false, "\(String(describing: found))")
        let long = try await Packing.pack(Packing.text(9 << 20), "gzip")
        #expect(try ContentDecoding([.gzip]).decode(long, atMost: .mebibytes(8)) == nil)
    }

    /// The bytes that a middle layer decodes are stored nowhere, but they cost time.
    @Test func aBombThatIsSmallInTheEndIsOneToo() async throws {
        // Empty gzip members: 64 MiB that decode to nothing.
        let empty = try await Packing.pack([], "gzip")
        var members: [UInt8] = []
        while members.count < 64 << 20 { members += members.isEmpty ? empty : members }
        let coded = try await Packing.pack(members, "zstd")
        #expect(code { _ = try ContentDecoding([.zstd, .gzip]).decode(coded, atMost: 99) } == .httpProtocol)
    }

    /// Zeros at the start of a body that is no bomb as a whole.
    @Test func theRatioIsThatOfTheWhole() async throws {
        let plain = [UInt8](repeating: 0, count: 12 << 20) + Packing.text(1 << 20)
        let coded = try await Packing.pack(plain, "zstd")
        let decoded = try ContentDecoding([.zstd]).decode(coded, atMost: .mebibytes(13))
        #expect(decoded.map { identical($0, plain) } == true)
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
        #expect(try decode([.gzip, .br], try await packed(Self.brotli)) == "hello hello hello")
        #expect(try decode([.gzip, .zstd], try await packed(Self.zstd)) == "hello hello hello")
    }

    /// A few bytes may decode to very many.
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

    private func packed(_ bytes: [UInt8]) async throws -> [UInt8] { try await Packing.pack(bytes, "gzip") }
}

import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

struct FileHasherTests {
    /// The digests of "abc" from FIPS 180 and RFC 1321.
    private static let abc: [DigestAlgorithm: String] = [
        .md5: "900150983cd24fb0d6963f7d28e17f72",
        .sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
        .sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        .sha384: "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
            + "8086072ba1e7cc2358baeca134c825a7",
        .sha512: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ]

    private let fixture: FilesFixture
    private let file: Descriptor

    init() throws {
        fixture = try FilesFixture()
        try Files.write(fixture.temporary.file("abc"), "abc")
        file = Descriptor(open(fixture.temporary.file("abc"), O_RDONLY))
    }

    @Test func everyAlgorithmInOnePass() throws {
        let found = try FileHasher.digests(of: file.rawValue, path: "abc", Set(DigestAlgorithm.allCases))
        #expect(found == Self.abc)
    }

    @Test func aFileLongerThanTheBufferIsReadWhole() throws {
        let bytes = (0..<(3 << 20) + 17).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Files.write(fixture.temporary.file("long"), bytes)
        let long = Descriptor(open(fixture.temporary.file("long"), O_RDONLY))
        let hasher = try FileHasher([.sha256])
        bytes.withUnsafeBytes { hasher.update($0) }
        #expect(try FileHasher.digests(of: long.rawValue, path: "long", [.sha256]) == hasher.finish())
    }

    @Test func itStopsWhenCancelled() {
        #expect(
            code {
                _ = try FileHasher.digests(of: file.rawValue, path: "abc", [.md5], isCancelled: { true })
            } == .cancelled)
    }

    @Test func verificationComparesWithoutRegardToCase() throws {
        let expected = Self.abc.mapValues { $0.uppercased() }
        #expect(try Verification.verify(file: file.rawValue, path: "abc", expected: expected) == Self.abc)
        var wrong = expected
        wrong[.sha1] = String(repeating: "0", count: 40)
        #expect(
            code { try Verification.verify(file: file.rawValue, path: "abc", expected: wrong) } == .integrityChecksum)
    }
}

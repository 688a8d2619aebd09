import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import FileKit

@Suite struct VerificationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pieces(_ content: [UInt8], _ length: Int, _ algorithm: DigestAlgorithm) throws -> PieceDigests {
        let values = try stride(from: 0, to: content.count, by: length).map { start in
            let hasher = try FileHasher([algorithm])
            content[start..<min(start + length, content.count)].withUnsafeBytes { hasher.update($0) }
            return hasher.finish()[algorithm]?.uppercased() ?? ""
        }
        return PieceDigests(algorithm: algorithm, length: ByteCount(Int64(length)), values: values)
    }

    @Test(arguments: DigestAlgorithm.allCases, [[], [0], [3], [1, 2], [0, 1, 2, 3]])
    func wrongPiecesAreNamed(_ algorithm: DigestAlgorithm, _ damaged: [Int]) throws {
        var content = (0..<3500).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let pieces = try pieces(content, 1000, algorithm)
        for piece in damaged { content[piece * 1000 + 499] ^= 1 }
        let path = folder.file("part")
        try Files.write(path, content)
        try Files.write(folder.file("open"), content)
        let open = Descriptor(Glibc.open(folder.file("open"), O_RDONLY | O_CLOEXEC))
        let map = try PieceMap(pieces, of: ByteCount(Int64(content.count)))
        #expect(
            try Verification.wrongPieces(file: open.rawValue, path: path, pieces, map) == damaged)
        #expect(throws: TransferError.self) {
            try Verification.wrongPieces(file: open.rawValue, path: path, pieces, map) { true }
        }
    }
}

import CurlEngine
import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import FileKit

/// A daemon that died after a delivery left the file under its name. The next daemon believes only the bytes.
struct TransferFilesProofTests {
    private static let content = [UInt8](repeating: 7, count: 256 << 10)

    @Test func aFileThatAnEarlierDaemonDeliveredIsTakenAsItIs() async throws {
        let result = try #require(try await Self.delivered(Self.content))
        #expect(result.bytes == ByteCount(Int64(Self.content.count)))
        #expect(!result.verified)
    }

    @Test func itIsVerifiedByADigestThatIsKnown() async throws {
        let digest = try Self.digest(of: Self.content)
        #expect(try await Self.delivered(Self.content, digest: digest)?.verified == true)
        var other = Self.content
        other[other.count - 1] = 8
        #expect(try await Self.delivered(other, digest: digest) == nil)
    }

    /// Somebody gave the name to a part file of the right length that was not written everywhere.
    @Test func itIsFetchedAgainIfItHasAHole() async throws {
        #expect(try await Self.delivered(Self.content, hole: 64 << 10..<192 << 10) == nil)
    }

    @Test func itIsFetchedAgainIfItsLengthIsAnother() async throws {
        #expect(try await Self.delivered(Self.content, total: ByteCount(Int64(Self.content.count + 1))) == nil)
    }

    private static func digest(of bytes: [UInt8]) throws -> String {
        let hasher = try FileHasher([.sha256])
        bytes.withUnsafeBytes { hasher.update($0) }
        return try #require(hasher.finish()[.sha256])
    }

    /// - Parameters:
    ///   - digest: the SHA-256 that the server sent.
    ///   - hole: the bytes that were never written.
    /// - Returns: the next daemon's result for a file under the task's final name.
    private static func delivered(
        _ bytes: [UInt8], total: ByteCount? = nil, digest: String? = nil, hole: Range<Int>? = nil
    ) async throws -> TaskResult? {
        let temporary = try TemporaryFolder()
        let part = try PartFile.create(path: temporary.file("f"))
        defer { part.close() }
        let end = bytes.count
        for range in hole.map({ [0..<$0.lowerBound, $0.upperBound..<end] }) ?? [0..<end] {
            let written = bytes[range].withUnsafeBytes {
                pwrite(part.fileDescriptor, $0.baseAddress, $0.count, off_t(range.lowerBound))
            }
            #expect(written == range.count)
        }
        var record = record(in: temporary)
        record.checkpoint = Checkpoint(
            offset: ByteCount(Int64(end)), total: total ?? ByteCount(Int64(end)),
            partPath: temporary.file(".f.abc-7.dldpart"), device: part.device, inode: part.inode,
            serverDigests: digest.map { [DigestAlgorithm.sha256.rawValue: $0] } ?? [:])
        let files = TransferFiles(
            access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: BlockingPool())
        let plan = try DestinationPlan(record.spec.destination)
        let folder = try await files.open(plan, for: record)
        return try await files.alreadyDelivered(
            plan, folder, record, EffectivePolicy(spec: record.spec, session: SessionConfiguration()))
    }

    private static func record(in folder: TemporaryFolder) -> TaskRecord {
        var spec = TaskSpec()
        spec.url = "http://localhost/f"
        spec.destination = Destination(path: folder.file("f"))
        let status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        return TaskRecord(
            id: TaskID(7), session: SessionKey.shared(of: FilesFixture.me), spec: spec, status: status, host: "h",
            position: 1)
    }
}

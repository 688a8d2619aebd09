import DaemonSetup
import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine
@testable import DaemonKit
@testable import FileKit

/// A useless part file is removed by the next attempt, which may gather the body in memory and never need the name.
struct TransferFilesTests {
    /// A daemon that dies between creating a part file and storing its checkpoint leaves an unrecorded file.
    @Test(arguments: [1, 2]) func aPartThatWasNeverRecordedGoesWithTheNextAttempt(_ attempts: Int) async throws {
        let isThere = try await Self.attempt(attempts) { _ in nil }
        #expect(isThere == (attempts == 1))
    }

    /// Its checkpoint belongs to another file.
    @Test func aPartOfWhichNothingIsProvenGoesWithTheNextAttempt() async throws {
        let isThere = try await Self.attempt(1) { part in
            Checkpoint(
                offset: 0, validators: Validators(etag: "\"a\""), partPath: part.path, device: part.device,
                inode: part.inode + 1)
        }
        #expect(!isThere)
    }

    /// Of two tasks with the same resume data, one gets the part file, durably under its own name before its checkpoint
    /// records that. If a daemon died in between, the next one finds the file there.
    @Test func aPartThatWasHandedOverIsClaimedOnce() async throws {
        let stage = try Stage()
        let checkpoint = try stage.partOfAnother()
        for _ in 1...2 {
            let held = try await stage.open(TaskID(7), checkpoint)
            #expect(held.checkpoint?.partPath == stage.part(of: TaskID(7)))
            #expect(held.checkpoint?.offset == 4)
            held.part.close()
        }
        let other = try await stage.open(TaskID(8), checkpoint)
        #expect(!other.part.isOpen)
        #expect(other.checkpoint == nil)
        await stage.engine.shutdown()
    }

    /// The obstacle may go away. Starting over would leave the file behind forever.
    @Test func aPartThatCannotBeClaimedIsNotGivenUp() async throws {
        let stage = try Stage()
        let checkpoint = try stage.partOfAnother()
        #expect(mkdir(stage.part(of: TaskID(7)), 0o700) == 0)
        await #expect(throws: TransferError.self) { try await stage.open(TaskID(7), checkpoint) }
        #expect(Glibc.access(checkpoint.partPath, F_OK) == 0)
        #expect(rmdir(stage.part(of: TaskID(7))) == 0)
        let held = try await stage.open(TaskID(7), checkpoint)
        #expect(held.checkpoint?.offset == 4)
        held.part.close()
        await stage.engine.shutdown()
    }

    /// A daemon died between a copy to another file system and its record, and the original is lost.
    @Test func aCopyThatNobodyNotedGoesWithThePartThatIsGone() async throws {
        let stage = try Stage()
        let gone = try stage.partOfAnother()
        try Files.write(stage.part(of: TaskID(7)), "copy")
        #expect(unlink(gone.partPath) == 0)
        let record = stage.record(TaskID(7), gone)
        let plan = try DestinationPlan(record.spec.destination)
        let folder = try await stage.files.open(plan, for: record)
        let moved = try await stage.files.move(
            gone, to: stage.files.goal(of: record, plan, in: folder), journal: nil, isStopping: { false })
        #expect(moved == nil)
        #expect(Glibc.access(stage.part(of: TaskID(7)), F_OK) != 0)
        await stage.engine.shutdown()
    }

    /// Large files are hashed for minutes: no task must wait behind that to be added or begun.
    @Test(.timeLimit(.minutes(1))) func whatReadsWholeFilesHasThreadsOfItsOwn() async throws {
        let stage = try Stage(pool: BlockingPool(width: 1))
        let record = stage.record(TaskID(7))
        let plan = try DestinationPlan(record.spec.destination)
        let folder = try await stage.files.open(plan, for: record)
        let bytes = Array("some".utf8)
        let part = try PartFile.create(path: stage.temporary.file("part"))
        defer { part.close() }
        try part.write(bytes)
        let hasher = try FileHasher([.sha256])
        bytes.withUnsafeBytes { hasher.update($0) }
        let digest = try #require(hasher.finish()[.sha256])
        let pieces = PieceDigests(algorithm: .sha256, length: ByteCount(4), values: [digest])
        var exchange = Exchange(url: "http://localhost/", judge: CaptureJudge())
        exchange.payload = .bytes(bytes)
        exchange.digests = [
            PayloadDigest(.content, .sha256)
        ]

        // No thread is left for anything else.
        let gate = ConditionLock(false)
        stage.files.pool.post(on: folder.device) { _ = gate.wait { $0 ? true : nil } }
        defer {
            gate.withLock { $0 = true }
            gate.broadcast()
        }
        #expect(try await stage.files.verify(part, expected: [.sha256: digest]) == [.sha256: digest])
        let map = try PieceMap(pieces, of: ByteCount(4))
        #expect(try await stage.files.wrongPieces(of: part, pieces, map).isEmpty)
        #expect(try await stage.files.digestFields(of: exchange, nil).count == 1)
        await #expect(throws: TransferError.self) {
            try await stage.files.decoded(part, undoing: [.gzip], for: record, plan, in: folder)
        }
        await stage.engine.shutdown()
    }

    /// A mount whose server is gone prevents nobody from adding a task to another folder. Neither does a folder that is
    /// a link to it.
    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(1)))
    func destinationsThatHangHoldNoOthers() async throws {
        let hung = try HungDisk()
        let stage = try Stage()
        #expect(symlink(hung.path, stage.temporary.file("link")) == 0)
        for number in 0..<20 {
            let folder = number % 2 == 0 ? hung.path : stage.temporary.file("link")
            let plan = try DestinationPlan(Destination(directory: "\(folder)/\(number)"))
            let files = stage.files
            Task { await files.admit([plan], owner: FilesFixture.me) }
        }
        let plan = try DestinationPlan(Destination(directory: stage.temporary.path))
        for _ in 0..<50 { #expect(try await stage.files.admit([plan], owner: FilesFixture.me)[0].get() > 0) }
        await stage.engine.shutdown()
        withExtendedLifetime(hung) {}
    }

    /// - Returns: whether a part file still exists after the task's next attempt has planned its own.
    private static func attempt(_ attempts: Int, checkpoint: (PartFile) -> Checkpoint?) async throws -> Bool {
        let stage = try Stage()
        let made = try PartFile.create(path: stage.part(of: TaskID(7)))
        made.close()
        let held = try await stage.open(TaskID(7), checkpoint(made), attempts: attempts)
        #expect(!held.part.isOpen)
        await stage.engine.shutdown()
        return Glibc.access(made.path, F_OK) == 0
    }

    /// A folder, and the object that opens part files in it.
    private struct Stage {
        let temporary: TemporaryFolder
        let files: TransferFiles
        let engine: CurlEngine

        init(pool: BlockingPool = BlockingPool()) throws {
            temporary = try TemporaryFolder()
            files = TransferFiles(
                access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: pool)
            engine = try CurlEngine(CurlEngine.Configuration(journalPath: temporary.file("journal")))
        }

        /// The path of a task's own part file.
        func part(of id: TaskID) -> String {
            temporary.file(PartName.make(task: id, store: "store", wanted: "f"))
        }

        /// Four bytes of another task, as in resume data.
        func partOfAnother() throws -> Checkpoint {
            let part = try PartFile.create(path: temporary.file(".old.abc-3.dldpart"))
            try part.write(Array("some".utf8))
            defer { part.close() }
            return Checkpoint(offset: 4, partPath: part.path, device: part.device, inode: part.inode)
        }

        func record(_ id: TaskID, _ checkpoint: Checkpoint? = nil, attempts: Int = 1) -> TaskRecord {
            var spec = TaskSpec()
            spec.url = "http://localhost/f"
            spec.destination = Destination(path: temporary.file("f"))
            var status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
            status.attempts = attempts
            var record = TaskRecord(
                id: id, session: SessionKey.shared(of: FilesFixture.me), spec: spec, status: status, host: "h",
                position: 1)
            record.checkpoint = checkpoint
            return record
        }

        func open(_ id: TaskID, _ checkpoint: Checkpoint?, attempts: Int = 1) async throws -> HeldPart {
            let record = record(id, checkpoint, attempts: attempts)
            let plan = try DestinationPlan(record.spec.destination)
            let folder = try await files.open(plan, for: record)
            return try await files.openPart(of: record, plan, in: folder, engine: engine)
        }
    }
}

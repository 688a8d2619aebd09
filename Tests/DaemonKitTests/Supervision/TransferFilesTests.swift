import Glibc
import TestSupport
import Testing
import TransferModel

@testable import CurlEngine
@testable import DaemonKit

/// A part file that is of no use goes with the next attempt, which may gather the body in memory and never need the name.
struct TransferFilesTests {
    /// A daemon that dies between making a part file and storing its checkpoint leaves a file that nothing speaks of.
    @Test(arguments: [1, 2]) func aPartThatWasNeverRecordedGoesWithTheNextAttempt(_ attempts: Int) async throws {
        let isThere = try await Self.attempt(attempts) { _ in nil }
        #expect(isThere == (attempts == 1))
    }

    /// Its checkpoint is of another file.
    @Test func aPartOfWhichNothingIsProvenGoesWithTheNextAttempt() async throws {
        let isThere = try await Self.attempt(1) { part in
            Checkpoint(
                offset: 0, validators: Validators(etag: "\"a\""), partPath: part.path, device: part.device,
                inode: part.inode + 1)
        }
        #expect(!isThere)
    }

    /// Of two tasks with the same resume data one gets the part, durably under its own name before its checkpoint says so:
    /// a daemon that died in between finds it there.
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

    /// What stands in its way may go away; who began anew would leave it behind for ever.
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

    /// - Returns: whether a part is still there when the task's next attempt has planned its own.
    private static func attempt(_ attempts: Int, checkpoint: (PartFile) -> Checkpoint?) async throws -> Bool {
        let stage = try Stage()
        let made = try PartFile.create(path: stage.part(of: TaskID(7)))
        made.close()
        let held = try await stage.open(TaskID(7), checkpoint(made), attempts: attempts)
        #expect(!held.part.isOpen)
        await stage.engine.shutdown()
        return Glibc.access(made.path, F_OK) == 0
    }

    /// A folder, and what opens parts in it.
    private struct Stage {
        let temporary: TemporaryFolder
        let files: TransferFiles
        let engine: CurlEngine

        init() throws {
            temporary = try TemporaryFolder()
            files = TransferFiles(
                access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: BlockingPool())
            engine = try CurlEngine(CurlEngine.Configuration(journalPath: temporary.file("journal")))
        }

        /// Where a task's own part lies.
        func part(of id: TaskID) -> String {
            temporary.file(PartName.make(task: id, store: "store", wanted: "f"))
        }

        /// Four bytes of another task, as resume data brings them.
        func partOfAnother() throws -> Checkpoint {
            let part = try PartFile.create(path: temporary.file(".old.abc-3.dldpart"))
            try part.write(Array("some".utf8))
            defer { part.close() }
            return Checkpoint(offset: 4, partPath: part.path, device: part.device, inode: part.inode)
        }

        func open(_ id: TaskID, _ checkpoint: Checkpoint?, attempts: Int = 1) async throws -> HeldPart {
            var spec = TaskSpec()
            spec.url = "http://localhost/f"
            spec.destination = Destination(path: temporary.file("f"))
            var status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
            status.attempts = attempts
            var record = TaskRecord(
                id: id, session: SessionKey.shared(of: FilesFixture.me), spec: spec, status: status, host: "h",
                position: 1)
            record.checkpoint = checkpoint
            let plan = try DestinationPlan(spec.destination, directory: nil)
            let folder = try await files.open(plan, for: record)
            return try await files.openPart(of: record, plan, in: folder, engine: engine)
        }
    }
}

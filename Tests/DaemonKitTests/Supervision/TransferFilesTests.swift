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

    /// - Returns: whether a part is still there when the task's next attempt has planned its own.
    private static func attempt(_ attempts: Int, checkpoint: (PartFile) -> Checkpoint?) async throws -> Bool {
        let temporary = try TemporaryFolder()
        let files = TransferFiles(
            access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: BlockingPool())
        let engine = try CurlEngine(CurlEngine.Configuration(journalPath: temporary.file("journal")))
        var spec = TaskSpec()
        spec.url = "http://localhost/f"
        spec.destination = Destination(path: temporary.file("f"))
        var status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        status.attempts = attempts
        var record = TaskRecord(
            id: TaskID(7), session: SessionKey.shared(of: FilesFixture.me), spec: spec, status: status, host: "h",
            position: 1)
        let plan = try DestinationPlan(spec.destination, directory: nil)
        let name = PartName.make(task: record.id, store: "store", wanted: "f")
        let made = try PartFile.create(path: temporary.file(name))
        made.close()
        record.checkpoint = checkpoint(made)

        let folder = try await files.open(plan, for: record)
        let held = try await files.openPart(of: record, plan, in: folder, engine: engine)
        #expect(!held.part.isOpen)
        await engine.shutdown()
        return Glibc.access(temporary.file(name), F_OK) == 0
    }
}

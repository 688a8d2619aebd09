import Glibc
import TestSupport
import Testing
import TransferModel

@testable import CurlEngine
@testable import DaemonKit

struct TransferFilesTests {
    /// A daemon that dies between making a part file and storing its checkpoint leaves a file that nothing speaks of. The
    /// next attempt may gather the body in memory and never need that name.
    @Test(arguments: [1, 2]) func aPartThatWasNeverRecordedGoesWithTheNextAttempt(_ attempts: Int) async throws {
        let temporary = try TemporaryFolder()
        let files = TransferFiles(
            access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: BlockingPool())
        let engine = try CurlEngine(CurlEngine.Configuration(journalPath: temporary.file("journal")))
        var spec = TaskSpec()
        spec.url = "http://localhost/f"
        spec.destination = Destination(path: temporary.file("f"))
        var status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        status.attempts = attempts
        let record = TaskRecord(
            id: TaskID(7), session: SessionKey.shared(of: FilesFixture.me), spec: spec, status: status, host: "h",
            position: 1)
        let plan = try DestinationPlan(spec.destination, directory: nil)
        let name = PartName.make(task: record.id, store: "store", wanted: "f")
        let made = try PartFile.create(path: temporary.file(name))
        made.close()

        let folder = try await files.open(plan, for: record)
        let held = try await files.openPart(of: record, plan, in: folder, engine: engine)
        #expect(!held.part.isOpen)
        #expect((Glibc.access(temporary.file(name), F_OK) == 0) == (attempts == 1))
        await engine.shutdown()
    }
}

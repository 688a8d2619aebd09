import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct TaskUpdaterTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let supervision: Supervision
    private let folder: TemporaryFolder

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        supervision = try fixture.supervision(in: home)
        folder = try TemporaryFolder()
    }

    private var peer: Peer { Peer(uid: fixture.key.owner, gid: 1000, pid: 1, isAdmin: false) }

    /// Makes the state after a daemon died between the delivery and its record.
    private func delivered() async throws -> TaskID {
        let task = try await fixture.add(hosts: ["h"])[0]
        try Files.write(folder.file("file"), [1])
        let status = try #require(Files.status(folder.file("file")))
        let name = PartName.make(task: task.id, store: fixture.store.identifier, wanted: "file")
        let checkpoint = Checkpoint(
            offset: 1, total: 1, partPath: folder.file(name), device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino))
        var spec = task.spec
        spec.destination = Destination(path: folder.file("file"))
        let placed = spec
        for event in [.claimed, .preempted()] as [TaskEvent] { _ = try await fixture.apply(event, to: task.id) }
        try await fixture.store.write { transaction in
            try transaction.setSpec(task.id, placed, host: task.host)
            try transaction.setCheckpoint(task.id, checkpoint)
        }
        return task.id
    }

    private func destination(_ destination: Destination, of id: TaskID) -> UpdateTask {
        var parameters = UpdateTask(id: id)
        parameters.destination = destination
        return parameters
    }

    @Test func whatHasItsFileAlreadyIsNotSentElsewhere() async throws {
        let elsewhere = destination(Destination(filename: "other"), of: try await delivered())
        let error = await #expect(throws: TransferError.self) {
            try await supervision.services.updater.update(elsewhere, by: peer)
        }
        #expect(error?.code == .taskWrongState)
        #expect(error?.details["path"] == .string(folder.file("file")))
        #expect(Files.names(in: folder.path) == ["file"])
    }

    @Test func theSameDestinationInOtherWordsMovesNothing() async throws {
        let id = try await delivered()
        let place = Destination(path: folder.file("file"))
        for same in [place, Destination(directory: folder.path), Destination(filename: "file")] {
            let changed = try await supervision.services.updater.update(destination(same, of: id), by: peer)
            #expect(changed.spec.destination == place)
        }
    }

    /// A run that begins between the commit and the engine's change would have the earlier limit.
    @Test func noRunBeginsWhileTheRateLimitChanges() async throws {
        let id = try await fixture.add(hosts: ["h"])[0].id
        let claims = supervision.runs.claims
        let update = await rateChangeThatWaits(for: id)
        #expect(try await fixture.store.read { try $0.task(id) }?.spec.rateLimit == nil)
        claims.leave([id])
        #expect(try await update.value.spec.rateLimit == ByteRate(1000))
        #expect(claims.enter([id]) == [id])
    }

    /// The dispatcher passes over a task whose claims are held, until something changes.
    @Test func aRefusedRateLimitLetsTheTaskRun() async throws {
        let id = try await fixture.add(hosts: ["h"])[0].id
        let claims = supervision.runs.claims
        let update = await rateChangeThatWaits(for: id)
        try await fixture.store.write { _ = try $0.delete(id) }
        let listener = supervision.slots.signal.listen(to: .queue)
        claims.leave([id])
        await #expect(throws: TransferError.self) { _ = try await update.value }
        #expect(listener.take() == .queue)
    }

    /// Claims the task, and begins to change its rate limit to 1,000 bytes per second. The change waits until the claim is
    /// left.
    private func rateChangeThatWaits(for id: TaskID) async -> Task<TaskRecord, any Error> {
        let claims = supervision.runs.claims
        #expect(claims.enter([id]) == [id])
        var change = UpdateTask(id: id)
        change.rateLimit = ByteRate(1000)
        let update = Task { [change] in try await supervision.services.updater.update(change, by: peer) }
        #expect(await eventually { claims.enter([id]).isEmpty })
        return update
    }

    @Test func aCompletedDownloadHasNoResumeData() async throws {
        let task = try await fixture.add(hosts: ["h"])[0]
        _ = try await fixture.apply(.claimed, to: task.id)
        _ = try await fixture.apply(.completed(TaskResult(bytes: 1, verified: false), duration: 1), to: task.id)
        let error = await #expect(throws: TransferError.self) {
            try await supervision.services.updater.resumeData(task.id, by: peer)
        }
        #expect(error?.code == .taskWrongState)
    }

    @Test func aDownloadThatIsDeliveredWhileItIsStoppedHasNoResumeData() async throws {
        let task = try await fixture.add(hosts: ["h"])[0]
        let record = try await fixture.apply(.claimed, to: task.id).record
        let run = TransferRun(record, directHost: nil) { _ in }
        supervision.runs.insert(run)
        run.wait(
            for: EndOfRun { [fixture, runs = supervision.runs] in
                let done = TaskEvent.completed(TaskResult(bytes: 1, verified: false), duration: 1)
                _ = try? await fixture.apply(done, to: task.id)
                runs.remove(run)
                run.ended()
            }
        ) {}
        let error = await #expect(throws: TransferError.self) {
            try await supervision.services.updater.resumeData(task.id, by: peer)
        }
        #expect(error?.code == .taskWrongState)
        #expect(try await fixture.store.read { try $0.task(task.id) }?.status.state == .completed)
    }

    @Test func whatHasItsFileAlreadyHasNoResumeData() async throws {
        let id = try await delivered()
        let error = await #expect(throws: TransferError.self) {
            try await supervision.services.updater.resumeData(id, by: peer)
        }
        #expect(error?.code == .taskWrongState)
        #expect(error?.details["path"] == .string(folder.file("file")))
        #expect(try await fixture.store.read { try $0.task(id) }?.status.state == .queued)
    }
}

/// Runs `body` when the run is asked to stop.
private struct EndOfRun: Awaited {
    let body: @Sendable () async -> Void

    func whenOver(_ body: @escaping @Sendable () -> Void) {}
    func cancel() { Task { await body() } }
}

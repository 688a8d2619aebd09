import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

@Suite struct TaskTransitionsTests {
    @Test func storesStatusAndEventsTogether() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        let outcome = try await fixture.apply(.claimed, to: task.id)
        #expect(outcome.record.status.state == .running)
        let stored = try await fixture.store.read { try $0.task(task.id) }
        #expect(stored?.status == outcome.record.status)
        #expect(try await fixture.events().map(\.type) == [.taskStarted])
    }

    @Test func leavesNothingOfARefusedEvent() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        await #expect(throws: TransferError.self) { try await fixture.apply(.resume(notBefore: nil), to: task.id) }
        #expect(try await fixture.events().isEmpty)
        #expect(try await fixture.store.read { try $0.task(task.id) }?.status == task.status)
    }

    @Test func drainsTheSessionWithItsLastTask() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["a", "b"])
        _ = try await fixture.apply(.cancel(keepPartial: false), to: tasks[0].id)
        #expect(!(try await fixture.events().contains { $0.type == .sessionDrained }))
        _ = try await fixture.apply(.cancel(keepPartial: false), to: tasks[1].id)
        #expect(try await fixture.events().last?.type == .sessionDrained)
    }

    @Test func endsAFinishingSessionWithItsLastTask() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        let key = fixture.key
        try await fixture.store.write { transaction in
            var session = try #require(try transaction.session(key))
            session.state = .finishing
            try transaction.updateSession(session)
        }
        _ = try await fixture.apply(.cancel(keepPartial: false), to: task.id)
        #expect(try await fixture.events().suffix(2).map(\.type) == [.sessionDrained, .sessionInvalidated])
        #expect(try await fixture.store.read { try $0.session(key) }?.state == .invalidated)
    }

    @Test(arguments: [(5, ErrorCode.httpStatus, true), (0, .httpStatus, false), (5, .integrityLength, false)])
    func aFailureSaysWhetherThePartIsKept(held: Int64, _ code: ErrorCode, isKept: Bool) async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        try await fixture.store.write {
            try $0.setCheckpoint(task.id, Checkpoint(offset: ByteCount(held), partPath: "/p", device: 1, inode: 2))
        }
        _ = try await fixture.apply(.claimed, to: task.id)
        let failure = AttemptFailure(error: TransferError(code, "No."), disposition: .permanent)
        _ = try await fixture.apply(.attemptFailed(failure, RetryPolicy(), jitter: 0), to: task.id)
        let event = try #require(try await fixture.events().last { $0.type == .taskFailed })
        #expect(event.payload["error"]?["resumable"] == (isKept ? true : nil))
        let record = try #require(try await fixture.store.read { try $0.task(task.id) })
        #expect(TaskView(record).error?.resumable == isKept)
    }

    @Test func cancelForgetsTheCheckpointUnlessItIsKept() async throws {
        for keep in [true, false] {
            let fixture = try SupervisionFixture()
            let task = try await fixture.add(hosts: ["a"])[0]
            try await fixture.store.write {
                try $0.setCheckpoint(task.id, Checkpoint(offset: 5, partPath: "/p", device: 1, inode: 2))
            }
            _ = try await fixture.apply(.cancel(keepPartial: keep), to: task.id)
            let checkpoint = try await fixture.store.read { try $0.task(task.id)?.checkpoint }
            #expect((checkpoint != nil) == keep)
        }
    }

    @Test func cancelNotesWhichUploadIsToBeEndedUnlessItIsKept() async throws {
        for keep in [true, false] {
            let fixture = try SupervisionFixture()
            let task = try await fixture.add(hosts: ["a"])[0]
            let progress = UploadProgress(
                uploadProtocol: .tus, resourceURL: "https://a/1", source: nil, createdAt: fixture.time.reading().wall)
            try await fixture.store.write { try $0.setUpload(task.id, progress) }
            _ = try await fixture.apply(.cancel(keepPartial: keep), to: task.id)
            #expect((try await fixture.store.read { try $0.task(task.id) }?.upload != nil) == keep)
            let noted = try await fixture.store.read { try $0.uploadEndings(limit: 9) }
            #expect(noted.map(\.progress) == (keep ? [] : [progress]))
        }
    }

    @Test func resourceTimeoutCountsOnTheBootClock() async throws {
        let fixture = try SupervisionFixture { spec, session in
            var spec = spec
            spec.timeoutIntervalForResource = 100
            return SupervisionFixture.plain(spec, session)
        }
        let task = try await fixture.add(hosts: ["a"])[0]
        _ = try await fixture.apply(.claimed, to: task.id)
        fixture.time.jump(1000)
        let now = fixture.time.reading()
        let transitions = fixture.transitions
        let due = try await fixture.store.read { try $0.dueDeadlines(at: now.wall, limit: 10) }
        #expect(due == [task.id])
        let postponed = try await fixture.store.write { transaction in
            let record = try #require(try transaction.task(task.id))
            return try transitions.postponed(record, at: now, in: transaction)
        }
        #expect(postponed)
        #expect(try await fixture.store.read { try $0.dueDeadlines(at: now.wall, limit: 10) }.isEmpty)
        fixture.time.advance(101)
        let later = fixture.time.reading()
        #expect(try await fixture.store.read { try $0.dueDeadlines(at: later.wall, limit: 10) } == [task.id])
    }
}

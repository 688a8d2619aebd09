import CurlEngine
import Logging
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// What is stored during an exchange, and what only at its end.
@Suite struct RunRecorderTests {
    private struct Stage {
        let fixture: SupervisionFixture
        let record: TaskRecord
        let recorder: RunRecorder
        /// How often the host was reported to answer.
        let answers = Guarded(0)

        init() async throws {
            fixture = try SupervisionFixture()
            let task = try await fixture.add(hosts: ["h"])[0]
            record = try await fixture.apply(.claimed, to: task.id).record
            recorder = RunRecorder(
                record: record,
                run: TransferRun(record, directHost: nil) { [answers] _ in answers.withLock { $0 += 1 } },
                keepsAnswers: true, patience: StorePatience(store: fixture.store) { false },
                keeper: CheckpointKeeper(store: fixture.store, logger: Logger(label: "test")), time: fixture.time,
                logger: Logger(label: "test"))
        }

        func respond() {
            recorder.transferResponded(
                ResponseHead(url: "https://h/f", status: 200),
                verdict: .accept(Acceptance(offset: 0, total: 5)))
        }

        var types: [EventType] { get async throws { try await fixture.events().map(\.type) } }

        func stored() async throws -> TaskRecord? {
            let id = record.id
            return try await fixture.store.read { try $0.task(id) }
        }
    }

    private func checkpoint(_ offset: Int64 = 0) -> Checkpoint {
        Checkpoint(offset: ByteCount(offset), total: 5, partPath: "/d/.part", device: 1, inode: 2)
    }

    /// A file was reached and held the checkpoint's bytes while the store failed.
    private func stageWithoutStore(observing checkpoint: Checkpoint) async throws -> Stage {
        let stage = try await Stage()
        stage.fixture.store.close()
        stage.respond()
        stage.recorder.transferReachedFile(self.checkpoint())
        stage.recorder.transferCheckpointed(checkpoint)
        return stage
    }

    /// A host's own trouble, or a useless answer, is not a sign that other tasks need not wait.
    @Test func aHostAnswersWithWhatWasAskedFor() async throws {
        let stage = try await Stage()
        for status in [404, 429, 503] {
            stage.recorder.transferResponded(
                ResponseHead(url: "https://h/f", status: status), verdict: .accept(Acceptance(offset: 0)))
        }
        stage.recorder.transferResponded(ResponseHead(url: "https://h/f", status: 200), verdict: .stop(.bareRange))
        var mirrors = Acceptance(offset: 0)
        mirrors.mirror = "https://m/f"
        stage.recorder.transferResponded(ResponseHead(url: "https://m/f", status: 200), verdict: .accept(mirrors))
        #expect(stage.answers.withLock { $0 } == 0)
        stage.recorder.transferResponded(ResponseHead(url: "sftp://h/f"), verdict: .accept(Acceptance(offset: 0)))
        #expect(stage.answers.withLock { $0 } == 1)
        stage.respond()
        #expect(stage.answers.withLock { $0 } == 1, "a run that begins anew tells of its host once")
    }

    @Test func anExchangeThatIsOverAtOnceIsStoredWithItsEnd() async throws {
        let stage = try await Stage()
        let before = try await stage.types
        stage.recorder.transferRedirected(to: "https://h/g", status: 302)
        stage.respond()
        let notes = await stage.recorder.close()
        #expect(try await stage.types == before)
        #expect(stage.recorder.knownCheckpoint == nil)

        let (transitions, record) = (stage.fixture.transitions, stage.record)
        let run = CompletedRun(
            record: record, result: TaskResult(file: "/d/f", bytes: 5, verified: true), duration: 1, notes: notes)
        let outcome = try await stage.fixture.store.write { try transitions.complete([run], in: $0)[0].get() }
        #expect(outcome.record.status.state == .completed)
        #expect(
            try await Array(stage.types.dropFirst(before.count)) == [
                .taskRedirected, .taskResponse, .taskCompleted, .sessionDrained,
            ])
        let told = try await stage.fixture.store.read { try $0.events(EventQuery()) }
        #expect(told.first { $0.type == .taskResponse }?.payload == notes.events[1].payload)
        let stored = try await stage.stored()
        #expect(stored?.response?.status == 200)
        #expect(stored?.result?.file == "/d/f")
        #expect(stored?.status.state == .completed)
    }

    /// Nothing may follow it; then the end is the last chance to store it.
    @Test func whatTheStoreDidNotTakeGoesWithTheEnd() async throws {
        let stage = try await stageWithoutStore(observing: checkpoint(3))
        let notes = await stage.recorder.close()
        #expect(notes.lastCheckpoint == checkpoint(3))
        #expect(notes.events.map(\.type) == [.taskResponse])
        #expect(stage.recorder.knownCheckpoint == nil)
    }

    @Test func whatReachesAFileIsStoredAtOnceWithTheAnswer() async throws {
        let stage = try await Stage()
        stage.respond()
        stage.recorder.transferReachedFile(checkpoint())
        #expect(await stage.recorder.close().isEmpty)
        let stored = try await stage.stored()
        #expect(stored?.response?.status == 200)
        #expect(stored?.checkpoint == checkpoint())
        #expect(stage.recorder.knownCheckpoint == checkpoint())
    }

    @Test func aFileIsReadIntoWithoutBoundsOnceTheStoreKnowsOfIt() async throws {
        let stage = try await Stage()
        stage.respond()
        let known = Guarded<Bool>(false)
        stage.recorder.transferReachedFile(checkpoint()) { known.withLock { $0 = true } }
        #expect(await eventually { known.withLock { $0 } })
        #expect(try await stage.stored()?.checkpoint == checkpoint())
    }

    @Test func whoLingersIsToldOfOnTheWay() async throws {
        let stage = try await Stage()
        stage.recorder.transferRedirected(to: "https://h/g", status: 302)
        stage.recorder.transferLingers()
        #expect(await stage.recorder.close().isEmpty)
        #expect(try await stage.types.contains(.taskRedirected))
        // From here on, nothing waits.
        stage.respond()
        #expect(await stage.recorder.close().isEmpty)
        #expect(try await stage.types.contains(.taskResponse))
    }

    @Test func aFailedRunStoresItsNotesToo() async throws {
        let stage = try await Stage()
        stage.respond()
        await stage.recorder.drain()
        #expect(try await stage.types.contains(.taskResponse))
    }

    @Test func onlyTheLastOfManyCheckpointsMatters() async throws {
        let stage = try await Stage()
        for offset in 1...5 { stage.recorder.transferCheckpointed(checkpoint(Int64(offset))) }
        #expect(await stage.recorder.close().isEmpty)
        #expect(try await stage.stored()?.checkpoint?.offset == 5)
    }

    @Test func aRestartGoesOnWhenItIsDurable() async throws {
        let stage = try await Stage()
        let store = stage.fixture.store
        let id = stage.record.id
        let seen = await withCheckedContinuation { continuation in
            stage.recorder.transferRestarting(checkpoint()) {
                Task { continuation.resume(returning: try? await store.read { try $0.task(id)?.checkpoint }) }
            }
        }
        #expect(seen == checkpoint())
        #expect(try await stage.types.contains(.taskRestarted))
    }

    // MARK: Deliveries

    private static let part = FileIdentity(device: 1, inode: 2)

    @Test func aFileThatTheStoreKnowsIsDeliveredWithoutAnotherTransaction() async throws {
        let stage = try await Stage()
        stage.recorder.transferReachedFile(checkpoint())
        #expect(await stage.recorder.close().isEmpty)
        stage.respond()
        stage.fixture.store.close()
        let notes = try await stage.recorder.close(delivering: Self.part, at: "/d/.part") {
            Issue.record("it is known already")
            return 5
        }
        #expect(notes.events.map(\.type) == [.taskResponse])
    }

    /// What was only observed does not help after a death.
    @Test func aFileThatTheStoreDidNotTakeIsStoredBeforeItsDelivery() async throws {
        let stage = try await stageWithoutStore(observing: checkpoint(3))
        await #expect(throws: TransferError.self) {
            _ = try await stage.recorder.close(delivering: Self.part, at: "/d/.part") { 5 }
        }
        // It is not lost either: the next notes store it.
        let notes = await stage.recorder.close()
        #expect(notes.events.map(\.type) == [.taskResponse])
        #expect(notes.lastCheckpoint == checkpoint(5))
        #expect(stage.recorder.knownCheckpoint == nil)
    }

    @Test(arguments: [FileIdentity(device: 1, inode: 3), FileIdentity(device: 2, inode: 2)])
    func anotherFileThanTheOneThatIsKnownIsStored(part: FileIdentity) async throws {
        let stage = try await Stage()
        var known = checkpoint()
        known.serverDigests = ["sha-256": "00"]
        stage.recorder.transferReachedFile(known)
        #expect(await stage.recorder.close().isEmpty)
        let notes = try await stage.recorder.close(delivering: part, at: "/d/.decoded") { 7 }
        #expect(notes.isEmpty)
        let expected = Checkpoint(offset: 7, total: 7, partPath: "/d/.decoded", device: part.device, inode: part.inode)
        #expect(try await stage.stored()?.checkpoint == expected)
        #expect(stage.recorder.knownCheckpoint == expected)
    }

    @Test func aFileOfUnknownLengthGetsIt() async throws {
        let stage = try await Stage()
        var known = checkpoint()
        (known.total, known.serverDigests) = (nil, ["sha-256": "00"])
        stage.recorder.transferReachedFile(known)
        #expect(await stage.recorder.close().isEmpty)
        _ = try await stage.recorder.close(delivering: Self.part, at: "/d/.part") { 7 }
        (known.offset, known.total) = (7, 7)
        #expect(try await stage.stored()?.checkpoint == known)
    }

    // MARK: What is held from here on

    /// Stored in order: first what was observed, then what replaces it. A late checkpoint would bring back bytes that
    /// are gone.
    @Test func whatReplacesACheckpointIsStoredAfterWhatCameBefore() async throws {
        let stage = try await Stage()
        let before = try await stage.types
        stage.respond()
        stage.recorder.transferCheckpointed(checkpoint(3))
        stage.recorder.transferCheckpointed(checkpoint(4))
        let (id, session, now) = (stage.record.id, stage.record.session, stage.fixture.time.reading().wall)
        try await stage.recorder.replaceCheckpoint(with: nil) { transaction in
            _ = try transaction.append(
                EventRecord(time: now, type: .taskRestarted, session: session, task: id, payload: [:]))
        }
        #expect(try await stage.stored()?.checkpoint == nil)
        #expect(stage.recorder.knownCheckpoint == nil)
        #expect(try await Array(stage.types.dropFirst(before.count)) == [.taskResponse, .taskRestarted])
        #expect(await stage.recorder.close().isEmpty)
    }

    /// If only the offset changes, only the offset is stored. That requires the rest to be known to be the same.
    @Test func whatFollowsAReplacedCheckpointIsStoredWhole() async throws {
        let stage = try await Stage()
        stage.recorder.transferCheckpointed(checkpoint(5))
        #expect(await stage.recorder.close().isEmpty)
        var gap = checkpoint(1)
        gap.ranges = [ByteRange(2, 5)]
        try await stage.recorder.replaceCheckpoint(with: gap)
        #expect(try await stage.stored()?.checkpoint == gap)
        stage.recorder.transferCheckpointed(checkpoint(5))
        #expect(await stage.recorder.close().isEmpty)
        #expect(try await stage.stored()?.checkpoint == checkpoint(5))
    }
}

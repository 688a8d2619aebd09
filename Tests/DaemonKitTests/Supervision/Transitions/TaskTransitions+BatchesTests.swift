import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import TransferStore

@Suite struct TaskTransitionsBatchesTests {
    private let fixture: SupervisionFixture

    init() throws { fixture = try SupervisionFixture() }

    private func claim(_ ids: [TaskID]) async throws -> [TaskRecord] {
        let transitions = fixture.transitions
        return try await fixture.store.write { try transitions.claim(ids, sessions: [:], in: $0) }
    }

    private func run(_ record: TaskRecord) -> CompletedRun {
        CompletedRun(
            record: record, result: TaskResult(file: "/d/\(record.id)", bytes: 5, verified: true), duration: 1)
    }

    private func complete(_ runs: [CompletedRun]) async throws -> [Result<TaskTransitions.Outcome, TransferError>] {
        let transitions = fixture.transitions
        return try await fixture.store.write { try transitions.complete(runs, in: $0) }
    }

    private func states() async throws -> [TaskState: Int] {
        let key = fixture.key
        return try await fixture.store.read { try $0.counts(session: key) }.filter { $0.value > 0 }
    }

    @Test func claimsWhatIsStillQueued() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b", "c"])
        _ = try await fixture.apply(.pause, to: tasks[1].id)
        let claimed = try await claim(tasks.map(\.id) + [TaskID(99)])
        #expect(claimed.map(\.id) == [tasks[0].id, tasks[2].id])
        #expect(claimed.allSatisfy { $0.status.state == .running && $0.status.attempts == 1 })
        #expect(try await states() == [.running: 2, .paused: 1])
        #expect(try await fixture.events().map(\.type) == [.taskPaused, .taskStarted, .taskStarted])
    }

    @Test func completesAllAndTellsTheSessionOnce() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b", "c"])
        let claimed = try await claim(tasks.map(\.id))
        let before = try await fixture.events().count
        let results = try await complete(claimed.map(run))
        #expect(results.compactMap { try? $0.get().record.result?.file } == tasks.map { "/d/\($0.id)" })
        #expect(try await states() == [.completed: 3])
        let events = try await fixture.events().dropFirst(before)
        #expect(events.map(\.type) == [.taskCompleted, .taskCompleted, .taskCompleted, .sessionDrained])
        let numbers = try await fixture.events().compactMap { $0.sequence?.rawValue }
        #expect(numbers == Array(1...Int64(numbers.count)))
    }

    @Test func oneThatIsOverAlreadyDoesNotHinderTheOthers() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b"])
        let claimed = try await claim(tasks.map(\.id))
        _ = try await fixture.apply(.cancel(keepPartial: false), to: tasks[0].id)
        var gone = claimed[1]
        gone.id = TaskID(99)
        let results = try await complete([run(claimed[0]), run(claimed[1]), run(gone)])
        let codes = results.map { result -> ErrorCode? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(codes == [.taskWrongState, nil, .taskNotFound])
        #expect(try await states() == [.cancelled: 1, .completed: 1])
        let (store, id) = (fixture.store, tasks[0].id)
        #expect(try await store.read { try $0.task(id) }?.result == nil)
    }

    /// The body of a download, a data task or an upload, perhaps from a file. Its owner may look at a short one later.
    @Test(arguments: TaskKind.allCases, [1 << 20, 1 << 20 | 1] as [Int64])
    func aLongBodyThatWasSentIsForgotten(_ kind: TaskKind, size: Int64) async throws {
        let task = try await fixture.add(hosts: ["a"])[0]
        var record = try await claim([task.id])[0]
        record.spec.kind = kind
        if kind != .upload { record.spec.body = RequestBody() }
        record.source = .kept(ByteCount(size))
        let (store, id) = (fixture.store, task.id)
        let begun = UploadProgress(uploadProtocol: .post, source: nil, createdAt: record.status.createdAt)
        try await store.write { transaction in
            try transaction.setBody(id, .request, [1, 2, 3])
            try transaction.setUpload(id, begun)
        }
        let results = try await complete([run(record)])
        #expect(try results[0].get().record.status.state == .completed)
        let isKept = size <= 1 << 20
        #expect(try await store.read { try $0.body(of: id, .request) } == (isKept ? [1, 2, 3] : nil))
        #expect(try await store.read { try $0.task(id) }?.upload == nil)
    }

    @Test func endsThatComeTogetherAreStoredForEach() async throws {
        let tasks = try await fixture.add(hosts: (0..<300).map { "h\($0)" })
        let claimed = try await claim(tasks.map(\.id))
        let completions = Completions(
            patience: StorePatience(store: fixture.store) { false }, transitions: fixture.transitions)
        let done = try await withThrowingTaskGroup(of: TaskID.self) { group in
            for record in claimed {
                group.addTask { try await stored(run(record), by: completions).record.id }
            }
            return try await group.reduce(into: Set<TaskID>()) { $0.insert($1) }
        }
        #expect(done == Set(tasks.map(\.id)))
        #expect(try await states() == [.completed: 300])
        await #expect(throws: TransferError.self) { _ = try await stored(run(claimed[0]), by: completions) }
    }

    /// In a store that is nearly full, which has room for their ends and none for a long answer.
    @Test(.timeLimit(.minutes(3))) func aLongAnswerKeepsNoOtherEndWaiting() async throws {
        let tasks = try await fixture.add(hosts: ["a", "b", "c"])
        let claimed = try await claim(tasks.map(\.id))
        let completions = Completions(
            patience: StorePatience(store: fixture.store) { false }, transitions: fixture.transitions)
        try await limitPages(spare: 64)
        let ended = Guarded<Set<TaskID>>([])
        for (record, length) in zip(claimed, [4 << 20, nil, nil] as [Int?]) {
            var completed = run(record)
            completed.body = length.map { (bytes: [UInt8](repeating: 7, count: $0), isShown: false) }
            completions.store(completed) { result in
                if case .success(let outcome) = result { _ = ended.withLock { $0.insert(outcome.record.id) } }
            }
        }
        let others = Set(tasks.dropFirst().map(\.id))
        #expect(await eventually { ended.withLock { $0 } == others })
        try await limitPages(spare: 10_000)
        #expect(await eventually { ended.withLock { $0.count } == 3 })
    }

    private func limitPages(spare: Int64) async throws {
        try await fixture.store.write { transaction in
            let count = try transaction.connection.integer("PRAGMA page_count") ?? 0
            _ = try transaction.connection.integer("PRAGMA max_page_count = \(count + spare)")
        }
    }

    private func stored(_ run: CompletedRun, by completions: Completions) async throws -> TaskTransitions.Outcome {
        try await withCheckedContinuation { continuation in
            completions.store(run) { continuation.resume(returning: $0) }
        }.get()
    }
}

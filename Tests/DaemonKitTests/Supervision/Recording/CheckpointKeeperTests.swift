import Logging
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct CheckpointKeeperTests {
    /// Has checkpoints to store, and remembers what it is told.
    private final class Source: CheckpointSource {
        private struct State {
            var pending: CheckpointChange?
            var told: [Bool] = []
            var known: Checkpoint?
        }
        private let state: Guarded<State>
        private let id: TaskID

        init(_ id: TaskID) {
            self.id = id
            state = Guarded(State())
        }

        func reach(_ offset: Int64) {
            state.withLock { state in
                let checkpoint = CheckpointKeeperTests.checkpoint(offset)
                state.pending = CheckpointChange(id, checkpoint, after: state.known)
                state.known = checkpoint
            }
        }

        var told: [Bool] { state.withLock { $0.told } }

        func takeCheckpoint() -> CheckpointChange? {
            state.withLock { state in
                defer { state.pending = nil }
                return state.pending
            }
        }

        func checkpointStored(_ isStored: Bool) { state.withLock { $0.told.append(isStored) } }
    }

    private static func checkpoint(_ offset: Int64) -> Checkpoint {
        Checkpoint(offset: ByteCount(offset), total: 5000, partPath: "/d/.part", device: 1, inode: 2)
    }

    private func settled(_ sources: [Source], _ count: Int) async throws {
        for _ in 0..<6000 {
            if sources.allSatisfy({ $0.told.count >= count }) { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("not all were told")
    }

    @Test func thoseOfManyTasksAreStoredAndEachIsTold() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "h", count: 300))
        let sources = tasks.map { Source($0.id) }
        let keeper = CheckpointKeeper(store: fixture.store, logger: Logger(label: "test"))
        for round in 1...3 {
            for (number, source) in sources.enumerated() {
                source.reach(Int64(round * 1000 + number))
                keeper.keep(source)
            }
            try await settled(sources, round)
            for (number, task) in tasks.enumerated() {
                let id = task.id
                let stored = try await fixture.store.read { try $0.task(id)?.checkpoint }
                #expect(stored == Self.checkpoint(Int64(round * 1000 + number)))
            }
        }
        #expect(sources.allSatisfy { $0.told == [true, true, true] })
    }

    /// The checkpoint was withdrawn meanwhile.
    @Test func whoHasNothingLeftIsToldAllTheSame() async throws {
        let fixture = try SupervisionFixture()
        let source = Source(try await fixture.add(hosts: ["h"])[0].id)
        CheckpointKeeper(store: fixture.store, logger: Logger(label: "test")).keep(source)
        try await settled([source], 1)
        #expect(source.told == [true])
    }

    @Test func aStoreThatFailsIsToldOf() async throws {
        let fixture = try SupervisionFixture()
        let source = Source(try await fixture.add(hosts: ["h"])[0].id)
        source.reach(5)
        fixture.store.close()
        CheckpointKeeper(store: fixture.store, logger: Logger(label: "test")).keep(source)
        try await settled([source], 1)
        #expect(source.told == [false])
    }
}

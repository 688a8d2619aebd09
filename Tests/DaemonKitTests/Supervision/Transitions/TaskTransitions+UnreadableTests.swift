import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct UnreadableTaskTests {
    private let fixture: SupervisionFixture

    init() throws { fixture = try SupervisionFixture() }

    /// Changes the database like another program.
    private func alter(_ statement: String) async throws {
        let script = """
            import sqlite3, sys
            database = sqlite3.connect(sys.argv[1])
            database.execute(sys.argv[2])
            database.commit()
            """
        try await Program.require(["python3", "-c", script, fixture.store.databasePath, statement])
    }

    /// One damaged row is between two others.
    @Test(arguments: [
        "UPDATE task SET spec = '{\"url\":' WHERE id = 2", "UPDATE task SET error = '[' WHERE id = 2",
        "INSERT INTO upload VALUES (2, '{}')", "INSERT INTO response (task, document) VALUES (2, 'x')",
    ])
    func theOthersAreClaimedAndItIsSetAside(_ damage: String) async throws {
        let ids = try await fixture.add(hosts: ["a", "b", "c"]).map(\.id)
        try await alter(damage)
        let transitions = fixture.transitions
        let claimed = try await fixture.store.write { try transitions.claim(ids, sessions: [:], in: $0) }.map(\.id)
        #expect(claimed == [ids[0], ids[2]])
        let failed = try #require(try await fixture.store.read { try $0.task(ids[1]) })
        #expect(failed.status.state == .failed && failed.status.error?.code == .internal)
        // Nobody can send any of it by trying again.
        #expect(failed.spec.url == nil)
        let events = try await fixture.events().filter { $0.task == ids[1] }
        #expect(events.map(\.type) == [.taskFailed])
        #expect(events[0].payload["url"] == "https://b/f")
        #expect(try await fixture.store.read { try $0.counts()[.failed] } == 1)
    }

    /// It is not asked any more, and what it was told goes with it.
    @Test func theQuestionGoesWithTheTask() async throws {
        let id = try await fixture.add(hosts: ["a"])[0].id
        let now = fixture.time.reading().wall
        try await fixture.store.write { transaction in
            _ = try transaction.ask(Question(.begin), of: id, at: now, settled: SettledDecisions())
        }
        try await alter("UPDATE task SET error = '[' WHERE id = 1")
        let transitions = fixture.transitions
        #expect(try await fixture.store.write { try transitions.readable(id, in: $0) } == nil)
        #expect(try await fixture.store.read { try $0.decision(of: id) } == nil)
    }
}

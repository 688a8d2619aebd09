import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0013Tests {
    let fixture = Fixture()

    private func left(_ folder: String, _ name: String, _ task: Int64, device: UInt64? = nil) -> LeftPart {
        LeftPart(
            owner: alice, folder: folder, name: name, task: TaskID(task), device: device, recordedAt: epoch)
    }

    /// A name that is in both tables becomes one row.
    @Test func whatMovedPartsLeftJoinsWhatWasLeft() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.execute("DROP INDEX left_part_task")
            for part in (Schema.migrations.first { $0.identifier == "0010" }?.sql ?? "").split(separator: ";").map(
                String.init) where part.contains("CREATE")
            {
                try transaction.execute(part)
            }
            try transaction.execute("DELETE FROM grdb_migrations WHERE identifier = '0013'")
            try transaction.note([left("/a", ".f.x-1.dldpart", 1, device: 9)])
            for (path, task) in [("/a/.f.x-1.dldpart", 7), ("/a/b/.f.x-2.dldpart", 2), ("/.f.x-3.dldpart", 3)] {
                try transaction.execute(
                    "INSERT INTO moved_part VALUES (?, ?, ?, NULL, ?)",
                    path, task, alice.rawValue, epoch.rawValue)
            }
        }
        store.close()
        let next = try fixture.open()
        #expect(
            try await next.read { try $0.leftParts(limit: 9) } == [
                left("/", ".f.x-3.dldpart", 3), left("/a", ".f.x-1.dldpart", 1, device: 9),
                left("/a/b", ".f.x-2.dldpart", 2),
            ])
    }
}

import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct Migration0018Tests {
    let fixture = Fixture()

    @Test func eventsOfEarlierVersionsAreCounted() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database, .writing)
        try Schema.migrate(queue, upTo: "0016")
        try queue.write { database in
            try database.execute("INSERT INTO meta VALUES ('store_id', 's'), ('created_at', '0')")
            for (sequence, owner) in [(3, 1000), (4, 1001), (5, 1000)] {
                try database.execute(
                    "INSERT INTO event VALUES (?, 0, 'task.queued', ?, 's', NULL, NULL)", sequence, owner)
            }
            try database.execute("UPDATE counter SET value = 5 WHERE name = 'event'")
        }
        queue.close()
        let (counts, first) = try await fixture.open().read { snapshot in
            (try snapshot.eventCounts(), try snapshot.firstEventKept(of: bob))
        }
        #expect(counts == [alice: 2, bob: 1])
        #expect(first == SequenceNumber(3))
    }
}

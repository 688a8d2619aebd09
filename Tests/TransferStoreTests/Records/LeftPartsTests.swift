import Testing
import TransferModel

@testable import TransferStore

@Suite struct LeftPartsTests {
    let fixture = Fixture()

    private func part(_ folder: String, _ name: String, owner: UserID = alice, device: UInt64? = .max) -> LeftPart {
        LeftPart(
            owner: owner, folder: folder, name: name, task: TaskID(7), device: device, inode: device.map { $0 - 1 },
            recordedAt: epoch)
    }

    @Test func pagesGoThroughAllOfThem() async throws {
        let store = try fixture.open()
        let parts = [
            part("/a", "1"), part("/a", "2"), part("/a", "1", owner: bob, device: nil), part("/b", "0"),
            part("/b", "1"),
        ]
        try await store.write { try $0.note(parts.reversed()) }
        var found: [LeftPart] = []
        while true {
            let last = found.last
            let page = try await store.read { try $0.leftParts(after: last, limit: 2) }
            if page.isEmpty { break }
            found += page
        }
        #expect(found == parts)
        let plan = try store.database.read { database in
            try database.plan(
                """
                SELECT * FROM left_part WHERE (folder, owner, name) > ('', 0, '') \
                ORDER BY folder, owner, name LIMIT 2
                """)
        }
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH left_part USING PRIMARY KEY"), "\(plan)")
    }

    @Test func theyAreFoundByTask() async throws {
        let store = try fixture.open()
        var other = part("/a", "3")
        other.task = TaskID(8)
        let parts = [part("/a", "2"), part("/b", "1")]
        try await store.write { [other] in try $0.note([parts[1], other, parts[0]]) }
        #expect(try await store.read { try $0.leftParts(of: TaskID(7)) } == parts)
        let plan = try store.database.read { database in
            try database.plan("SELECT * FROM left_part WHERE task = 7")
        }
        #expect(plan.count == 1 && plan[0].contains("left_part_task"), "\(plan)")
    }

    @Test func whatIsKnownStaysAndWhatIsGoneIsForgotten() async throws {
        let store = try fixture.open()
        let (first, second) = (part("/a", "1"), part("/a", "2"))
        var again = first
        again.task = TaskID(8)
        try await store.write { [again] in try $0.note([first, second, again]) }
        #expect(try await store.read { try $0.leftParts(limit: 9) } == [first, second])
        try await store.write { try $0.forget([first, first]) }
        #expect(try await store.read { try $0.leftParts(limit: 9) } == [second])
    }
}

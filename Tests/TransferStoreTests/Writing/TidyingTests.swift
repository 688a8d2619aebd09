import Foundation
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

@Suite struct TidyingTests {
    private let fixture = Fixture()

    private func pages(_ store: TransferStore) async throws -> Int {
        Int(try store.database.read { try $0.integer("PRAGMA page_count") } ?? 0)
    }

    /// Adds tasks of several pages each.
    private func fill(_ store: TransferStore, _ count: Int = 400) async throws -> [TaskID] {
        try await store.write { transaction in
            try (0..<count).map { _ in
                var new = newTask(.completed)
                new.spec.description = String(repeating: "x", count: 20_000)
                return try transaction.insert(new).id
            }
        }
    }

    @Test func theFileShrinksAgain() async throws {
        let store = try fixture.open()
        let ids = try await fill(store)
        let full = try await pages(store)
        #expect(full > 8 * Tidying.kept)
        try await store.write { try $0.delete(ids) }
        #expect(try await eventually { try await store.read { try $0.freePages() } == 0 })
        #expect(try await pages(store) < full / 8)
    }

    @Test func oneTaskIsNoReasonToShrink() async throws {
        let store = try fixture.open()
        let ids = try await fill(store)
        let full = try await pages(store)
        try await store.write { _ = try $0.delete(ids[0]) }
        // The job that could shrink the file has ended, whether it shrank the file or not.
        #expect(await eventually { !store.isTidying })
        #expect(try await pages(store) == full)
    }

    @Test func theNextDaemonGoesOnWhereOneEnded() async throws {
        let first = try fixture.open()
        let ids = try await fill(first)
        let full = try await pages(first)
        try await first.write { try $0.delete(ids) }
        first.close()
        let second = try fixture.open()
        #expect(try await eventually { try await pages(second) < full / 8 })
    }

    @Test func theLogIsEmptiedAfterMuchWasWritten() async throws {
        let store = try fixture.open()
        let log = fixture.database + "-wal"
        _ = try await fill(store)
        #expect(try await eventually { try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int == 0 })
    }

    @Test func aStepIsBounded() async throws {
        let store = try fixture.open()
        let ids = try await fill(store)
        let (before, after, left) = try await store.write { transaction in
            try transaction.delete(ids)
            let before = try transaction.integer("PRAGMA page_count") ?? 0
            let left = try transaction.giveBack(atMost: 100)
            return (before, try transaction.integer("PRAGMA page_count") ?? 0, left)
        }
        #expect(after == before - 100)
        #expect(left > 100)
    }
}

import Foundation
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

@Suite struct CheckpointingTests {
    private let fixture = Fixture()

    /// Writes about this many pages.
    private func write(_ store: TransferStore, pages: Int) async throws {
        try await store.write { transaction in
            var new = newTask(.paused)
            new.spec.description = String(repeating: "x", count: 4096 * pages / 2)  // the spec has it once more
            try transaction.insert(new)
        }
    }

    @Test func commitsDoNotWaitForACheckpoint() async throws {
        let store = try fixture.open()
        let checkpointing = try #require(store.checkpointing)
        let held = DispatchSemaphore(value: 0)
        checkpointing.thread.post(on: 0) { held.wait() }
        for _ in 0..<6 { try await write(store, pages: Checkpointing.due / 2) }
        // All writes were answered, and none of them is in the database yet.
        #expect(checkpointing.length >= 2 * Checkpointing.due)
        let size = try FileManager.default.attributesOfItem(atPath: fixture.database)[.size] as? Int ?? 0
        #expect(size < 4096 * Checkpointing.due)
        held.signal()
        #expect(
            try await eventually {
                let size = try FileManager.default.attributesOfItem(atPath: fixture.database)[.size] as? Int ?? 0
                return size > 4096 * 2 * Checkpointing.due
            })
    }

    @Test func aLogThatIsTooLongIsFinishedByTheWriter() async throws {
        let store = try fixture.open()
        let checkpointing = try #require(store.checkpointing)
        try await write(store, pages: 300)
        let length = checkpointing.length
        #expect(length >= 300)
        // Simulates other writers that wrote all the time during the copy.
        checkpointing.copied((length: Checkpointing.longest, copied: 0))
        try await write(store, pages: 1)
        try await write(store, pages: 1)
        #expect(checkpointing.length < length)
    }

    @Test func aLogIsLeftAloneWhileItIsShort() async throws {
        let store = try fixture.open()
        let checkpointing = try #require(store.checkpointing)
        try await write(store, pages: 300)
        let length = checkpointing.length
        try await write(store, pages: 1)
        #expect(checkpointing.length > length)
    }

    @Test func aStoreMayBeClosedWhileItsLogIsCopied() async throws {
        let store = try fixture.open()
        try await write(store, pages: 3 * Checkpointing.due)
        store.close()
        #expect(try await fixture.open().read { try $0.counts() }[.paused] == 1)
    }
}

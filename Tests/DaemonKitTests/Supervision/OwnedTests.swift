import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct UnstoredChangesTests {
    private static let (anna, bert) = (UserID(7), UserID(8))

    /// A disk that fails until it is mended, and what was written to it.
    private final class Disk: Sendable {
        private let state = Guarded((failure: TransferError?.none, written: [Set<String>](), tries: 0))

        var failure: TransferError? {
            get { state.withLock { $0.failure } }
            set { state.withLock { $0.failure = newValue } }
        }
        var written: [Set<String>] { state.withLock { $0.written } }
        var tries: Int { state.withLock { $0.tries } }

        @Sendable func write(_ changes: Set<String>, _: StoreTransaction) throws {
            try state.withLock { state in
                state.tries += 1
                if let failure = state.failure { throw failure }
                state.written.append(changes)
            }
        }
    }

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let unstored: UnstoredChanges<String>
    private let disk = Disk()
    private let pauses = Guarded<[Int64]>([])

    init() throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        unstored = UnstoredChanges(store: store) { [pauses] pause in
            pauses.withLock { $0.append(pause.components.seconds) }
            await Task.yield()
        }
    }

    /// The store tells of its writes in their order.
    private func settle() async throws { try await store.write { _ in } }

    /// - Parameter isLater: the refused change is said to be stored later.
    private func fails(_ changes: Set<String>, isLater: Bool = true) async {
        let error = await #expect(throws: TransferError.self) {
            try await unstored.write(changes, of: Self.anna, disk.write)
        }
        let promise = "The change is in force, and is stored when the disk works again."
        #expect(error?.message.hasSuffix(promise) == isLater)
    }

    /// By itself, without another change, once for all changes that were kept out.
    @Test(arguments: [ErrorCode.diskFull, .diskQuota, .diskIO])
    func whatAFailingDiskKeptOutIsStoredWhenItWorksAgain(_ code: ErrorCode) async throws {
        disk.failure = TransferError(code, "The disk fails.")
        await fails(["a"])
        await fails(["b"])
        #expect(await eventually { pauses.withLock { $0.count } >= 8 })
        disk.failure = nil
        #expect(await eventually { !disk.written.isEmpty })
        #expect(disk.written == [["a", "b"]])
        let first = pauses.withLock { pauses in
            defer { pauses = [] }
            return pauses.prefix(8)
        }
        #expect(first == [1, 2, 4, 8, 16, 32, 60, 60])
        try await settle()
        disk.failure = TransferError(code, "The disk fails again.")
        await fails(["c"])
        #expect(await eventually { pauses.withLock { $0.first == 1 } })
    }

    /// A damaged page would fail the writes of others with each try.
    @Test func aDamagedDatabaseIsNotTriedByTheClock() async throws {
        disk.failure = TransferError(.diskIO, "A page is damaged.", retryable: false)
        await fails(["a"], isLater: false)
        for _ in 0..<100 { await Task.yield() }
        try await settle()
        #expect(pauses.withLock { $0.isEmpty } && disk.tries <= 2)
        disk.failure = nil
        try await unstored.write(["b"], of: Self.anna, disk.write)
        #expect(disk.written == [["a", "b"]])
    }

    @Test func theNextChangeStoresItToo() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        unstored.store(["a"], of: Self.anna, disk.write)
        try await settle()
        disk.failure = nil
        try await unstored.write(["x"], of: Self.bert, disk.write)
        try await unstored.write(["b"], of: Self.anna, disk.write)
        try await unstored.write([], of: Self.anna, disk.write)
        #expect(disk.written == [["x"], ["a", "b"]])
    }

    /// Nothing waits for it, because a store that closes performs what it has.
    @Test func whatIsLeftIsHandedOverAtTheEnd() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        for owner in [Self.anna, Self.bert] {
            unstored.store(["of \(owner)"], of: owner, disk.write)
            try await settle()
        }
        disk.failure = nil
        #expect(unstored.count == 2)
        unstored.flush()
        store.close()
        #expect(Set(disk.written) == [["of \(Self.anna)"], ["of \(Self.bert)"]] && unstored.count == 0)
    }

    @Test func whatCannotBeStoredAtTheEndIsCounted() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        unstored.store(["a", "b"], of: Self.anna, disk.write)
        unstored.flush()
        store.close()
        #expect(unstored.count == 2)
    }
}

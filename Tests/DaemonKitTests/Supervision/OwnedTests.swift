import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct OwnedTests {
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

        func write(_ changes: Set<String>) throws {
            try state.withLock { state in
                state.tries += 1
                if let failure = state.failure { throw failure }
                state.written.append(changes)
            }
        }
    }

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let owned: Owned<Int, String>
    private let disk = Disk()
    private let pauses = Guarded<[Int64]>([])
    private let reads = Guarded(0)

    init() throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        owned = Owned(
            store: store,
            sleep: { [pauses] pause in
                pauses.withLock { $0.append(pause.components.seconds) }
                await Task.yield()
            },
            reading: { [reads] _ in
                [
                    .shared(Self.anna): reads.withLock { reads in
                        reads += 1
                        return reads
                    }
                ]
            },
            writing: { [disk] changes, _, _, _ in try disk.write(changes) })
    }

    /// The store tells of its writes in their order.
    private func settle() async throws { try await store.write { _ in } }

    /// - Parameter isLater: the refused change is said to be stored later.
    private func fails(_ changes: Set<String>, isLater: Bool = true) async {
        let error = await #expect(throws: TransferError.self) {
            try await owned.write(changes, of: .shared(Self.anna))
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
        try await owned.write(["b"], of: .shared(Self.anna))
        #expect(disk.written == [["a", "b"]])
    }

    @Test func theNextChangeStoresItToo() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        owned.store(["a"], of: .shared(Self.anna))
        try await settle()
        disk.failure = nil
        try await owned.write(["x"], of: .shared(Self.bert))
        try await owned.write(["b"], of: .shared(Self.anna))
        try await owned.write([], of: .shared(Self.anna))
        #expect(disk.written == [["x"], ["a", "b"]])
    }

    /// Nothing waits for it, because a store that closes performs what it has.
    @Test func whatIsLeftIsHandedOverAtTheEnd() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        for owner in [Self.anna, Self.bert] {
            owned.store(["of \(owner)"], of: .shared(owner))
            try await settle()
        }
        disk.failure = nil
        #expect(owned.unstoredCount == 2)
        owned.flush()
        store.close()
        #expect(Set(disk.written) == [["of \(Self.anna)"], ["of \(Self.bert)"]] && owned.unstoredCount == 0)
    }

    @Test func whatCannotBeStoredAtTheEndIsCounted() async throws {
        disk.failure = TransferError(.internal, "A body fails.")
        owned.store(["a", "b"], of: .shared(Self.anna))
        owned.flush()
        store.close()
        #expect(owned.unstoredCount == 2)
    }

    // MARK: In memory

    @Test func whatIsHereIsReadAgainOnlyOnDemand() async throws {
        let place = OwnedPlace.shared(Self.anna)
        #expect(owned[place] == nil)
        try await owned.load()
        try await owned.load()
        #expect(owned[place] == 1)
        try await owned.load(again: true)
        #expect(owned[place] == 2)
    }

    @Test func aValueIsMadeOnceAndDropped() {
        let place = OwnedPlace.session(SessionKey(owner: Self.anna, identifier: "s"))
        #expect(owned.value(at: place, 5) == 5 && owned.value(at: place, 6) == 5)
        owned.forget(place)
        #expect(owned[place] == nil)
    }

    /// A volatile session may have the name of a durable one.
    @Test func whatIsVolatileIsNotStored() async throws {
        let place = OwnedPlace.volatile(SessionKey(owner: Self.anna, identifier: "s"))
        owned.store(["a"], of: place)
        try await owned.write(["b"], of: place)
        try await settle()
        #expect(disk.tries == 0)
    }
}

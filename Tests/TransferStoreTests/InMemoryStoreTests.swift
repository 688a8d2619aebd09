import Dispatch
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

/// A store without files behaves like a store with files.
@Suite struct InMemoryStoreTests {
    @Test func itKeepsTasksAndEvents() async throws {
        let store = try TransferStore.inMemory()
        let heard = Guarded(0)
        store.onCommit { events in heard.withLock { $0 += events.count } }
        let id = try await store.write { transaction in
            let id = try transaction.insert(newTask()).id
            try transaction.append(event(.taskAdded, task: id))
            #expect(try transaction.update(id, from: .queued, to: status(.running)))
            return id
        }
        let (record, counts, events) = try await store.read { snapshot in
            (try snapshot.task(id), try snapshot.counts(), try snapshot.events(EventQuery()))
        }
        #expect(record?.status.state == .running)
        #expect(counts[.running] == 1 && counts[.queued] == 0)
        #expect(events.count == 1 && heard.withLock { $0 } == 1)
        #expect(!store.isStorageLow && store.loss == nil && store.restoreReserve())
        #expect(store.folderPath.isEmpty && store.missingLog == nil && store.damage == nil)
    }

    @Test func eachIsAnother() async throws {
        let (first, second) = (try TransferStore.inMemory(), try TransferStore.inMemory())
        try await first.add(newTask())
        #expect(first.identifier != second.identifier)
        #expect(try await second.read { try $0.counts()[.queued] } == 0)
    }

    /// Reads use the writing connection, between two commits.
    @Test func aReadSeesWhatIsCommittedAlone() async throws {
        let store = try TransferStore.inMemory()
        let (entered, release) = (Guarded(false), DispatchSemaphore(value: 0))
        let write = Task {
            try await store.write { transaction in
                try transaction.insert(newTask())
                entered.withLock { $0 = true }
                release.wait()
                throw TransferError(.internal, "Undo it.")
            }
        }
        try await until { entered.withLock { $0 } }
        let counted = Guarded<Int?>(nil)
        store.read({ try $0.counts()[.queued] ?? -1 }) { result in counted.withLock { $0 = try? result.get() } }
        release.signal()
        _ = await write.result
        try await until { counted.withLock { $0 } != nil }
        #expect(counted.withLock { $0 } == 0)
    }

    @Test func itGivesBackAndCloses() async throws {
        let store = try TransferStore.inMemory()
        let ids = try await store.write { transaction in
            try transaction.insert((0..<2000).map { _ in newTask(.completed) })
        }
        try await store.write { try $0.delete(ids) }
        store.releaseMemory()
        try await until { !store.isTidying }
        store.close()
        let error = await transferError { try await store.add(newTask()) }
        #expect(error?.code == .shuttingDown)
    }

    @Test func inPlaceItNeedsNoThread() async throws {
        let store = try TransferStore.inMemory(inPlace: true)
        let id = try await store.add(newTask())
        #expect(try await store.read { try $0.task(id) } != nil)
        store.close()
    }
}

import CSQLite
import Foundation
import Testing
import Threading
import TransferModel

@testable import TransferStore

/// Counts SQLite's commits as long as it exists.
private final class CommitCounter: Sendable {
    let count = Guarded(0)

    func follow(_ writer: Connection) {
        sqlite3_commit_hook(
            writer.handle,
            { context in
                if let context {
                    Unmanaged<CommitCounter>.fromOpaque(context).takeUnretainedValue().count.withLock { $0 += 1 }
                }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}

private struct Refusal: Error, Equatable {}

@Suite struct GroupCommitterTests {
    let fixture = Fixture()

    /// Blocks the writer in one body until `release`, so that later bodies must share the next commit.
    private func hold(
        _ store: TransferStore
    ) async throws -> (done: Task<Void, any Error>, release: DispatchSemaphore) {
        let entered = Guarded(false)
        let release = DispatchSemaphore(value: 0)
        let done = Task {
            try await store.write { _ in
                entered.withLock { $0 = true }
                release.wait()
            }
        }
        try await until { entered.withLock { $0 } }
        return (done, release)
    }

    @Test func everyCommitIsMeasured() async throws {
        let store = try fixture.open()
        let before = store.commitDurations
        for _ in 0..<3 { try await store.add(newTask()) }
        await #expect(throws: TransferError.self) { try await store.write { _ in throw Refusal() } }
        let after = store.commitDurations
        let calls = after.calls.reduce(0, +) - before.calls.reduce(0, +)
        #expect(calls == 4)
        #expect(after.nanoseconds > before.nanoseconds)
    }

    @Test func bodiesThatQueueUpShareOneCommit() async throws {
        let store = try fixture.open()
        let counter = CommitCounter()
        store.database.write { counter.follow($0) }
        let (first, release) = try await hold(store)
        let others = (0..<100).map { number in
            Task { try await store.add(newTask(url: "https://example.org/\(number)")) }
        }
        try await until { store.queuedWrites == 100 }
        release.signal()
        try await first.value
        for other in others { _ = try await other.value }
        // One commit is for the blocking body, which changed nothing but is a transaction. The other one is for the
        // hundred.
        #expect(counter.count.withLock { $0 } <= 2)
        let counts = try await store.read { try $0.counts() }
        #expect(counts[.queued] == 100)
    }

    @Test func aBodyThatThrowsUndoesOnlyItself() async throws {
        let store = try fixture.open()
        let seen = Guarded<[[Int64]]>([])
        store.onCommit { events in
            seen.withLock { $0.append(events.compactMap { $0.sequence?.rawValue }) }
        }
        let (first, release) = try await hold(store)
        let results = (0..<10).map { number in
            Task<Bool, Never> {
                do {
                    try await store.write { transaction in
                        let id = try transaction.insert(newTask()).id
                        try transaction.append(event(.taskAdded, task: id))
                        try transaction.append(event(.taskQueued, task: id))
                        if number % 3 == 1 { throw Refusal() }
                        try transaction.append(event(.taskStarted, task: id))
                    }
                    return true
                } catch {
                    return false
                }
            }
        }
        try await until { store.queuedWrites == 10 }
        release.signal()
        try await first.value
        var kept = 0
        for result in results where await result.value { kept += 1 }
        #expect(kept == 7)
        let (counts, events, head) = try await store.read {
            (try $0.counts(), try $0.events(EventQuery()), try $0.eventHead())
        }
        #expect(counts[.queued] == 7)
        #expect(events.compactMap { $0.sequence?.rawValue } == Array(1...21))
        #expect(head == SequenceNumber(21))
        #expect(seen.withLock { $0 } == [Array(1...21)])
    }

    @Test func theErrorOfABodyReachesItsCaller() async throws {
        let store = try fixture.open()
        let error = await transferError {
            try await store.write { _ in throw TransferError(.taskWrongState, "No.") }
        }
        #expect(error == TransferError(.taskWrongState, "No."))
    }

    @Test func eventsAreHandedOnInOrderBeforeTheWriterGoesOn() async throws {
        let store = try fixture.open()
        let seen = Guarded<[Int64]>([])
        store.onCommit { events in seen.withLock { $0 += events.compactMap { $0.sequence?.rawValue } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let sequence = try await store.write { try $0.append(event()) }
                    #expect(seen.withLock { $0.contains(sequence.rawValue) })
                }
            }
            try await group.waitForAll()
        }
        #expect(seen.withLock { $0 } == Array(1...200))
    }

    @Test func writesOfOneCallerKeepTheirOrder() async throws {
        let store = try fixture.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in UInt32(1)...20 {
                group.addTask {
                    for second in Int64(0)..<20 {
                        try await store.write {
                            _ = try $0.append(event(owner: UserID(owner), at: after(second)))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for owner in UInt32(1)...20 {
            let times = try await store.read { try $0.events(EventQuery(owner: UserID(owner))).map(\.time) }
            #expect(times == (Int64(0)..<20).map { after($0) })
        }
    }

    @Test func aCommitThatDoesNotFitFailsWholeAndTheWriterGoesOn() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        try await limitPages(of: store, to: 1)
        #expect(!store.isStorageLow)
        let (first, release) = try await hold(store)
        let filler = String(repeating: "x", count: 100_000)
        let writes = (0..<5).map { number in
            Task<TransferError?, Never> {
                await transferError {
                    try await store.write { transaction in
                        try transaction.append(event())
                        try transaction.setSetting("filler\(number)", .string(filler))
                    }
                }
            }
        }
        try await until { store.queuedWrites == 5 }
        release.signal()
        try await first.value
        for write in writes { #expect(await write.value?.code == .diskFull) }
        #expect(store.isStorageLow)
        let (head, settings) = try await store.read { (try $0.eventHead(), try $0.settings()) }
        #expect(head == .zero)
        #expect(settings.isEmpty)
        // A change that needs no new page still works, and a new task is refused. Both recover.
        let changed = try await store.write { try $0.update(id, from: .queued, to: status(.paused)) }
        #expect(changed)
        let refused = await transferError { try await store.add(newTask()) }
        #expect(refused?.code == .diskFull)
        try await limitPages(of: store, to: 1_000_000)
        #expect(store.restoreReserve())
        try await store.add(newTask())
    }

    /// An observer that is wrapped once more at each commit would overflow the stack.
    @Test func theHundredthCommitReachesItsObserverAsTheFirstDid() async throws {
        let store = try fixture.open()
        let depths = Guarded<[Int]>([])
        store.onCommit { _ in depths.withLock { $0.append(Thread.callStackReturnAddresses.count) } }
        for _ in 0..<100 {
            try await store.write { transaction in
                let session = SessionKey(owner: UserID(1000), identifier: SessionKey.sharedIdentifier)
                _ = try transaction.append(
                    EventRecord(time: Timestamp(milliseconds: 1), type: .sessionDrained, session: session))
            }
        }
        let seen = depths.withLock { $0 }
        #expect(seen.count == 100)
        #expect(seen.first == seen.last)
    }

    private func limitPages(of store: TransferStore, to count: Int) async throws {
        try await store.write { transaction in
            _ = try transaction.connection.integer("PRAGMA max_page_count = \(count)")
        }
    }

    @Test func closingPerformsWhatIsQueued() async throws {
        var store: TransferStore? = try fixture.open()
        let writes = (0..<50).compactMap { _ in
            store.map { store in Task { try await store.add(newTask()) } }
        }
        for write in writes { _ = try await write.value }
        store?.close()
        store = try fixture.open()
        let counts = try await store?.read { try $0.counts() }
        #expect(counts?[.queued] == 50)
    }
}

/// Polls until the condition is true. Gives up after 30 s.
func until(_ condition: () -> Bool) async throws {
    for _ in 0..<30_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
    try #require(condition())
}

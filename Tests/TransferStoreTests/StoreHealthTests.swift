import CSQLite
import Foundation
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

@Suite struct StoreHealthTests {
    private func name(_ news: StoreNews) -> String {
        "\(news.error == nil ? "ended" : "began") \(news.trouble)"
    }

    private func followed(_ health: StoreHealth) -> Guarded<[String]> {
        let heard = Guarded([String]())
        health.observe { news in heard.withLock { $0.append(name(news)) } }
        return heard
    }

    private let failing = TransferError(.diskIO, "It fails.")
    private let damaged = SQLiteError(SQLITE_CORRUPT, "It is malformed.")

    @Test func aTroubleIsToldOnceAndItsEndOnce() {
        let health = StoreHealth(quiet: .zero)
        let heard = followed(health)
        for _ in 0..<3 { health.failed(failing) }
        for _ in 0..<3 { health.succeeded() }
        #expect(heard.withLock { $0 } == ["began unusable", "ended unusable"])
        health.failed(failing)
        #expect(heard.withLock(\.count) == 3)
    }

    @Test func theWorstTroubleIsTheOneThatIsTold() {
        let health = StoreHealth(quiet: .zero)
        #expect(health.trouble == nil)
        health.note(.full, TransferError(.diskFull, "full"))
        #expect(health.trouble?.message == "full")
        health.note(.unusable, TransferError(.diskIO, "unusable"))
        #expect(health.trouble?.message == "unusable")
        health.note(.damaged, TransferError(.diskIO, "damaged"))
        #expect(health.trouble?.message == "damaged")
        health.note(.damaged, nil)
        health.note(.unusable, nil)
        health.note(.full, nil)
        #expect(health.trouble == nil)
    }

    /// No lock is held during the call. The observer may ask, and a change during the call is reported after it.
    @Test func theObserverMayUseIt() {
        let health = StoreHealth()
        let heard = Guarded([String]())
        health.observe { news in
            if news.error != nil {
                #expect(health.damage == nil)
                health.note(.full, nil)
            }
            heard.withLock { $0.append(name(news)) }
        }
        health.note(.full, TransferError(.diskFull, "Full."))
        #expect(heard.withLock { $0 } == ["began full", "ended full"])
    }

    /// Only some reads hit a damaged page.
    @Test func whatGoesWellBetweenFailuresEndsNothing() {
        let health = StoreHealth(quiet: .seconds(3600))
        let heard = followed(health)
        for _ in 0..<3 {
            health.failed(failing)
            health.succeeded()
        }
        #expect(heard.withLock { $0 } == ["began unusable"])
    }

    @Test func whoeverComesLaterHearsOfWhatHolds() {
        let health = StoreHealth()
        health.note(.full, TransferError(.diskFull, "Full."))
        #expect(followed(health).withLock { $0 } == ["began full"])
    }

    @Test func whatIsNotTheDisksIsNoTrouble() {
        let health = StoreHealth(quiet: .zero)
        let heard = followed(health)
        for error in [
            TransferError(.taskNotFound, "No."), CancellationError(),
            StoreFailure.transferError(SQLiteError(SQLITE_CONSTRAINT, "It is refused."), of: "/d"),
        ] as [any Error] {
            health.failed(error)
        }
        #expect(heard.withLock(\.isEmpty))
    }

    /// An error that a body throws is no failure of the store.
    @Test func theStoreTellsOfItsOwn() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        let heard = Guarded([String]())
        store.onTrouble { news in heard.withLock { $0.append(name(news)) } }
        _ = await transferError { try await store.read { _ in throw TransferError(.badField, "No.") } }
        #expect(heard.withLock(\.isEmpty))
        _ = try? await store.read { _ in throw damaged }
        _ = try? await store.write { _ in throw damaged }
        #expect(heard.withLock { $0 } == ["began damaged"])
    }

    /// The error names the file and the remedy, and does not go away by itself.
    @Test func damageIsToldWithItsRemedy() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        #expect(store.damage == nil)
        let failures = [
            await transferError { _ = try await store.read { _ in throw damaged } },
            await transferError { _ = try await store.write { _ in throw damaged } },
        ]
        for failure in failures {
            #expect(failure?.code == .diskIO && failure?.retryable == false)
            #expect(failure?.message.hasPrefix("The state database \(fixture.database) is damaged") == true)
            #expect(failure?.message.contains("restore the database from a backup") == true)
        }
        try await store.add(newTask())
        #expect(store.damage == failures[0])
        let health = StoreHealth(quiet: .zero)
        health.failed(StoreFailure.transferError(damaged, of: "/d"))
        health.succeeded()
        #expect(health.damage != nil)
    }

    /// SQLite would keep the damaged pages in memory until something is written.
    @Test func aRepairedFileIsReadAgain() async throws {
        let fixture = Fixture()
        let first = try fixture.open()
        for _ in 0..<8 {
            try await first.write { transaction in _ = try transaction.insert((0..<500).map { _ in newTask() }) }
        }
        first.close()
        let store = try fixture.open()
        let heard = Guarded([String]())
        store.onTrouble { news in heard.withLock { $0.append(name(news)) } }
        let file = URL(fileURLWithPath: fixture.database)
        let before = try Data(contentsOf: file)
        // Writes in place, because SQLite has the file open.
        func write(_ data: Data) throws {
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: data)
            try handle.close()
        }
        // The schema is in the first half.
        try write(Data(before.prefix(before.count / 2)) + Data(repeating: 0xa5, count: before.count - before.count / 2))
        let select: @Sendable (StoreSnapshot) throws -> Int = {
            try $0.tasks(try $0.select(TaskQuery(), after: nil, limit: 5000)).count
        }
        let error = await transferError { _ = try await store.read(select) }
        #expect(error?.code == .diskIO)
        #expect(heard.withLock { $0 } == ["began damaged"])
        try write(before)
        #expect(await eventually { (try? await store.read(select)) == 4000 })
    }
}

import Foundation
import TestSupport
import Testing
import Threading
import TransferModel

@testable import TransferStore

@Suite struct TransferStoreTests {
    let fixture = Fixture()

    @Test func theWriterFlushesEveryCommit() async throws {
        let store = try fixture.open()
        let pragmas = try await store.write { transaction in
            try ["synchronous", "journal_mode", "foreign_keys", "auto_vacuum", "busy_timeout"].map {
                try transaction.connection.text("PRAGMA \($0)") ?? ""
            }
        }
        #expect(pragmas == ["2", "wal", "1", "2", "10000"])
    }

    @Test func whatWasAnsweredSurvivesACrash() async throws {
        let store = try fixture.open()
        let id = try await store.write { transaction in
            let record = try transaction.insert(newTask())
            try transaction.append(event(.taskAdded, task: record.id))
            return record.id
        }
        // The files as a killed process leaves them: without a checkpoint and without a close.
        let copy = Fixture()
        try FileManager.default.createDirectory(atPath: copy.folder, withIntermediateDirectories: false)
        for name in ["dld.sqlite", "dld.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(fixture.folder)/\(name)", toPath: "\(copy.folder)/\(name)")
        }
        let reopened = try copy.open()
        let (task, head) = try await reopened.read { (try $0.task(id), try $0.eventHead()) }
        #expect(task?.status.state == .queued)
        #expect(head == SequenceNumber(1))
        #expect(reopened.identifier == store.identifier)
    }

    @Test func afterACleanStopTheDatabaseAloneIsTheQueue() async throws {
        let store = try fixture.open()
        let id = try await store.add(newTask())
        store.close()
        let log = FileManager.default.contents(atPath: fixture.database + "-wal")
        #expect(log.map(\.isEmpty) ?? true)
        let copy = Fixture()
        try FileManager.default.createDirectory(atPath: copy.folder, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: fixture.database, toPath: copy.database)
        #expect(try await copy.open().read { try $0.task(id) }?.status.state == .queued)
    }

    @Test func idsGoOnAfterReopening() async throws {
        var store = try fixture.open()
        let first = try await store.add(newTask())
        try await store.write { _ = try $0.delete(first) }
        store.close()
        store = try fixture.open()
        let second = try await store.add(newTask())
        #expect(second > first)
    }

    /// The caller is told of the commit, of its body's error, or of a closed store. This happens once, and after the
    /// observers of commits.
    @Test func callersThatDoNotWaitHearOfTheEnd() async throws {
        let store = try fixture.open()
        let heard = Guarded<[String]>([])
        store.onCommit { events in heard.withLock { $0.append("\(events.count) events") } }
        let note: @Sendable (Result<Int, any Error>) -> Void = { result in
            heard.withLock { heard in
                switch result {
                case .success(let value): heard.append("\(value)")
                case .failure(let error): heard.append("\((error as? TransferError)?.code.rawValue ?? "?")")
                }
            }
        }
        store.write({ try Int($0.append(event()).rawValue) }, then: note)
        try await until { heard.withLock { $0.count } == 2 }
        store.write({ _ in throw TransferError(.badField, "No.") }, then: note)
        try await until { heard.withLock { $0.count } == 3 }
        store.read({ Int(try $0.eventHead().rawValue) }, then: note)
        try await until { heard.withLock { $0.count } == 4 }
        store.close()
        store.write({ _ in 7 }, then: note)
        store.read({ _ in 7 }, then: note)
        try await until { heard.withLock { $0.count } == 6 }
        #expect(
            heard.withLock { $0 } == [
                "1 events", "1", "request.bad_field", "1", "daemon.shutting_down", "daemon.shutting_down",
            ])
    }

    @Test func aClosedStoreRefusesWrites() async throws {
        let store = try fixture.open()
        store.close()
        store.close()
        let error = await transferError { try await store.add(newTask()) }
        #expect(error?.code == .shuttingDown)
    }

    @Test func readsDoNotSeeWhatIsNotCommitted() async throws {
        let store = try fixture.open()
        let inside = try await store.write { transaction in
            try transaction.insert(newTask())
            let outside = try store.database.read { try $0.integer("SELECT count(*) FROM task") }
            return (try transaction.counts()[.queued], outside)
        }
        #expect(inside.0 == 1)
        #expect(inside.1 == 0)
        let counts = try await store.read { try $0.counts() }
        #expect(counts[.queued] == 1)
    }

    @Test func errorsOfTheDatabaseSpeakTheSharedVocabulary() async throws {
        let store = try fixture.open()
        let error = await transferError {
            try await store.read { _ = try $0.integer("SELECT * FROM nothing") }
        }
        #expect(error?.code == .internal)
        #expect(TransferStore.sqliteVersion.hasPrefix("3."))
    }
}

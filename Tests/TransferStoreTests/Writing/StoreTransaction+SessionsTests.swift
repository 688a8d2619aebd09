import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionSessionsTests {
    let fixture = Fixture()

    @Test func sharedExistsForEverybodyAndIsWrittenWhenNeeded() async throws {
        let store = try fixture.open()
        let (before, listed, all, other) = try await store.read {
            (
                try $0.session(.shared(of: alice)), try $0.sessions(owner: alice), try $0.sessions(),
                try $0.session(SessionKey(owner: alice, identifier: "other"))
            )
        }
        #expect(before?.state == .active)
        #expect(listed == [before].compactMap { $0 })
        #expect(all.isEmpty)
        #expect(other == nil)
        try await store.add(newTask(owner: alice))
        try await store.add(newTask(owner: bob))
        let written = try await store.read { try $0.sessions() }
        #expect(written.map(\.key) == [.shared(of: alice), .shared(of: bob)])
    }

    @Test func aSessionIsOneOfItsOwner() async throws {
        let store = try fixture.open()
        var session = SessionRecord(key: SessionKey(owner: alice, identifier: "apt"), createdAt: epoch)
        session.configuration.maximumConcurrentTasks = 3
        try await store.write { [session] in try $0.insertSession(session) }
        let again = await transferError { try await store.write { [session] in try $0.insertSession(session) } }
        #expect(again?.code == .internal)
        try await store.write { [session] transaction in
            var other = session
            other.key.owner = bob
            try transaction.insertSession(other)
        }
        session.state = .finishing
        session.configuration.directory = "/srv"
        try await store.write { [session] in try $0.updateSession(session) }
        let stored = try await store.read { [session] in try $0.session(session.key) }
        #expect(stored == session)
        let missing = await transferError {
            try await store.write { [session] transaction in
                var unknown = session
                unknown.key.identifier = "unknown"
                try transaction.updateSession(unknown)
            }
        }
        #expect(missing?.code == .sessionNotFound)
    }

    @Test func sharedCanBeConfiguredBeforeItsFirstTask() async throws {
        let store = try fixture.open()
        var shared = SessionRecord(key: .shared(of: alice), createdAt: epoch)
        shared.configuration.directory = "/srv"
        try await store.write { [shared] in try $0.updateSession(shared) }
        let stored = try await store.read { try $0.session(.shared(of: alice)) }
        #expect(stored?.configuration.directory == "/srv")
    }

    @Test func aSubscriberNeverGoesBackNorAhead() async throws {
        let store = try fixture.open()
        try await store.write { transaction in for _ in 0..<5 { try transaction.append(event()) } }
        let numbers = try await store.write { transaction in
            try [3, 2, 5].map { try transaction.acknowledge("app", owner: alice, SequenceNumber($0)).rawValue }
        }
        #expect(numbers == [3, 3, 5])
        for beyond in [Int64(6), -1] {
            let error = await transferError {
                try await store.write { _ = try $0.acknowledge("app", owner: alice, SequenceNumber(beyond)) }
            }
            #expect(error?.code == .badField)
        }
        let (known, others) = try await store.read {
            (try $0.subscriber("app", owner: alice), try $0.subscriber("app", owner: bob))
        }
        #expect(known == SequenceNumber(5))
        #expect(others == nil)
        let (forgotten, again) = try await store.write {
            (try $0.forget("app", owner: alice), try $0.forget("app", owner: alice))
        }
        #expect(forgotten)
        #expect(!again)
    }

    @Test func settingsAreReplacedAndRemoved() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.setSetting("a", 1)
            try transaction.setSetting("a", 2)
            try transaction.setSetting("b", "x")
            try transaction.setSetting("c", .null)
            try transaction.removeSetting("b")
        }
        let settings = try await store.read { try $0.settings() }
        #expect(settings == ["a": 2, "c": .null])
    }
}

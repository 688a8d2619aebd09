import Testing
import TransferModel

@testable import TransferStore

@Suite struct SessionsTests {
    let fixture = Fixture()

    private func session(_ identifier: String, owner: UserID = alice, windows: Int = 0) -> SessionRecord {
        var session = SessionRecord(key: SessionKey(owner: owner, identifier: identifier), createdAt: epoch)
        session.configuration.schedule = Array(repeating: ScheduleWindow(begin: "01:00", end: "02:00"), count: windows)
        return session
    }

    /// A database from before there were limits may have a document of megabytes, which each task of the session reads.
    @Test func aLongDocumentThatIsKnownIsTheOneThatIsStored() async throws {
        let store = try fixture.open()
        var long = session("long, \(fixture.folder)", windows: 100)
        let key = long.key
        try await store.write { [long] in try $0.insertSession(long) }
        for _ in 0..<5 {
            #expect(try await store.read { try $0.session(key) } == long)
            #expect(try await store.write { try $0.session(key) } == long)
        }
        long.configuration.schedule?.removeLast()
        let found = try await store.write { [long] transaction in
            _ = try transaction.session(key)
            try transaction.updateSession(long)
            return try transaction.session(key)
        }
        #expect(found == long)
        #expect(try await store.read { try $0.sessions(owner: alice) }.contains(long))
    }

    private func walk(
        _ store: TransferStore, owner: UserID?, limit: Int, bytes: Int = .max
    ) async throws -> (pages: Int, identifiers: [String]) {
        var found: [SessionRecord] = []
        var pages = 0
        while true {
            let last = found.last?.key
            let page = try await store.read {
                try $0.sessionPage(owner: owner, after: last, limit: limit, bytes: bytes)
            }
            #expect(page.sessions.count <= limit)
            pages += 1
            found += page.sessions
            guard page.isCut else { return (pages, found.map(\.key.identifier)) }
        }
    }

    @Test func sessionsComePageByPageAndSharedInItsPlace() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for name in ["a", "sh", "t", "z"] { try transaction.insertSession(self.session(name, windows: 10)) }
            try transaction.insertSession(self.session("b", owner: bob))
        }
        for limit in 1...6 {
            let own = try await walk(store, owner: alice, limit: limit)
            #expect(own.identifiers == ["a", "sh", "shared", "t", "z"], "\(limit)")
            #expect(try await walk(store, owner: nil, limit: limit).identifiers == ["a", "sh", "t", "z", "b"])
        }
        let short = try await walk(store, owner: alice, limit: 100, bytes: 1)
        #expect(short.identifiers == ["a", "sh", "shared", "t", "z"])
        #expect(short.pages >= 4, "a page ends by bytes, but has one session at least")
    }

    @Test func oneOwnerHasSoManyDurableNames() async throws {
        let store = try fixture.open()
        try await store.write { transaction in
            for number in 0..<Bounds.subscribers { try transaction.acknowledge("s\(number)", owner: alice, .zero) }
        }
        let refusal = await transferError {
            _ = try await store.write { try $0.acknowledge("one more", owner: alice, .zero) }
        }
        #expect(refusal?.code == .limitReached)
        try await store.write { transaction in
            try transaction.acknowledge("s7", owner: alice, .zero)
            try transaction.acknowledge("one more", owner: bob, .zero)
        }
    }

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

import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreSnapshotSessionsTests {
    let fixture = Fixture()

    private func session(_ identifier: String, owner: UserID = alice, windows: Int = 0) -> SessionRecord {
        var session = SessionRecord(key: SessionKey(owner: owner, identifier: identifier), createdAt: epoch)
        session.configuration.schedule = Array(repeating: ScheduleWindow(from: "01:00", to: "02:00"), count: windows)
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
}

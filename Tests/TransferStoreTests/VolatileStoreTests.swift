import Testing
import Threading
import TransferModel

@testable import TransferStore

/// The store of volatile sessions.
@Suite struct VolatileStoreTests {
    @Test func idsBeginWhereNoDurableStoreComes() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let ids = try await store.write { try $0.insert([newTask(), newTask()]) }
        #expect(ids == [.firstVolatile, TaskID(TaskID.firstVolatile.rawValue + 1)])
        #expect(ids.allSatisfy(\.isVolatile) && !TaskID(TaskID.firstVolatile.rawValue - 1).isVolatile)
    }

    /// Neither in this start of the daemon nor in a later one.
    @Test func noStartUsesTheIDsOfAnother() async throws {
        let fixture = Fixture()
        var firsts: [TaskID] = []
        for _ in 0..<3 {
            let durable = try fixture.open()
            let first = try await durable.write { try $0.nextVolatileIDs() }
            durable.close()
            let store = try TransferStore.inMemory(isVolatile: true, from: first)
            #expect(try await store.write { try $0.insert([newTask()]) } == [first])
            firsts.append(first)
        }
        #expect(firsts[0] == .firstVolatile)
        for (one, next) in zip(firsts, firsts.dropFirst()) { #expect(next.rawValue - one.rawValue == 1_000_000_000) }
        // The last start's ids are numbers that JSON carries exactly.
        #expect(TaskID.firstVolatile.rawValue + 8_000_000 * 1_000_000_000 < 1 << 53)
    }

    @Test func eventsAreHandedOnWithoutANumberAndNotKept() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let heard = Guarded<[EventRecord]>([])
        store.onCommit { events in heard.withLock { $0 += events } }
        try await store.write { transaction in
            _ = try transaction.insert(newTask())
            try transaction.append(event(.taskAdded, task: .firstVolatile))
        }
        #expect(heard.withLock { $0 }.map(\.type) == [.taskAdded])
        #expect(heard.withLock { $0 }.allSatisfy { $0.sequence == nil })
        #expect(try await store.read { try $0.events(EventQuery()) }.isEmpty)
        #expect(try await store.read { try $0.eventHead() } == .zero)
    }

    @Test func oneOwnersTasksAreBounded() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let most = Array(repeating: newTask(), count: Bounds.volatileTasks)
        _ = try await store.write { try $0.insert(most) }
        let error = await #expect(throws: TransferError.self) { try await store.write { try $0.insert(newTask()) } }
        #expect(error?.code == .limitReached)
        _ = try await store.write { try $0.insert(newTask(owner: bob)) }
    }

    @Test func oneOwnersBodiesAreBounded() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let body = [UInt8](repeating: 7, count: Bounds.dataAnswer)
        let count = Int(Bounds.volatileBodies) / body.count
        let ids = try await store.write { try $0.insert(Array(repeating: newTask(), count: count + 1)) }
        for id in ids.prefix(count) { try await store.write { try $0.setBody(id, .response, body) } }
        let error = await #expect(throws: TransferError.self) {
            try await store.write { try $0.setBody(ids[count], .response, body) }
        }
        #expect(error?.code == .limitReached && error?.retryable == false)
        #expect(try await store.write { try !$0.hasRoom(forBodies: body.count, of: alice) })
        #expect(try await store.write { try $0.hasRoom(forBodies: body.count, of: bob) })
        let other = try await store.write { try $0.insert([newTask(owner: bob)])[0] }
        try await store.write { try $0.setBody(other, .response, body) }
    }

    @Test func aSessionIsForgotten() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let key = SessionKey(owner: alice, identifier: "v")
        try await store.write { transaction in
            try transaction.insertSession(SessionRecord(key: key, kind: .ephemeral, createdAt: epoch))
            #expect(try transaction.session(key)?.kind == .ephemeral)
            try transaction.forgetSession(key)
            #expect(try transaction.session(key) == nil)
        }
    }

    @Test func aSessionsTasksAreForgottenInSteps() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        let (ending, living) = (
            SessionKey(owner: alice, identifier: "ending"), SessionKey(owner: alice, identifier: "living")
        )
        let left = try await store.write { transaction in
            for key in [ending, living] {
                try transaction.insertSession(SessionRecord(key: key, kind: .ephemeral, createdAt: epoch))
            }
            let ids = try transaction.insert((1...5).map { _ in newTask(session: "ending") })
            for id in ids { try transaction.setBody(id, .response, [1]) }
            return try transaction.insert([newTask(session: "living")])
        }
        var steps = 0
        while try await store.write({ try $0.forgetTasks(of: ending, limit: 2) }) { steps += 1 }
        #expect(steps == 3)
        try await store.write { try $0.forgetSession(ending) }
        let page = try await store.read { try $0.page(TaskQuery(owner: alice)) }
        #expect(page.tasks.map(\.record.id) == left)
        #expect(try await store.read { try $0.counts(owner: alice).values.reduce(0, +) } == 1)
        let bodies = try await store.read { try $0.integer("SELECT count(*) FROM body") }
        #expect(bodies == 0)
    }

    /// A repeated token adds nothing as long as its session lives, even after its task was removed.
    @Test func anEndedSessionTakesOnlyItsOwnTokens() async throws {
        let store = try TransferStore.inMemory(isVolatile: true)
        for name in ["ending", "living"] {
            try await store.write { transaction in
                let key = SessionKey(owner: alice, identifier: name)
                try transaction.insertSession(SessionRecord(key: key, kind: .ephemeral, createdAt: epoch))
                var task = newTask(session: name)
                task.spec.clientToken = name
                try transaction.delete(try transaction.insert(task).id)
            }
        }
        try await store.write { try $0.forgetSession(SessionKey(owner: alice, identifier: "ending")) }
        func isKnown(_ token: String) async throws -> Bool {
            try await store.read { try $0.use(ofToken: token, owner: alice, notBefore: .init(rawValue: 0)) } != nil
        }
        #expect(try await !isKnown("ending"))
        #expect(try await isKnown("living"))
    }
}

import Testing
import TransferModel

@testable import TransferStore

@Suite struct DecisionsTests {
    let fixture = Fixture()

    private func ask(_ task: TaskID, _ store: TransferStore) async throws -> DecisionID {
        try await store.write {
            try $0.ask(
                Question(.challenge, default: .wait), of: task, at: epoch, settled: SettledDecisions())
        }
    }

    private func open(_ store: TransferStore, owner: UserID? = nil, limit: Int = 10) async throws -> [DecisionID] {
        try await store.read { try $0.openDecisions(owner: owner, limit: limit).map(\.id) }
    }

    @Test func aQuestionOutlivesTheStoreAndNotItsTask() async throws {
        var store = try fixture.open()
        let (first, second) = (try await store.add(newTask(.paused)), try await store.add(newTask(owner: bob)))
        let (a, b) = (try await ask(first, store), try await ask(second, store))
        store.close()
        store = try fixture.open()
        #expect(try await open(store) == [a, b])
        #expect(try await open(store, owner: bob) == [b])
        #expect(try await open(store, limit: 1) == [a])
        #expect(try await store.read { try $0.openDecisions(owner: nil, tasks: [first], limit: 9).map(\.id) } == [a])
        try await store.write { _ = try $0.delete(second) }
        #expect(try await store.read { try $0.decision(b) } == nil)
        // No id is used twice.
        #expect(try await ask(first, store) > b)
    }

    @Test func theFirstAnswerStays() async throws {
        let store = try fixture.open()
        let task = try await store.add(newTask())
        let id = try await ask(task, store)
        var settled = SettledDecisions()
        settled.asked = 7
        let answer = DecisionAnswer(
            .useCredential, credential: DecisionCredential(username: "u", password: "p"))
        try await store.write { [settled] in try $0.answer(id, answer, settled: settled) }
        try await store.write { try $0.answer(id, DecisionAnswer(.cancel), settled: SettledDecisions()) }
        try await store.write { try $0.closeDecision(of: task) }
        let record = try #require(try await store.read { try $0.decision(of: task) })
        #expect(record.state == .answered && record.answer == answer && record.settled == settled)
        #expect(try await open(store).isEmpty)
        try await store.write { try $0.forgetDecisions(of: task) }
        #expect(try await store.read { try $0.decision(of: task) } == nil)
    }

    @Test func aClosedQuestionHasNoAnswer() async throws {
        let store = try fixture.open()
        let task = try await store.add(newTask())
        let id = try await ask(task, store)
        try await store.write { try $0.closeDecision(of: task) }
        try await store.write { try $0.answer(id, DecisionAnswer(.cancel), settled: SettledDecisions()) }
        #expect(try await store.read { try $0.decision(id) }?.state == .closed)
    }

    @Test func aTaskThatEndedKeepsNoSecrets() async throws {
        let store = try fixture.open()
        let task = try await store.add(newTask())
        let id = try await ask(task, store)
        var settled = SettledDecisions()
        settled.spaces = [SettledDecisions.Space(origin: "http://a:80", isProxy: false)]
        settled.spaces[0].password = "opensesame"
        let answer = DecisionAnswer(
            .useCredential, credential: DecisionCredential(username: "anna", password: "opensesame"))
        try await store.write { [settled] transaction in
            try transaction.answer(id, answer, settled: settled)
            try transaction.forgetSecrets(of: task)
        }
        let record = try #require(try await store.read { try $0.decision(of: task) })
        #expect(record.state == .answered && record.settled == SettledDecisions())
        #expect(record.answer == answer.withoutSecrets && record.answer?.credential?.password == nil)
        // Deleted bytes are overwritten, whatever options SQLite was built with.
        #expect(try await store.write { try $0.integer("PRAGMA secure_delete") } == 1)
    }

    /// The newest answers stay as long as their task, without secrets, through restarts.
    @Test func answersOutliveTheNextQuestions() async throws {
        var store = try fixture.open()
        let task = try await store.add(newTask())
        let answer = DecisionAnswer(
            .useCredential, credential: DecisionCredential(username: "u", password: "opensesame"))
        var ids: [DecisionID] = []
        for _ in 0...Bounds.decisions {
            let id = try await ask(task, store)
            try await store.write { try $0.answer(id, answer, settled: SettledDecisions()) }
            ids.append(id)
        }
        let open = try await ask(task, store)
        store.close()
        store = try fixture.open()
        let known = try await store.read { [ids] snapshot in try ids.map { try snapshot.decision($0) } }
        #expect(known.map { $0 == nil } == ids.map { $0 == ids[0] })
        #expect(known.allSatisfy { $0 == nil || $0?.state == .answered && $0?.task == task })
        #expect(known.last??.answer == answer.withoutSecrets && known.last??.session == .shared(of: alice))
        let last = try await store.read { (try $0.decision(open), try $0.decision(of: task)) }
        #expect(last.0?.state == .open && last.1?.id == open)
        // An unanswered question leaves nothing, and neither does a removed task.
        let kept = ids[9]
        try await store.write { try $0.forgetDecisions(of: task) }
        let left = try await store.read { (try $0.decision(open), try $0.decision(kept)) }
        #expect(left.0 == nil && left.1 != nil)
        try await store.write { _ = try $0.delete(task) }
        let removed = try await store.read { try $0.decision(kept) }
        #expect(removed == nil)
    }

    @Test func whoHasNotSeenAnOpenQuestionIsCalled() async throws {
        let store = try fixture.open()
        let task = try await store.add(newTask())
        _ = try await ask(task, store)
        let key = SessionKey.shared(of: alice)
        func unseen() async throws -> Int {
            try await store.read { try $0.unacknowledgedQuestions(key, subscriber: "app") }
        }
        #expect(try await unseen() == 0)
        let number = try await store.write { try $0.append(event(.taskDecision, task: task)) }
        #expect(try await unseen() == 1)
        _ = try await store.write { try $0.acknowledge("app", owner: alice, number) }
        #expect(try await unseen() == 0)
    }
}

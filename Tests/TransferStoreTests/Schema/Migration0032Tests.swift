import Testing
import TransferModel

@testable import TransferStore

/// The answers of an older state folder stay, and are kept from now on.
@Suite struct Migration0032Tests {
    @Test func anOlderStoreGoesOn() async throws {
        let fixture = Fixture()
        let store = try fixture.open(after: "0029")
        let task = try await store.add(newTask())
        let answered = try await store.write { transaction in
            let id = try transaction.ask(Question(.redirect), of: task, at: epoch, settled: SettledDecisions())
            try transaction.answer(id, DecisionAnswer(.follow), settled: SettledDecisions())
            _ = try transaction.ask(Question(.redirect), of: task, at: epoch, settled: SettledDecisions())
            return id
        }
        #expect(try await store.read { try $0.decision(answered) }?.answer == DecisionAnswer(.follow))
    }
}

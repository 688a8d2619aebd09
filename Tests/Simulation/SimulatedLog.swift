import DaemonKit
import TransferModel
import TransferStore

/// The event log as a simulated daemon's feed sees it: the store's own log, unless a defect is planted.
final class SimulatedLog: EventLog, @unchecked Sendable {
    private let store: TransferStore
    private unowned let world: World

    init(_ store: TransferStore, _ world: World) {
        self.store = store
        self.world = world
    }

    func events(
        _ filter: EventFilter, after: SequenceNumber, limit: Int
    ) async throws -> (events: [EventRecord], head: SequenceNumber, first: SequenceNumber) {
        var page = try await store.events(filter, after: after, limit: limit)
        if world.plant == .skip, page.events.count > 1, world.random.chance(200) { page.events.remove(at: 0) }
        return page
    }

    func head() async throws -> SequenceNumber { try await store.head() }

    func acknowledged(_ name: String, owner: UserID) async throws -> SequenceNumber? {
        try await store.acknowledged(name, owner: owner)
    }

    func acknowledge(_ name: String, owner: UserID, _ sequence: SequenceNumber) async throws {
        let isWrong = world.plant == .overtake && world.random.chance(500)
        try await store.acknowledge(name, owner: owner, isWrong ? try await store.head() : sequence)
    }

    func forget(_ name: String, owner: UserID) async throws -> Bool { try await store.forget(name, owner: owner) }
}

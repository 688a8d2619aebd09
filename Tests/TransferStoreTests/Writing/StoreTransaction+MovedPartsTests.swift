import Testing
import TransferModel

@testable import TransferStore

@Suite struct StoreTransactionMovedPartsTests {
    let fixture = Fixture()

    private func part(_ path: String, _ task: Int64, at time: Int64 = 1000) -> MovedPart {
        MovedPart(
            path: path, task: TaskID(task), owner: UserID(7), device: .max,
            recordedAt: Timestamp(milliseconds: time))
    }

    @Test func whatIsLeftIsNotedOnceAndForgottenByName() async throws {
        let store = try fixture.open()
        defer { store.close() }
        try await store.write { transaction in
            try transaction.leave([part("/b", 1), part("/a", 1), part("/c", 2)])
            try transaction.leave([part("/a", 1)])
        }
        #expect(try await store.read { try $0.movedParts(of: TaskID(1)) } == [part("/a", 1), part("/b", 1)])
        try await store.write { try $0.forgetMovedParts(["/a", "/none"]) }
        #expect(try await store.read { try $0.movedParts(of: TaskID(1)) } == [part("/b", 1)])
    }

    @Test func tasksThatLeftSomethingComeInPages() async throws {
        let store = try fixture.open()
        defer { store.close() }
        try await store.write { transaction in
            try transaction.leave([part("/a", 1), part("/b", 1), part("/c", 2), part("/d", 3)])
        }
        #expect(try await store.read { try $0.tasksWithMovedParts(after: nil, limit: 2) } == [TaskID(1), TaskID(2)])
        #expect(try await store.read { try $0.tasksWithMovedParts(after: TaskID(2), limit: 2) } == [TaskID(3)])
    }

    @Test func whatDoesNotComeBackIsGivenUp() async throws {
        let store = try fixture.open()
        defer { store.close() }
        try await store.write { try $0.leave([part("/a", 1, at: 5), part("/b", 1, at: 6)]) }
        try await store.write { try $0.expireMovedParts(before: Timestamp(milliseconds: 6)) }
        #expect(try await store.read { try $0.movedParts(of: TaskID(1)) }.map(\.path) == ["/b"])
    }

    @Test func aTaskRemembersTheDeviceOfItsNewDestination() async throws {
        let store = try fixture.open()
        defer { store.close() }
        let id = try await store.add(newTask())
        try await store.write { try $0.setDestinationDevice(id, .max - 1) }
        #expect(try await store.read { try $0.task(id)?.destinationDevice } == .max - 1)
    }
}

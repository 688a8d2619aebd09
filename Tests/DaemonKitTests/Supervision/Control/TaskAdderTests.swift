import TestSupport
import Testing
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct TaskAdderTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let supervision: Supervision
    private let folder: TemporaryFolder

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        supervision = try fixture.supervision(in: home)
        folder = try TemporaryFolder()
    }

    private func peer(_ uid: UserID) -> Peer { Peer(uid: uid, gid: 1000, pid: 1, isAdmin: false) }

    /// - Returns: for each new task, the task that it is reported to duplicate.
    private func add(
        _ names: [String], by uid: UserID = UserID(1000), _ change: (inout TaskSpec) -> Void = { _ in }
    ) async throws -> [Int64?] {
        let specs = names.map { name in
            var spec = TaskSpec()
            spec.url = "https://example.org/\(name)"
            spec.startPaused = true
            change(&spec)
            if spec.kind == .download { spec.destination = Destination(directory: folder.path) }
            return spec
        }
        return try await supervision.services.adder.add(specs, session: nil, by: peer(uid)).map {
            $0.duplicateOf?.rawValue
        }
    }

    @Test func aURLThatIsQueuedAlreadyIsNamed() async throws {
        #expect(try await add(["a", "b", "a", "a"]) == [nil, nil, 1, 1])
        #expect(try await add(["b", "c"]) == [2, nil])
        #expect(try await add(["a"], by: UserID(1001)) == [nil])
        #expect(try await add(["a"]) { $0.kind = .data } == [nil])
        #expect(try await add(["d"]) { $0.clientToken = "t" } == [nil])
        // It is the very same task.
        #expect(try await add(["d"]) { $0.clientToken = "t" } == [nil])
    }

    @Test func whatHasEndedIsNoDouble() async throws {
        #expect(try await add(["a"]) == [nil])
        _ = try await fixture.apply(.cancel(keepPartial: false), to: TaskID(1))
        #expect(try await add(["a"]) == [nil])
    }

    /// The index is sorted by URL: sorted lists cost little, and unsorted ones are left out.
    @Test func longListsAreFoundAgainIfTheyAreInOrder() async throws {
        func names(_ prefix: String) -> [String] { (100...250).map { "\(prefix)\($0)" } }
        #expect(try await add(names("up")).allSatisfy { $0 == nil })
        #expect(try await add(["up170"]) == [71])
        #expect(try await add(names("down").reversed()).allSatisfy { $0 == nil })
        #expect(try await add(["down250"]) == [153])
        let mixed = names("mixed").enumerated().sorted { ($0.offset * 61) % 151 < ($1.offset * 61) % 151 }.map(
            \.element)
        #expect(try await add(mixed).allSatisfy { $0 == nil })
        #expect(try await add(["mixed170"]) == [nil])
    }

    /// The first entry is the task, and the second one asks for the same task.
    @Test func eachEntryOfALateTaskSaysThatItHasFailed() async throws {
        var spec = TaskSpec()
        spec.url = "https://example.org/late"
        spec.clientToken = "late"
        spec.startPaused = true
        spec.destination = Destination(directory: folder.path)
        spec.deadlineAt = fixture.time.reading().wall.advanced(by: -1)
        let added = try await supervision.services.adder.add([spec, spec], session: nil, by: peer(UserID(1000)))
        #expect(added.map(\.state) == [.failed, .failed] && added.map(\.isExisting) == [false, true])
        #expect(try await fixture.events().count { $0.type == .taskFailed } == 1)
    }
}

import Foundation
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// A state folder for one test. It is deleted with the fixture.
final class Fixture: Sendable {
    let folder: String
    private let temporary: TemporaryFolder?

    /// If no folder can be created, `open` reports the error.
    init() {
        temporary = try? TemporaryFolder()
        folder = temporary?.file("state") ?? "/dev/null/state"
    }

    func open() throws -> TransferStore { try TransferStore(folder: folder) }

    var database: String { folder + "/dld.sqlite" }
}

let alice = UserID(1000)
let bob = UserID(1001)
let epoch = Timestamp(milliseconds: 1_800_000_000_000)

func after(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: epoch.rawValue + seconds * 1000) }

func status(_ state: TaskState, at time: Timestamp = epoch) -> TaskStatus {
    var status = TaskStatus(state: state, createdAt: epoch)
    switch state {
    case .queued, .running: status.budgetMark = 0
    case .waiting:
        status.budgetMark = 0
        status.reason = .retry
    case .paused: break
    case .completed, .cancelled: status.finishedAt = time
    case .failed:
        status.finishedAt = time
        status.error = TransferError(.networkDNS, "No such host.")
    }
    return status
}

func newTask(
    _ state: TaskState = .queued, owner: UserID = alice, session: String = SessionKey.sharedIdentifier,
    host: String = "https://example.org:443", url: String = "https://example.org/file", priority: Double? = nil
) -> NewTask {
    var spec = TaskSpec()
    spec.url = url
    spec.priority = priority.map { TaskPriority($0) }
    return NewTask(
        session: SessionKey(owner: owner, identifier: session), spec: spec, status: status(state), host: host)
}

func event(
    _ type: EventType = .taskQueued, task: TaskID? = nil, owner: UserID = alice, session: String = "shared",
    at time: Timestamp = epoch
) -> EventRecord {
    EventRecord(
        time: time, type: type, session: SessionKey(owner: owner, identifier: session), task: task)
}

extension TransferStore {
    @discardableResult
    func add(_ task: NewTask) async throws -> TaskID {
        try await write { try $0.insert(task).id }
    }
}

/// Runs `body` and returns the error that it must throw.
func transferError(
    _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> TransferError? {
    do {
        try await body()
        Issue.record("It did not throw.", sourceLocation: location)
        return nil
    } catch {
        if let error = error as? TransferError { return error }
        Issue.record("It threw \(error).", sourceLocation: location)
        return nil
    }
}

extension Connection {
    /// Runs `body` in a transaction.
    func write<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        var value: Value?
        try writing {
            value = try body(self)
            return true
        }
        return try #require(value)
    }

    /// The first column of all rows.
    func texts<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> [String] {
        try rows(sql, repeat each values).map { $0[0] }
    }

    /// All rows, with every value as text.
    func table(_ sql: String) throws -> [[String?]] {
        try rows(sql).map { row in (0..<row.count).map { row[$0] } }
    }

    /// Returns SQLite's plan for a query.
    func plan(_ sql: String, _ values: [any Bindable] = []) throws -> [String] {
        try rows("EXPLAIN QUERY PLAN " + sql, list: values).map { $0[3] }
    }
}

/// Checks that the counters, the lanes and their heads match a scan of the tasks.
func expectDerivedRowsAgree(_ database: Connection) throws {
    let counted = try database.table("SELECT session, state, count FROM task_count WHERE count > 0 ORDER BY 1, 2")
    let grouped = try database.table(
        "SELECT session, state, count(*) AS count FROM task GROUP BY 1, 2 ORDER BY 1, 2")
    #expect(counted == grouped)
    let lanes = try database.table("SELECT id, tasks, queued, head_priority, head_position FROM lane ORDER BY id")
    let scanned = try database.table(
        """
        SELECT t.lane AS id, count(*) AS tasks, sum(t.state = 'queued') AS queued,
            (SELECT priority FROM task NOT INDEXED WHERE lane = t.lane AND state = 'queued'
                ORDER BY priority DESC, position LIMIT 1) AS head_priority,
            (SELECT position FROM task NOT INDEXED WHERE lane = t.lane AND state = 'queued'
                ORDER BY priority DESC, position LIMIT 1) AS head_position
        FROM task t GROUP BY t.lane ORDER BY t.lane
        """)
    #expect(lanes == scanned)
    let mismatched = try database.integer(
        "SELECT count(*) FROM task JOIN lane ON lane.id = task.lane WHERE lane.session <> task.session")
    #expect(mismatched == 0)
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

import TransferModel
import TransferRPC

@testable import dlctl

/// Tasks and events for tests.
enum Sample {
    static let now = Timestamp(milliseconds: 1_773_146_096_000)

    static func task(
        _ id: Int64, _ name: String = "file.iso", _ state: TaskState = .running, received: Int64 = 0,
        expected: Int64? = nil
    ) -> FollowedTask {
        var task = FollowedTask(id: TaskID(id), name: name, state: state)
        task.received = ByteCount(received)
        task.expected = expected.map { ByteCount($0) }
        if state == .running { task.phase = .transferring }
        return task
    }

    /// One task in every state, phase and reason.
    static func everyKind() -> [FollowedTask] {
        var tasks: [FollowedTask] = []
        var next: Int64 = 1
        func add(_ state: TaskState, _ change: (inout FollowedTask) -> Void = { _ in }) {
            var sample = task(next, "name-\(next).iso", state, received: next * 1_000_000, expected: 900_000_000)
            change(&sample)
            tasks.append(sample)
            next += 1
        }
        for phase in TaskPhase.allCases {
            add(.running) {
                $0.phase = phase; $0.rate = 3_000_000; $0.remaining = 77
            }
        }
        add(.running) { $0.expected = nil }
        for reason in WaitReason.allCases {
            add(.waiting) {
                $0.reason = reason
                $0.nextAttemptAt = now.advanced(by: 12)
                $0.error = TransferError(.networkTimeout, "silent")
            }
        }
        for state in [TaskState.queued, .paused] { add(state) }
        return tasks
    }

    static func event(
        _ sequence: Int64?, _ type: EventType, _ task: Int64, _ payload: [String: JSONValue] = [:],
        at time: Timestamp = now
    ) -> EventView {
        EventView(
            EventRecord(
                sequence: sequence.map { SequenceNumber($0) }, time: time, type: type,
                session: .shared(of: UserID(1000)), task: TaskID(task), payload: JSONMembers(payload)))
    }

    static func record(_ id: Int64, _ state: TaskState = .running) -> TaskRecord {
        var spec = TaskSpec()
        spec.url = "https://example.org/pool/file-\(id).iso?token=1"
        var destination = Destination()
        destination.directory = "/home/u"
        spec.destination = destination
        return TaskRecord(
            id: TaskID(id), session: .shared(of: UserID(1000)), spec: spec,
            status: TaskStatus(state: state, createdAt: now.advanced(by: -90)), host: "https://example.org:443",
            position: Double(id))
    }

    static func view(_ id: Int64, _ state: TaskState = .running) -> TaskView {
        var record = record(id, state)
        if state == .waiting {
            record.status.reason = .network
            record.status.error = TransferError(.networkConnect, "connection refused")
            record.status.nextAttemptAt = now.advanced(by: 30)
        }
        if state == .failed { record.status.error = TransferError(.httpStatus, "404 Not Found") }
        if state == .completed {
            record.result = TaskResult(file: "/home/u/file-\(id).iso", bytes: ByteCount(5_000_000), verified: true)
        }
        record.response = ResponseInfo(
            url: "https://cdn.example.org/f", status: 200, statusText: "ok",
            headers: [HeaderField("ETag", "\"x\"")], mimeType: "application/octet-stream", expectedLength: 5_000_000)
        let live = LiveFigures(
            phase: .transferring, bytesReceived: 1_000_000, bytesExpected: 5_000_000, rate: 250_000, eta: 16)
        return TaskView(record, live: state == .running ? live : nil)
    }
}

extension ListedTasks {
    /// Returns one page of `tasks`, which must be in the order of their ids. The cursor is a number of tasks.
    init(paging tasks: [TaskView], _ query: ListTasks) {
        var selected = tasks.filter { query.states?.contains($0.state) ?? true }
        if query.order == .activity {
            func rank(_ state: TaskState) -> Int {
                switch state {
                case .running: 0
                case .queued, .waiting: 1
                case .paused: 2
                case .completed, .failed, .cancelled: 3
                }
            }
            selected = (0...3).flatMap { stage in selected.filter { rank($0.state) == stage } }
        }
        let start = query.cursor.flatMap { Int($0) } ?? 0
        let end = min(selected.count, start + (query.limit ?? ListTasks.defaultLimit))
        self.init(
            tasks: start < end ? Array(selected[start..<end]) : [], total: query.match == nil ? selected.count : nil,
            nextCursor: end < selected.count ? "\(end)" : nil)
    }
}

import TransferModel

@testable import dld_fleet

/// The tasks, files and events of one dld; they outlive its process.
final class ModelDld {
    struct Task {
        let id: TaskID
        let key: JobKey
        let host: String
        var marks: TaskMarks
        var state = TaskState.queued
        var wait: Wait?
        var error: JobError?
        /// Grows with each change, so that what was planned before is void.
        var turn = 0
        var isAnswered = false
        var keepsBytes = false
    }

    var isUp = true
    var tasks: [TaskID: Task] = [:]
    var log: [TaskEvent] = []
    var acknowledged: Int64 = 0
    /// The delivered files by job, and whose they are.
    var files: [Int64: JobKey] = [:]
    private var tokens: [JobKey: TaskID] = [:]

    var list: [LocalTask] {
        tasks.values.sorted { $0.id < $1.id }.map {
            LocalTask(id: $0.id, key: $0.key, marks: $0.marks, state: $0.state, wait: $0.wait)
        }
    }

    func add(_ job: LeasedJob, _ marks: TaskMarks) -> Input.AddAnswer {
        if let known = tokens[job.key] { return tasks[known].map { .task(known, $0.state) } ?? .removed }
        let id = TaskID(Int64(tokens.count + 1))
        tokens[job.key] = id
        tasks[id] = Task(id: id, key: job.key, host: job.host, marks: marks)
        return .task(id, .queued)
    }

    /// Appends the event of a change; ends carry the token.
    func record(_ id: TaskID, _ change: TaskEvent.Change) -> TaskEvent {
        var key: JobKey?
        if case .state(let state, _) = change, state == .completed || state == .failed { key = tasks[id]?.key }
        let event = TaskEvent(sequence: Int64(log.count + 1), task: id, key: key, change: change)
        log.append(event)
        return event
    }

    func report(_ id: TaskID) -> EndReport? {
        guard let task = tasks[id] else { return nil }
        return EndReport(state: task.state, marks: task.marks, file: "/d/\(task.key.id)", size: 1, error: task.error)
    }

    func remove(_ id: TaskID, deleteFile: Bool) {
        guard let task = tasks.removeValue(forKey: id) else { return }
        if deleteFile, task.state == .completed, files[task.key.id] == task.key { files[task.key.id] = nil }
    }
}

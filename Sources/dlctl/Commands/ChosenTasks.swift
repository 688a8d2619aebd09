import TransferModel
import TransferRPC

/// Finds the tasks named by ids and ranges. Of a range, only the existing tasks count.
struct ChosenTasks {
    var choice: TaskChoice
    var owner: OwnerScope?
    var client: any DaemonCalling
    var console: Console

    /// Passes on every task, page by page. Reports which ids of a range name no task.
    /// - Throws: the refusal of an id that names no task, or of a range without tasks.
    func pages(_ take: ([TaskView]) async throws -> Void) async throws {
        for piece in choice.pieces {
            switch piece {
            case .task(let id): try await take([try await client.call(Methods.getTask, .init(id: id))])
            case .range(let range):
                let found = try await pages(range, take)
                try Self.report(missing: found.gaps(in: range), in: range, console)
            }
        }
    }

    func all() async throws -> [TaskView] {
        var tasks: [TaskView] = []
        try await pages { tasks += $0 }
        return tasks
    }

    /// Calls `body` for every task. If one of several tasks is refused, this is reported and the others continue.
    /// - Throws: `CommandFailure.refusedSome`; for a single task, the refusal.
    func forEach(_ body: (TaskID) async throws -> Void) async throws {
        if let id = choice.single { return try await body(id) }
        var isComplete = true
        func attempt(_ id: TaskID) async throws {
            do {
                try await body(id)
            } catch let error as TransferError {
                console.report(.refused(error))
                isComplete = false
            }
        }
        for piece in choice.pieces {
            switch piece {
            case .task(let id): try await attempt(id)
            case .range(let range):
                let found = try await pages(range) { for task in $0 { try await attempt(task.id) } }
                do {
                    try Self.report(missing: found.gaps(in: range), in: range, console)
                } catch let error as TransferError {
                    console.report(.refused(error))
                    isComplete = false
                }
            }
        }
        if !isComplete { throw CommandFailure.refusedSome }
    }

    /// - Returns: the ids that exist.
    private func pages(
        _ range: ClosedRange<TaskID>, _ take: ([TaskView]) async throws -> Void
    ) async throws -> TaskRanges {
        var query = ListTasks(range: TaskRange(range), limit: ListTasks.largestLimit, owner: owner)
        var found = TaskRanges()
        repeat {
            let page = try await client.call(Methods.listTasks, query)
            found.append(TaskRanges(page.tasks.map(\.id)))
            try await take(page.tasks)
            query.cursor = page.nextCursor
        } while query.cursor != nil
        return found
    }

    /// - Throws: `task.not_found` if no task of the range exists.
    static func report(missing: TaskRanges, in range: ClosedRange<TaskID>, _ console: Console) throws {
        if missing.ranges == [range] { throw TransferError.noTask(in: range) }
        if !missing.isEmpty { console.remark("no such tasks: \(missing.text)") }
    }
}

extension TransferError {
    static func noTask(in range: ClosedRange<TaskID>) -> TransferError {
        TransferError(.taskNotFound, "There is no task from \(range.lowerBound) to \(range.upperBound).")
    }
}

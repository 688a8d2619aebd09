import ArgumentParser
import TransferModel
import TransferRPC

/// Selects the tasks of a control command.
struct SelectionOptions: ParsableArguments {
    @Argument(help: .init("Tasks by id, or ranges of ids such as 3-7.", valueName: "id"), completion: .tasks)
    var ids: [TaskArgument] = []

    @Option("All tasks of this session.", "session", short: "s", completion: .sessions)
    var session: String?

    @Flag(help: "All tasks.")
    var all = false

    @Option("Only tasks in this state; may be repeated.", "state")
    var state: [TaskState] = []

    @OptionGroup var owner: OwnerOptions

    func validate() throws {
        let ways = [!ids.isEmpty, session != nil, all].count { $0 }
        if ways == 0 { throw ValidationError("Name task ids, a session with -s, or --all.") }
        if ways > 1 { throw ValidationError("Use only one of task ids, -s and --all.") }
    }

    var choice: TaskChoice { TaskChoice(ids) }

    /// Calls a control method for the selection: once for ids, and once for each piece of a range.
    func control<M: RPCMethod>(
        _ method: M, _ command: CommandSession, _ parameters: (ControlSelection) -> M.Parameters
    ) async throws -> ControlOutcome where M.Result == ControlResult {
        let client = try await command.connect()
        let states = state.isEmpty ? nil : state
        var outcome = ControlOutcome(areNamed: !ids.isEmpty)
        let ids = choice.ids
        if choice.ranges.isEmpty || !ids.isEmpty {
            let selection = ControlSelection(
                ids: ids.isEmpty ? nil : ids, session: session, all: all ? true : nil, states: states,
                owner: owner.scope)
            outcome.named = try await client.call(method, parameters(selection))
            if outcome.areNamed {
                for task in outcome.named.skipped where task.code == .taskWrongState {
                    outcome.states[task.id] = try? await client.call(Methods.getTask, .init(id: task.id)).state
                }
            }
        }
        for range in choice.ranges {
            var found = TaskRanges()
            for piece in try await pieces(of: range, client) {
                // With every state named, the answer contains all existing tasks. The other ids do not exist.
                let selection = ControlSelection(
                    range: TaskRange(piece), states: states ?? TaskState.allCases, owner: owner.scope)
                let result = try await client.call(method, parameters(selection))
                found.append(TaskRanges(result.changed + result.skipped.map(\.id)))
                outcome.addRanged(result)
            }
            outcome.note(range, found, isComplete: states == nil)
        }
        await client.close()
        return outcome
    }

    /// The most ids in one call, because its answer names each task.
    private static let longestPiece: Int64 = 10_000

    /// Divides a range into pieces, up to the last existing task.
    private func pieces(
        of range: ClosedRange<TaskID>, _ client: any DaemonCalling
    ) async throws -> [ClosedRange<TaskID>] {
        var query = ListTasks(range: TaskRange(range), order: .oldest, limit: 1, owner: owner.scope)
        let oldest = try await client.call(Methods.listTasks, query).tasks.first
        query.order = .newest
        guard let oldest, let newest = try await client.call(Methods.listTasks, query).tasks.first else { return [] }
        return stride(from: oldest.id.rawValue, through: newest.id.rawValue, by: Int(Self.longestPiece)).map {
            TaskID($0)...TaskID(min($0 + Self.longestPiece - 1, newest.id.rawValue))
        }
    }
}

/// The effect of a control command on the tasks it named, and on ranges of ids.
struct ControlOutcome: Hashable {
    var areNamed: Bool
    var named = ControlResult()
    /// The states of tasks whose state does not allow the command.
    var states: [TaskID: TaskState] = [:]
    private(set) var ranged: ControlResult?
    private(set) var missing = TaskRanges()
    /// Ranges without tasks.
    private(set) var empty: [ClosedRange<TaskID>] = []

    mutating func addRanged(_ result: ControlResult) {
        var sum = ranged ?? ControlResult()
        sum.changed += result.changed
        sum.skipped += result.skipped
        if let files = result.files { sum.files = (sum.files ?? []) + files }
        if let warnings = result.warnings { sum.warnings = (sum.warnings ?? []) + warnings }
        ranged = sum
    }

    /// - Parameter isComplete: `found` contains all tasks of the range, in every state.
    mutating func note(_ range: ClosedRange<TaskID>, _ found: TaskRanges, isComplete: Bool) {
        if ranged == nil { ranged = ControlResult() }
        if found.isEmpty { empty.append(range) } else if isComplete { missing.append(found.gaps(in: range)) }
    }

    /// The combined result, as `--json` prints it.
    var result: ControlResult {
        var whole = ControlOutcome(areNamed: areNamed)
        whole.addRanged(named)
        if let ranged { whole.addRanged(ranged) }
        return whole.ranged ?? ControlResult()
    }

    /// Prints the result.
    /// - Throws: `CommandFailure.refusedSome` if a task named by its id was not changed, or if a range has no task.
    func report(_ verb: String, _ console: Console) throws {
        if console.json {
            console.value(result)
        } else if !console.quiet {
            lines(verb).forEach { console.line($0) }
        }
        for warning in result.warnings ?? [] { console.remark("\(warning.id): \(warning.message)") }
        if !missing.isEmpty { console.remark("no such tasks: \(missing.text)") }
        let refusals = refusals
        if console.json {
            for refusal in refusals { console.report(.refused(refusal.error)) }
        } else {
            for refusal in refusals { console.complain(refusal.line) }
        }
        if !refusals.isEmpty { throw CommandFailure.refusedSome }
    }

    func lines(_ verb: String) -> [StyledText] {
        var lines: [StyledText] = []
        if areNamed {
            lines += named.changed.map { StyledText("\(verb) \($0)") }
        } else {
            var text = "\(verb) \(Figures.count(named.changed.count, "task"))"
            if !named.skipped.isEmpty { text += ", left \(named.skipped.count) as they are" }
            lines.append(StyledText(text))
        }
        if let ranged {
            if !ranged.changed.isEmpty { lines.append(StyledText("\(verb) \(TaskRanges(ranged.changed).text)")) }
            let left = ranged.skipped.filter { $0.code == .taskWrongState }.map(\.id)
            if !left.isEmpty { lines.append(StyledText("left as they are: \(TaskRanges(left).text)")) }
        }
        return lines
    }

    /// A line for users, and the error for programs.
    private typealias Refusal = (line: String, error: TransferError)

    private var refusals: [Refusal] {
        var refusals: [Refusal] = []
        if areNamed {
            refusals += named.skipped.map { task in
                var refusal = Self.refusal("\(task.id)", task.code, states[task.id])
                if task.code == .taskNotFound { refusal.error.message = "There is no task \(task.id)." }
                refusal.error.details["task"] = .integer(task.id.rawValue)
                return refusal
            }
        }
        let refused = Dictionary(grouping: ranged?.skipped ?? [], by: \.code)
        for (code, tasks) in refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where code != .taskWrongState {
            refusals.append(Self.refusal(TaskRanges(tasks.map(\.id)).text, code))
        }
        return refusals
            + empty.map { range in
                let error = TransferError.noTask(in: range)
                return ("refused (task.not_found): \(error.message)", error)
            }
    }

    private static func refusal(_ tasks: String, _ code: ErrorCode, _ state: TaskState? = nil) -> Refusal {
        let why = why(code, state)
        return ("\(tasks): refused (\(code.rawValue)): \(why)", TransferError(code, "\(tasks): \(why)"))
    }

    private static func why(_ code: ErrorCode, _ state: TaskState?) -> String {
        if code == .taskWrongState, let state { return "it is \(state.rawValue)" }
        if code == .limitReached { return "its owner already has as many tasks as maximumQueuedTasksPerUser allows" }
        return code == .taskWrongState ? "its state does not allow this; see dlctl show" : code.summary
    }
}

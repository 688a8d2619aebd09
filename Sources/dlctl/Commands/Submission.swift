import TransferModel
import TransferRPC

/// Hands specs to the daemon and says what became of them: what `add`, `upload` and `fetch` share.
struct Submission {
    var specs: [TaskSpec]
    /// Identifier of the session; nil = the shared one.
    var session: String?
    /// Shows progress and ends with the tasks.
    var waits: Bool

    /// - Throws: what the daemon refuses; `CommandFailure.taskFailed` where it waits and one fails.
    func run(_ client: any DaemonCalling, _ command: CommandSession) async throws {
        let head =
            waits ? try await client.call(ListEvents.self, ListEvents.Parameters(after: .now, limit: 1)).head : nil
        let added = try await send(over: client)
        try announce(added, command)
        guard let head else { return await client.close() }
        try await Following.untilOver(try await known(added, client), after: head, client, command)
    }

    func send(over client: any DaemonCalling) async throws -> [AddTasks.Added] {
        var added: [AddTasks.Added] = []
        var rest = specs[...]
        while !rest.isEmpty {
            let part = Self.request(of: rest)
            do {
                let answer = try await client.call(AddTasks.self, AddTasks.Parameters(session: session, tasks: part))
                added += answer.tasks
            } catch let error as TransferError where !added.isEmpty {
                throw TransferError(
                    error.code, "\(error.message) (The first \(added.count) tasks were queued.)",
                    retryable: error.retryable, details: error.details)
            }
            rest = rest.dropFirst(part.count)
        }
        return added
    }

    /// As many as fit into one line of the socket: digests of pieces make some specs long.
    static func request(of specs: ArraySlice<TaskSpec>) -> [TaskSpec] {
        var part: [TaskSpec] = []
        var length = 0
        for spec in specs.prefix(AddPlan.largestRequest) {
            length += spec.pieces.map { ($0.algorithm.hexLength + 3) * $0.values.count } ?? 0
            if length > AddPlan.longestPieces, !part.isEmpty { break }
            part.append(spec)
        }
        return part
    }

    private func announce(_ added: [AddTasks.Added], _ command: CommandSession) throws {
        let console = command.console
        if console.json { return try console.value(AddTasks.Result(tasks: added)) }
        if waits { return }
        for (task, spec) in zip(added, specs) {
            var line = StyledText(task.id.description, .strong)
            if console.outputIsTerminal, !console.quiet {
                line.append("  \(TaskName.of(spec))", .plain)
                if let place = Self.place(spec) { line.append("  → " + Printable.text(place), .faint) }
            }
            console.line(line)
        }
    }

    private static func place(_ spec: TaskSpec) -> String? {
        switch spec.kind {
        case .download: spec.destination?.directory ?? spec.destination?.path.map(PathText.folder)
        case .upload: spec.url
        case .data: nil
        }
    }

    func known(_ added: [AddTasks.Added], _ client: any DaemonCalling) async throws -> [FollowedTask] {
        var known = zip(added, specs).map { added, spec in
            var task = FollowedTask(id: added.id, name: TaskName.of(spec), state: added.state)
            task.isNameOpen = TaskName.isOpen(spec)
            task.isUpload = spec.kind == .upload
            return task
        }
        // A client token may have named a task that runs or is over already; its events are in the past.
        for index in known.indices where known[index].state.isFinal || known[index].state == .running {
            known[index] = FollowedTask(try await client.call(GetTask.self, TaskReference(id: known[index].id)))
        }
        return known
    }
}

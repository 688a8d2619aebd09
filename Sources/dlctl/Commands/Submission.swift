import TransferModel
import TransferRPC

/// Sends specs to the daemon and reports the result. Shared by `add`, `upload` and `fetch`.
struct Submission<Specs: RandomAccessCollection<TaskSpec>> where Specs.Index == Int {
    /// Sent in parts. There may be millions of specs, and each is made only when it is needed.
    var specs: Specs
    /// The identifier of the session; nil for the shared one.
    var session: String?
    /// Shows progress and ends when the tasks end.
    var waits: Bool
    /// Called for each cookie that the daemon refuses. The tasks are added without it.
    var leavesOut: (Cookie, TransferError) -> Void = { _, _ in }

    /// - Throws: the daemon's refusal; `CommandFailure.taskFailed` if it waits and a task fails.
    func run(_ client: any DaemonCalling, _ command: CommandSession) async throws {
        let head = waits ? try await client.head() : nil
        let added = try await send(over: client) { announce($0, $1, command) }
        if command.console.json {
            command.console.value(AddedTasks(tasks: added))
        } else {
            (added.repeats + added.doubles(for: command.asker)).forEach(command.console.remark)
        }
        guard let head else { return await client.close() }
        try await command.follow(try await known(added, client), after: head, client)
    }

    /// - Parameter stored: called for each part.
    func send(
        over client: any DaemonCalling, stored: ([AddedTask], [TaskSpec]) -> Void = { _, _ in }
    ) async throws -> [AddedTask] {
        var added: [AddedTask] = []
        var rest = specs[...]
        var refused: Set<Cookie> = []
        while !rest.isEmpty {
            var part = rest.firstRequest
            for index in part.indices { part[index].leaveOut(refused) }
            do {
                let answer = try await client.call(Methods.addTasks, AddTasks(session: session, tasks: part))
                added += answer.tasks
                stored(answer.tasks, part)
            } catch let error as TransferError {
                if let cookie = Self.cookie(in: part, error) {
                    leavesOut(cookie, error)
                    refused.insert(cookie)
                    continue
                }
                throw refusal(error, at: rest.startIndex, after: added.count)
            }
            rest = rest.dropFirst(part.count)
        }
        return added
    }

    /// Returns the cookie that was refused.
    static func cookie(in part: [TaskSpec], _ error: TransferError) -> Cookie? {
        guard error.code == .badField, let field = error.details["field"]?.stringValue,
            let task = CommandWords.taskIndex(error), part.indices.contains(task),
            let index = Cookie.index(in: field, after: "tasks[\(task)]."),
            let cookies = part[task].cookies, cookies.indices.contains(index)
        else { return nil }
        return cookies[index]
    }

    /// Names the task that was refused if there are several, and says how many were queued before.
    private func refusal(_ error: TransferError, at start: Int, after queued: Int) -> CommandFailure {
        var error = error
        if queued > 0 { error.message += " (The first \(queued) tasks were queued.)" }
        guard specs.count > 1, let index = CommandWords.taskIndex(error), specs.indices.contains(start + index)
        else {
            return .refused(error)
        }
        let place = start + index
        return .refused(error, about: "task \(place + 1) of \(specs.count), \(TaskName.of(specs[place]))")
    }

    private func announce(_ added: [AddedTask], _ specs: [TaskSpec], _ command: CommandSession) {
        let console = command.console
        if waits || console.json { return }
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

    func known(_ added: [AddedTask], _ client: any DaemonCalling) async throws -> [FollowedTask] {
        var known = zip(added, specs).map { added, spec in
            var task = FollowedTask(id: added.id, name: TaskName.of(spec), state: added.state)
            task.isNameOpen = TaskName.isOpen(spec)
            task.isUpload = spec.kind == .upload
            return task
        }
        // A client token may name a task that is running or over already. Its events are in the past. And only the
        // daemon can read resume data.
        for index in known.indices
        where known[index].state.isFinal || known[index].state == .running
            || added[index].removed != true
                && specs[specs.startIndex + index].resumeData != nil
        {
            // Nothing else is known of a removed task.
            if added[index].removed == true { continue }
            known[index] = FollowedTask(try await client.call(Methods.getTask, .init(id: known[index].id)))
        }
        return known
    }
}

extension Collection<TaskSpec> {
    /// As many specs as fit into one line of the socket. Digests of pieces make some specs long.
    var firstRequest: [TaskSpec] {
        var part: [TaskSpec] = []
        var length = 0
        for spec in prefix(AddPlan.largestRequest) {
            length += spec.pieces.map { ($0.algorithm.hexLength + 3) * $0.values.count } ?? 0
            if length > AddPlan.longestPieces, !part.isEmpty { break }
            part.append(spec)
        }
        return part
    }
}

extension [AddedTask] {
    /// Remarks on tasks that their client tokens added before.
    var repeats: [String] {
        filter { $0.existing == true }.map { task in
            task.removed == true
                ? "\(task.id): added before with this client token, and removed since; nothing was queued"
                : "\(task.id): added before with this client token; it is \(task.state.rawValue)"
        }
    }

    /// Remarks on tasks whose URL was queued already.
    func doubles(for asker: Asker) -> [String] {
        let shown = 5
        let doubles = filter { $0.duplicateOf != nil }
        guard !doubles.isEmpty else { return [] }
        var lines = doubles.prefix(shown).map { task in
            "\(task.id): this URL is already queued as \(task.duplicateOf ?? task.id)"
        }
        if doubles.count > shown { lines.append("… and \(doubles.count - shown) more") }
        let ids = doubles.prefix(shown).map { "\($0.id)" } + (doubles.count > shown ? ["…"] : [])
        let cancel = asker.command("dlctl cancel \(ids.joined(separator: " "))")
        return lines + ["\(cancel) drops the new task\(doubles.count == 1 ? "" : "s") again"]
    }
}

extension TaskSpec {
    mutating func leaveOut(_ refused: Set<Cookie>) {
        guard !refused.isEmpty, let own = cookies else { return }
        let rest = own.filter { !refused.contains($0) }
        cookies = rest.isEmpty ? nil : rest
    }
}

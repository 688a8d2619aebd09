import ArgumentParser
import TransferModel
import TransferRPC

struct AddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Queue downloads; print their ids.",
        discussion: """
            Files go to the current folder unless -o, -d or the session says otherwise. The command answers when the \
            tasks are stored; they go on without it. With -w it stays and shows progress.

            A LIST (-i) has one URL a line and # comments. Indented lines below a URL set out=, dir=, checksum= and \
            header= for it.

            EXAMPLES:
              dlctl add https://example.org/file.iso
              dlctl add -w -o disk.iso --checksum sha-256:9f86d0… URL
              dlctl add -d ~/Downloads --limit 2M --at 22:30 URL URL
              grep -o 'https://[^"]*' page.html | dlctl add -i - -w
            """)

    @Argument(help: ArgumentHelp("What to download.", valueName: "url"))
    var urls: [String] = []

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: ArgumentHelp("Read URLs from this list; - is standard input.", valueName: "list"), completion: .file())
    var input: [String] = []

    @Flag(name: [.short, .long], help: "Show progress and wait; the exit status tells how it ended.")
    var wait = false

    @OptionGroup(title: "Saving") var saving: SavingOptions
    @OptionGroup(title: "Scheduling") var scheduling: SchedulingOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if urls.isEmpty, input.isEmpty, saving.resumeData == nil {
            throw ValidationError("Name a URL, or a list with -i.")
        }
        let readers = [input.contains("-"), request.readsStandardInput, saving.resumeData == "-"].count { $0 }
        if readers > 1 { throw ValidationError("Only one of the options can read standard input.") }
    }

    func run(_ session: CommandSession) async throws {
        var plan = try plan(session)
        _ = try plan.specs()
        let client = try await session.connect()
        plan.sessionHasDirectory = try await sessionNamesFolder(client)
        let specs = try plan.specs()
        let head =
            wait ? try await client.call(ListEvents.self, ListEvents.Parameters(after: .now, limit: 1)).head : nil
        let added = try await send(specs, over: client)
        try announce(added, specs, session)
        guard let head else { return await client.close() }
        try await follow(added, specs, after: head, client, session)
    }

    private func plan(_ session: CommandSession) throws -> AddPlan {
        var plan = AddPlan(urls: urls, currentFolder: session.currentFolder)
        for path in input {
            let bytes = try InputFile.read(path)
            do {
                plan.entries += try ListFile.parse(bytes, file: path == "-" ? "standard input" : path)
            } catch {
                throw CommandFailure.usage(error.description)
            }
        }
        scheduling.apply(to: &plan.template)
        try Secrets(session: session).apply(request, to: &plan.template)
        plan.output = saving.output
        plan.directory = saving.directory
        plan.checksum = saving.checksum?.checksum
        plan.conflictPolicy = saving.onConflict
        plan.preserveTime = saving.preserveTime
        plan.clientToken = scheduling.clientToken
        if let path = saving.resumeData {
            plan.resumeData = String(decoding: try InputFile.read(path), as: UTF8.self).filter { !$0.isWhitespace }
        }
        return plan
    }

    private func sessionNamesFolder(_ client: any DaemonCalling) async throws -> Bool {
        guard let name = scheduling.session, saving.output == nil, saving.directory == nil else { return false }
        let view = try await client.call(GetSession.self, SessionReference(id: name))
        return view.configuration.directory != nil
    }

    private func send(_ specs: [TaskSpec], over client: any DaemonCalling) async throws -> [AddTasks.Added] {
        var added: [AddTasks.Added] = []
        var rest = specs[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(AddPlan.largestRequest))
            do {
                let answer = try await client.call(
                    AddTasks.self, AddTasks.Parameters(session: scheduling.session, tasks: part))
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

    private func announce(_ added: [AddTasks.Added], _ specs: [TaskSpec], _ session: CommandSession) throws {
        let console = session.console
        if console.json { return try console.value(AddTasks.Result(tasks: added)) }
        if wait { return }
        for (task, spec) in zip(added, specs) {
            var line = StyledText(task.id.description, .strong)
            if console.outputIsTerminal, !console.quiet {
                line.append("  \(TaskName.of(spec))", .plain)
                let place = spec.destination?.directory ?? spec.destination?.path.map(PathText.folder)
                if let place { line.append("  → " + Printable.text(place), .faint) }
            }
            console.line(line)
        }
    }

    private func follow(
        _ added: [AddTasks.Added], _ specs: [TaskSpec], after head: SequenceNumber, _ client: any DaemonCalling,
        _ session: CommandSession
    ) async throws {
        var known = zip(added, specs).map { added, spec in
            var task = FollowedTask(id: added.id, name: TaskName.of(spec), state: added.state)
            task.isNameOpen = TaskName.isOpen(spec)
            return task
        }
        // A client token may have named a task that runs or is over already; its events are in the past.
        for index in known.indices where known[index].state.isFinal || known[index].state == .running {
            known[index] = FollowedTask(try await client.call(GetTask.self, TaskReference(id: known[index].id)))
        }
        try await Following.untilOver(known, after: head, client, session)
    }
}

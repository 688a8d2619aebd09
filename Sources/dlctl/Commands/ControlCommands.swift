import ArgumentParser
import FoundationEssentials
import TransferModel
import TransferRPC

struct PauseCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop tasks; they keep their bytes.")
    @OptionGroup var selection: SelectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await selection.control(Methods.pauseTasks, session) { $0 }.report("paused", session.console)
    }
}

struct ResumeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "Resume paused tasks.")
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Run these tasks on any network and on battery from now on, paused or not; only tasks named by id.")
    var anyway = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if anyway, selection.choice.ids.isEmpty || !selection.choice.ranges.isEmpty || !selection.state.isEmpty {
            throw ValidationError("--anyway takes ids of tasks.")
        }
    }

    func run(_ session: CommandSession) async throws {
        if anyway { return try await runAnyway(session) }
        try await selection.control(Methods.resumeTasks, session) { $0 }.report("resumed", session.console)
    }

    /// The tasks get values of their own, so that this lasts whatever their sessions say.
    private func runAnyway(_ session: CommandSession) async throws {
        let client = try await session.connect()
        var outcome = ControlOutcome(areNamed: true)
        for id in selection.choice.ids {
            var change = UpdateTask(id: id)
            (change.allowsExpensiveNetworkAccess, change.allowsCellularAccess) = (true, true)
            (change.allowsConstrainedNetworkAccess, change.isDiscretionary) = (true, false)
            do {
                let task = try await client.call(Methods.updateTask, change)
                if task.state == .paused {
                    _ = try await client.call(Methods.resumeTasks, ControlSelection(ids: [id]))
                }
                outcome.named.changed.append(id)
            } catch let error as TransferError where error.code == .taskNotFound || error.code == .taskWrongState {
                outcome.named.skipped.append(.init(id: id, code: error.code))
                outcome.states[id] = error.details["state"]?.stringValue.flatMap(TaskState.init(rawValue:))
            }
        }
        await client.close()
        try outcome.report("resumed", session.console)
    }
}

struct RetryCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try failed, cancelled and waiting tasks now.")
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "If the file has changed since it was added, send it as it is now, from the beginning.")
    var sourceChanged = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        try await selection.control(Methods.retryTasks, session) {
            RetryTasks($0, sourceChanged: sourceChanged ? true : nil)
        }
        .report("queued", session.console)
    }
}

struct CancelCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "End tasks and remove their partial files.")
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Keep the partial file, so that 'retry' resumes from it.")
    var keepPartial = false

    @Option(
        "Write this file, or replace it, for 'add --resume-data', and keep the partial file; one task only.", "file",
        completion: .file())
    var resumeData: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if resumeData != nil, selection.choice.single == nil {
            throw ValidationError("--resume-data takes exactly one id.")
        }
    }

    func run(_ session: CommandSession) async throws {
        if let resumeData, let id = selection.choice.single {
            return try await takeResumeData(id, into: resumeData, session)
        }
        try await selection.control(Methods.cancelTasks, session) {
            CancelTasks($0, keepPartial: keepPartial ? true : nil)
        }
        .report("cancelled", session.console)
    }

    private func takeResumeData(_ id: TaskID, into path: String, _ session: CommandSession) async throws {
        let result = try await session.call(Methods.takeResumeData, TaskReference(id: id))
        if path == "-" { return session.console.line(result.resumeData) }
        // Private, because URLs may be signed.
        guard WholeFile.write(result.resumeData + "\n", to: session.absolute(path)) else {
            session.console.line(result.resumeData)
            throw CommandFailure.local("\(path) cannot be written, so the resume data is printed above")
        }
        session.console.remark(
            "cancelled \(id); resume it with: "
                + session.asker.command("dlctl add --resume-data \(path)"))
        if session.console.json { session.console.value(result) }
    }
}

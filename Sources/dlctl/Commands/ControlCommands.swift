import ArgumentParser
import FoundationEssentials
import TransferModel
import TransferRPC

/// Which tasks a control command means.
struct SelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Tasks by id.", valueName: "id"))
    var ids: [TaskID] = []

    @Option(name: .shortAndLong, help: ArgumentHelp("All tasks of this session.", valueName: "session"))
    var session: String?

    @Flag(help: "All tasks.")
    var all = false

    @Option(help: ArgumentHelp("Of those, only tasks in this state; may be repeated.", valueName: "state"))
    var state: [TaskState] = []

    @OptionGroup var owner: OwnerOptions

    func validate() throws {
        let ways = [!ids.isEmpty, session != nil, all].count { $0 }
        if ways != 1 { throw ValidationError("Name task ids, or a session with -s, or --all.") }
    }

    var selection: ControlSelection {
        ControlSelection(
            ids: ids.isEmpty ? nil : ids, session: session, all: all ? true : nil, states: state.isEmpty ? nil : state,
            owner: owner.scope)
    }
}

/// Says what a control method did.
enum ControlReport {
    /// - Throws: `CommandFailure.refusedSome` where a task named by its id was left as it is.
    static func print(_ outcome: ControlResult, _ verb: String, byID: Bool, _ console: Console) throws {
        if console.json {
            try console.value(outcome)
        } else if !console.quiet {
            lines(outcome, verb, byID: byID).forEach { console.line($0) }
        }
        for warning in outcome.warnings ?? [] { console.remark("\(warning.id): \(warning.message)") }
        guard byID, !outcome.skipped.isEmpty else { return }
        if !console.json { console.complain(summary(outcome)) }
        throw CommandFailure.refusedSome
    }

    static func lines(_ outcome: ControlResult, _ verb: String, byID: Bool) -> [StyledText] {
        if byID { return outcome.changed.map { StyledText("\(verb) \($0)") } }
        var text = "\(verb) \(Figures.count(outcome.changed.count, "task"))"
        if !outcome.skipped.isEmpty { text += ", left \(outcome.skipped.count) as they are" }
        return [StyledText(text)]
    }

    private static func summary(_ outcome: ControlResult) -> String {
        outcome.skipped.map { "\($0.id): refused (\($0.code.rawValue)): \(why($0.code))" }.joined(separator: "\n")
    }

    private static func why(_ code: ErrorCode) -> String {
        if code == .limitReached { return "its owner has as many tasks as maximumQueuedTasksPerUser allows" }
        return code == .taskWrongState ? "its state does not allow this; see dlctl show" : code.summary
    }
}

struct PauseCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop tasks for now; they keep what they have.")
    @OptionGroup var selection: SelectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let outcome = try await session.call(PauseTasks.self, selection.selection)
        try ControlReport.print(outcome, "paused", byID: !selection.ids.isEmpty, session.console)
    }
}

struct ResumeCommand: DaemonCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "Let paused tasks go on.")
    @OptionGroup var selection: SelectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let outcome = try await session.call(ResumeTasks.self, selection.selection)
        try ControlReport.print(outcome, "resumed", byID: !selection.ids.isEmpty, session.console)
    }
}

struct RetryCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Try failed, cancelled and waiting tasks now.")
    @OptionGroup var selection: SelectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let outcome = try await session.call(RetryTasks.self, selection.selection)
        try ControlReport.print(outcome, "queued", byID: !selection.ids.isEmpty, session.console)
    }
}

struct CancelCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "End tasks for good; partial files are removed.")
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Keep the partial file, so that 'retry' goes on from it.")
    var keepPartial = false

    @Option(
        help: ArgumentHelp(
            "Write what 'add --resume-data' needs to take the download up again, and keep the partial file; one task.",
            valueName: "file"), completion: .file())
    var resumeData: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if resumeData != nil, selection.ids.count != 1 { throw ValidationError("--resume-data takes exactly one id.") }
    }

    func run(_ session: CommandSession) async throws {
        if let resumeData, let id = selection.ids.first {
            return try await takeResumeData(id, into: resumeData, session)
        }
        let outcome = try await session.call(
            CancelTasks.self, CancelTasks.Parameters(selection.selection, keepPartial: keepPartial ? true : nil))
        try ControlReport.print(outcome, "cancelled", byID: !selection.ids.isEmpty, session.console)
    }

    private func takeResumeData(_ id: TaskID, into path: String, _ session: CommandSession) async throws {
        let result = try await session.call(TakeResumeData.self, TaskReference(id: id))
        if path == "-" { return session.console.line(result.resumeData) }
        do {
            try Data((result.resumeData + "\n").utf8).write(to: URL(filePath: session.absolute(path)), options: .atomic)
        } catch {
            session.console.line(result.resumeData)
            throw CommandFailure.local("\(path) cannot be written, so the resume data is printed above")
        }
        session.console.remark("cancelled \(id); go on with: dlctl add --resume-data \(path)")
        if session.console.json { try session.console.value(result) }
    }
}

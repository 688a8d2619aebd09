import ArgumentParser
import TransferModel
import TransferRPC

struct RemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove ended tasks from the history.",
        discussion: """
            This also removes the partial file of a task that failed, or was cancelled with --keep-partial or \
            --resume-data. Its resume data is then useless, unless another task was added with it.
            """,
        aliases: ["rm"])
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Delete the downloaded file too, unless it was changed or replaced.")
    var delete = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let console = session.console
        let outcome = try await selection.control(Methods.removeTasks, session) {
            RemoveTasks($0, deleteFile: delete ? true : nil)
        }
        var refusal: (any Error)?
        do {
            try outcome.report("removed", console)
        } catch {
            refusal = error
        }
        let files = outcome.result.files ?? []
        let kept = files.filter { $0.fate == .kept }
        if !console.json {
            if !console.quiet {
                Self.lines(files, byID: outcome.areNamed && outcome.ranged == nil).forEach(console.line)
            }
            for file in kept { console.complain("\(file.id): \(Printable.text(file.reason ?? "the file stays"))") }
        }
        if let refusal { throw refusal }
        if !kept.isEmpty { throw CommandFailure.refusedSome }
    }

    /// What became of the files.
    static func lines(_ files: [RemovedFile], byID: Bool) -> [StyledText] {
        let deleted = files.filter { $0.fate == .deleted }
        if byID { return deleted.map { StyledText("deleted the file of \($0.id)") } }
        return files.isEmpty ? [] : [StyledText("deleted \(Figures.count(deleted.count, "file"))")]
    }
}

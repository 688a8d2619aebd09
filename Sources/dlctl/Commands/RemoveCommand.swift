import ArgumentParser
import TransferModel
import TransferRPC

struct RemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove tasks that are over from the history.",
        aliases: ["rm"])
    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Delete the downloaded file too, unless it was changed or replaced since.")
    var delete = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let outcome = try await session.call(
            RemoveTasks.self, RemoveTasks.Parameters(selection.selection, deleteFile: delete ? true : nil))
        var refusal: (any Error)?
        do {
            try ControlReport.print(outcome, "removed", byID: !selection.ids.isEmpty, session.console)
        } catch {
            refusal = error
        }
        try RemovalReport.print(outcome, byID: !selection.ids.isEmpty, session.console)
        if let refusal { throw refusal }
    }
}

/// Says what became of the files of tasks that were removed.
enum RemovalReport {
    /// - Throws: `CommandFailure.refusedSome` where a file was kept.
    static func print(_ outcome: ControlResult, byID: Bool, _ console: Console) throws {
        guard let files = outcome.files else { return }
        let kept = files.filter { $0.fate == .kept }
        if !console.json {
            if !console.quiet { lines(files, byID: byID).forEach { console.line($0) } }
            if !kept.isEmpty { console.complain(kept.map { "\($0.id): \(why($0))" }.joined(separator: "\n")) }
        }
        if !kept.isEmpty { throw CommandFailure.refusedSome }
    }

    static func lines(_ files: [RemovedFile], byID: Bool) -> [StyledText] {
        let deleted = files.filter { $0.fate == .deleted }
        if byID { return deleted.map { StyledText("deleted the file of \($0.id)") } }
        return files.isEmpty ? [] : [StyledText("deleted \(Figures.count(deleted.count, "file"))")]
    }

    private static func why(_ file: RemovedFile) -> String {
        Printable.text(file.reason ?? "the file stays")
    }
}

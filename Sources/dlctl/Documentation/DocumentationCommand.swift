import ArgumentParser
import FoundationEssentials

/// Writes the manual page and the completions that are committed. Hidden, because only the project itself needs it.
struct DocumentationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "documentation", abstract: "Write the manual page or the completions.", shouldDisplay: false)

    @Option(help: ArgumentHelp("Write the manual page into this folder.", valueName: "dir"))
    var manual: String?

    @Option(help: ArgumentHelp("Write the completions into this folder.", valueName: "dir"))
    var completions: String?

    func run() async throws {
        if manual == nil, completions == nil { throw ValidationError("Say --manual DIR or --completions DIR.") }
        if let manual { try write(GeneratedDocuments.manual(), into: manual) }
        if let completions { try write(GeneratedDocuments.completions(), into: completions) }
    }

    private func write(_ files: [String: String], into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
        }
    }
}

/// All documents generated from the commands' declarations, by file name.
enum GeneratedDocuments {
    static func manual() throws -> [String: String] {
        ["dlctl.1": try ManualPage.render(toolInfo: Dlctl._dumpHelp())]
    }

    static func completions() -> [String: String] {
        [
            "dlctl.bash": Dlctl.completionScript(for: .bash),
            "_dlctl": Dlctl.completionScript(for: .zsh),
            "dlctl.fish": Dlctl.completionScript(for: .fish),
        ]
    }
}

import ArgumentParser
import FoundationEssentials

/// Writes the manual page and the completions that are committed. Hidden, because only the project itself needs it.
struct DocumentationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "documentation", abstract: "Write the manual page or the completions.", shouldDisplay: false)

    @Option("Write the manual page into this folder.", "dir")
    var manual: String?

    @Option("Write the completions into this folder.", "dir")
    var completions: String?

    func run() async throws {
        if manual == nil, completions == nil { throw ValidationError("Say --manual DIR or --completions DIR.") }
        if let manual { try write(Self.manual(), into: manual) }
        if let completions { try write(Self.completions(), into: completions) }
    }

    private func write(_ files: [String: String], into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
        }
    }

    /// The generated documents by file name.
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

import ArgumentParser
import Glibc
import TransferModel
import TransferRPC

/// A shell's request for completions of the word at the cursor. It is answered at once or not at all. Nothing else is
/// printed, and no daemon is started.
struct CompletionRequest: Sendable {
    /// The words as the shell splits them; bash splits at `=` and `:` too.
    private var words: [String]
    private var index: Int

    init(_ words: [String], _ index: Int) {
        self.words = words.map(Self.unquoted)
        self.index = index
    }

    /// The word at the cursor.
    var word: String { words.indices.contains(index) ? words[index] : "" }

    /// All other words, which need not be offered again.
    var others: Set<String> { Set(words.indices.filter { $0 != index }.map { words[$0] }) }

    /// The current command, without the words before it.
    var command: String {
        let names = Dlctl.configuration.subcommands.flatMap {
            [$0.configuration.commandName ?? ""] + $0.configuration.aliases
        }
        return words.dropFirst().first(where: names.contains) ?? ""
    }

    var owner: OwnerScope? { value(of: "--owner").flatMap(OwnerScope.init(argument:)) }

    /// How long a user waits after a key press.
    private static let patience = Duration.seconds(1)

    /// - Parameter find: returns the candidates at the cursor.
    /// - Returns: lines for the generated script; none if the daemon does not answer.
    func answer(
        _ find: (CompletionRequest, any DaemonCalling) async throws -> [Candidate]
    ) async -> [String] {
        Task.detached {
            try await Task.sleep(for: Self.patience)
            exit(ExitStatus.done.rawValue)
        }
        var arguments = ["--no-start", "--quiet"]
        if let socket = value(of: "--socket") { arguments += ["--socket", socket] }
        if words.contains("--system") { arguments.append("--system") }
        guard let options = try? GlobalOptions.parse(arguments),
            let client = try? await CommandSession(options).access.connectToRunning(),
            let found = try? await find(self, client)
        else { return [] }
        await client.close()
        return found.map { $0.line(for: CompletionShell.requesting) }
    }

    private func value(of option: String) -> String? {
        guard let place = words.firstIndex(where: { $0 == option || $0.hasPrefix(option + "=") }) else { return nil }
        if words[place] != option { return String(words[place].dropFirst(option.count + 1)) }
        let rest = words[(place + 1)...]
        return rest.first == "=" ? rest.dropFirst().first : rest.first
    }

    /// bash and zsh pass words as they were typed.
    private static func unquoted(_ word: String) -> String {
        var result = ""
        var quote: Character?
        var isEscaped = false
        for character in word {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { result.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else {
                result.append(character)
            }
        }
        return result
    }
}

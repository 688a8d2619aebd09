import ArgumentParser
import FoundationEssentials
import TransferModel
import TransferRPC

/// Explains what is wrong with a command line that cannot be read. ArgumentParser says only that it is.
enum Mistake {
    /// Names a word in the place of a command that is not a command, such as `dlctl lsit`.
    /// - Returns: nil if every word in a command's place is a command. This includes requests for help: `dlctl help lsit`.
    static func command(_ arguments: [String], of root: any ParsableCommand.Type) -> String? {
        var path: [String] = []
        var level = root
        for word in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
            let commands = level.configuration.defaultSubcommand == nil ? level.configuration.subcommands : []
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let next = commands.first(where: { $0.isNamed(word) }) {
                path.append(word)
                level = next
                continue
            }
            if path.isEmpty, word == "status" {
                return "There is no command 'status'. 'dlctl info' shows the daemon, 'dlctl stats' its figures."
            }
            let names = commands.filter { $0.configuration.shouldDisplay }.flatMap {
                [$0.configuration.commandName ?? ""] + $0.configuration.aliases
            }
            return unknown("command", Printable.text(word, limit: 40), nearest(to: word, among: names), path)
        }
        return nil
    }

    /// Names an option that a command does not have, such as `dlctl list --limt 3`. ArgumentParser does not name it if
    /// the rest of the line makes no sense without it.
    /// - Parameter toolInfo: the JSON of `--experimental-dump-help`.
    /// - Returns: nil if every option belongs to its command, or if no unknown option can be identified.
    static func option(_ arguments: [String], toolInfo: String) -> String? {
        guard var command = try? JSONDecoder().decode(ToolInfo.self, from: Data(toolInfo.utf8)).command else {
            return nil
        }
        var rest = arguments[...]
        var path: [String] = []
        while let word = rest.first,
            let next = command.subcommands?.first(where: {
                $0.commandName == word || $0.aliases?.contains(word) == true
            })
        {
            command = next
            path.append(word)
            rest = rest.dropFirst()
        }
        let options = command.arguments?.filter { $0.kind != .positional } ?? []
        let names = options.flatMap { $0.names ?? [] }.map(\.written)
        while let word = rest.popFirst(), word != "--" {
            guard word.hasPrefix("-"), word.hasPrefix("--") || word.dropFirst().first?.isLetter == true else {
                continue
            }
            // The value of a short option may follow its letter.
            let name = String(word.hasPrefix("--") ? word.prefix { $0 != "=" } : word.prefix(2))
            guard names.contains(name) else {
                let long = names.filter { $0.hasPrefix("--") }
                let guess = name.hasPrefix("--") ? nearest(to: name, among: long) : nil
                return unknown("option", Printable.text(name, limit: 60), guess, path)
            }
            // Its value may look like an option.
            let takesValue = options.contains {
                $0.kind == .option && $0.names?.contains { $0.written == name } == true
            }
            if takesValue, name == word { rest = rest.dropFirst() }
        }
        return nil
    }

    private static func unknown(_ kind: String, _ word: String, _ guess: String?, _ path: [String]) -> String {
        let command = (["dlctl"] + path).joined(separator: " ")
        let suggestion = guess.map { " Did you mean '\($0)'?" } ?? ""
        return "There is no \(kind) '\(word)'.\(suggestion)\n  See '\(command) --help' for the \(kind)s."
    }

    /// Commands that have `--all`.
    private static let selecting: Set = ["pause", "resume", "cancel", "retry", "remove", "rm", "wait"]

    /// Says why a value is refused.
    static func value(_ arguments: [String]) -> String? {
        let words = Array(arguments.prefix { $0 != "--" })
        for (index, word) in words.enumerated() {
            if word.hasPrefix("-"), word.dropFirst().first?.isNumber == true {
                return "'\(Printable.text(word, limit: 40))' is below zero; ids and other numbers must not be."
            }
            if let reversed = reversedRange(word) { return reversed }
            if word == "all", selecting.contains(words.first ?? "") {
                return "'all' is not an id; for all tasks use --all."
            }
            if word.count > 18, word.allSatisfy(\.isNumber), TaskID(argument: word) == nil {
                return "'\(Printable.text(word, limit: 40))' is larger than any id."
            }
            let options = [("--checksum", checksum), ("--priority", priority), ("--state", state), ("--owner", owner)]
            for (option, complaint) in options {
                let value = word == option ? words.dropFirst(index + 1).first : nil
                let joined = word.hasPrefix(option + "=") ? String(word.dropFirst(option.count + 1)) : nil
                if let text = value ?? joined, let why = complaint(text) { return "\(option): \(why)" }
            }
        }
        return nil
    }

    /// Recognises reversed ranges such as `7-3`.
    private static func reversedRange(_ word: String) -> String? {
        let ends = word.split(separator: "-", omittingEmptySubsequences: false).map { TaskID(argument: String($0)) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first > last else { return nil }
        return "'\(word)' is a range that ends before it begins; write \(last)-\(first)."
    }

    private static func checksum(_ text: String) -> String? {
        if Checksum(argument: text) != nil { return nil }
        let shown = Printable.text(text, limit: 40)
        guard let mark = text.firstIndex(where: { $0 == ":" || $0 == "=" }) else {
            return "'\(shown)' has no algorithm; write the algorithm, a colon and the value in hex: sha-256:9f86d0…."
        }
        guard let algorithm = DigestAlgorithm(typed: text[..<mark]) else {
            let known = DigestAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            return "'\(Printable.text(String(text[..<mark]), limit: 40))' is not an algorithm; known are \(known)."
        }
        let count = text[text.index(after: mark)...].count
        if count != algorithm.hexLength {
            return "a value of \(algorithm.rawValue) has \(algorithm.hexLength) hex digits, this one has \(count)."
        }
        return "the value of '\(shown)' is not in hex."
    }

    private static func state(_ text: String) -> String? {
        TaskPhase(rawValue: text).map { "'\($0.rawValue)' is a phase of running tasks; use --state running." }
    }

    private static func owner(_ text: String) -> String? {
        if OwnerScope(argument: text) != nil { return nil }
        return "there is no user '\(Printable.text(text, limit: 40))'; give a user's name or id, or 'all'."
    }

    private static func priority(_ text: String) -> String? {
        if TaskPriority(argument: text) != nil { return nil }
        return "'\(Printable.text(text, limit: 40))' is not a priority; use low, normal, high or a number from 0 to 1."
    }

    /// The word that was meant by a mistyped one; nil if no word is near.
    static func nearest(to word: String, among names: [String]) -> String? {
        if let longer = names.filter({ $0.hasPrefix(word) }).min(by: { $0.count < $1.count }), word.count > 3 {
            return longer
        }
        let near = names.map { (name: $0, distance: distance($0, word)) }.min { $0.distance < $1.distance }
        return near.flatMap { $0.distance <= max(1, (word.count - (word.hasPrefix("--") ? 2 : 0)) / 3) ? $0.name : nil }
    }

    /// The number of single changes between two words. A swap of two adjacent letters counts as one (optimal string
    /// alignment).
    static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.prefix(64)), Array(second.prefix(64)))
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}

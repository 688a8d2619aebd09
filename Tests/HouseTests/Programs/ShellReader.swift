/// The programs that a shell script starts: the first word of each command, also in substitutions, and the word after a
/// command that starts another one (`retry`, `env`, `xargs`). A name that the script builds at run time is not found.
struct ShellReader {
    /// The first words of commands that are plain text, including the shell's own commands and the script's functions.
    private(set) var commands: Set<String> = []
    /// The names of the functions that the script defines.
    private(set) var functions: Set<String> = []

    private let text: [Character]
    private var index = 0
    /// The end marks of the here-documents that begin after this line.
    private var documents: [String] = []

    init(_ script: String) {
        text = Array(script)
        _ = readList(until: nil)
    }

    /// Returns the programs that the script starts, without the shell's own commands and the script's functions.
    func programs(defined: Set<String> = []) -> Set<String> {
        commands.subtracting(Self.ownCommands).subtracting(functions).subtracting(defined)
    }

    private enum End { case text, closing, nextCase, lastCase }

    private struct Word {
        /// The text without quotes. Expansions stay as they are written.
        var text = ""
        /// Whether the entire word is known from the text.
        var isLiteral = true
        var isQuoted = false
        var isAssignment = false
    }

    // MARK: lists of commands

    private mutating func readList(until closing: Character?, isCase: Bool = false) -> End {
        var expectsCommand = true
        while let next = peek() {
            if next == closing {
                index += 1
                return .closing
            }
            switch next {
            case "\n":
                index += 1
                skipDocuments()
                expectsCommand = true
            case ";" where isCase && peek(1) == ";":
                index += 2
                return .nextCase
            case ";", "|", ")":
                index += 1
                expectsCommand = true
            case "&":
                index += 1
                if peek() != ">" { expectsCommand = true }
            case " ", "\t":
                index += 1
            case "\\" where peek(1) == "\n":
                index += 2
            case "#":
                skip { $0 != "\n" }
            case "(":
                readParenthesis()
            case "<", ">":
                readRedirection()
            default:
                let word = readWord()
                guard expectsCommand else { continue }
                if isCase, word.text == "esac", !word.isQuoted { return .lastCase }
                expectsCommand = take(word)
            }
        }
        return .text
    }

    /// Returns true if the command is still to come after this word.
    private mutating func take(_ word: Word) -> Bool {
        if word.isAssignment { return true }
        if !word.isQuoted {
            switch word.text {
            case "if", "then", "elif", "else", "do", "while", "until", "!", "{", "}", "time", "fi", "done", "esac":
                return true
            case "for", "select": return false
            case "case":
                readCase()
                return true
            case "[[":
                readTest()
                return false
            default: break
            }
            if word.text.allSatisfy(\.isNumber), let next = peek(), next == "<" || next == ">" { return true }
            if peek() == "(", peek(1) == ")" {
                functions.insert(word.text)
                index += 2
                return true
            }
        }
        takeCommand(word)
        return false
    }

    private mutating func takeCommand(_ word: Word) {
        guard word.isLiteral, !word.text.isEmpty else { return }
        commands.insert(word.text)
        guard Self.starters.contains(word.text) else { return }
        var isScript = Self.evaluators.contains(word.text)
        while let argument = readArgument() {
            // The name or the user that follows -u of env, runuser and the like.
            if argument.text == "-u" {
                _ = readArgument()
                continue
            }
            if isScript {
                let nested = ShellReader(argument.text)
                commands.formUnion(nested.commands)
                return
            }
            if ["sh", "bash"].contains(word.text) {
                isScript = argument.text.hasPrefix("-") && argument.text.hasSuffix("c")
                guard isScript else { return }
            } else if argument.isLiteral, !argument.isAssignment, Self.mayBeProgram(argument.text) {
                takeCommand(argument)
                return
            }
        }
    }

    /// Returns the next word of this command, or nil at its end.
    private mutating func readArgument() -> Word? {
        while let next = peek() {
            switch next {
            case " ", "\t": index += 1
            case "\\" where peek(1) == "\n": index += 2
            case "<", ">": readRedirection()
            case "\n", ";", "&", "|", "(", ")", "`": return nil
            default: return readWord()
            }
        }
        return nil
    }

    private static func mayBeProgram(_ text: String) -> Bool {
        guard let first = text.first, first != "-", first != "{" else { return false }
        return !text.contains("=") && !text.contains(" ") && Double(text) == nil
    }

    // MARK: compound commands

    private mutating func readParenthesis() {
        index += 1
        guard peek() == "(" else {
            _ = readList(until: ")")
            return
        }
        index += 1
        readArithmetic()
    }

    private mutating func readArithmetic() {
        var depth = 2
        while depth > 0, let next = peek() {
            if next == "$" {
                var word = Word()
                readExpansion(into: &word)
                continue
            }
            depth += next == "(" ? 1 : next == ")" ? -1 : 0
            index += 1
        }
    }

    private mutating func readTest() {
        while let next = peek() {
            if "()<>&|; \t\n".contains(next) {
                index += 1
            } else if readWord().text == "]]" {
                return
            }
        }
    }

    private mutating func readCase() {
        // Skips the subject and `in`.
        for _ in 0..<2 {
            skipBlanks()
            _ = readWord()
        }
        while true {
            skipBlanks()
            if peek() == "(" { index += 1 }
            while let next = peek(), next != ")" {
                if next == "|" || next == " " {
                    index += 1
                } else if readWord().text == "esac" {
                    return
                }
            }
            guard peek() != nil else { return }
            index += 1
            guard case .nextCase = readList(until: nil, isCase: true) else { return }
        }
    }

    private mutating func readRedirection() {
        if let other = peek(1), other == "(" {
            index += 2
            _ = readList(until: ")")
            return
        }
        let isDocument = peek() == "<" && peek(1) == "<" && peek(2) != "<"
        skip { "<>&|-".contains($0) }
        skip { $0 == " " || $0 == "\t" }
        if let next = peek(), next == "<" || next == ">" { return }
        let target = readWord()
        if isDocument { documents.append(target.text) }
    }

    private mutating func skipDocuments() {
        for end in documents {
            while peek() != nil {
                let start = index
                skip { $0 != "\n" }
                let line = String(text[start..<index]).drop { $0 == "\t" }
                index += 1
                if line == end { break }
            }
        }
        documents = []
    }

    // MARK: words

    private mutating func readWord() -> Word {
        var word = Word()
        while let next = peek(), !" \t\n;&|<>()".contains(next) {
            switch next {
            case "\\":
                if let quoted = peek(1), quoted != "\n" { word.text.append(quoted) }
                index += 2
            case "'":
                word.isQuoted = true
                index += 1
                let start = index
                skip { $0 != "'" }
                word.text += String(text[start..<index])
                index += 1
            case "\"":
                word.isQuoted = true
                index += 1
                readQuoted(into: &word)
            case "$", "`":
                readExpansion(into: &word)
            case "=" where !word.isQuoted && Self.isName(word.text):
                word.isAssignment = true
                word.text.append("=")
                index += 1
                if peek() == "(" { readArray() }
            default:
                word.text.append(next)
                index += 1
            }
        }
        if index < text.count, text[index] == "(", word.text.isEmpty { index += 1 }
        return word
    }

    private mutating func readQuoted(into word: inout Word) {
        while let next = peek(), next != "\"" {
            if next == "\\" {
                if let quoted = peek(1) { word.text.append(quoted) }
                index += 2
            } else if next == "$" || next == "`" {
                readExpansion(into: &word)
            } else {
                word.text.append(next)
                index += 1
            }
        }
        index += 1
    }

    /// Reads `$name`, `${…}`, `$(…)`, `$((…))`, `$'…'` and text between backticks.
    private mutating func readExpansion(into word: inout Word) {
        let start = index
        if peek() == "`" {
            index += 1
            _ = readList(until: "`")
        } else if peek(1) == "(", peek(2) == "(" {
            index += 3
            readArithmetic()
        } else if peek(1) == "(" {
            index += 2
            _ = readList(until: ")")
        } else if peek(1) == "{" {
            index += 2
            readBraces()
        } else {
            index += 1
        }
        word.isLiteral = false
        word.text += String(text[start..<min(index, text.count)])
    }

    private mutating func readBraces() {
        var ignored = Word()
        while let next = peek(), next != "}" {
            switch next {
            case "$", "`": readExpansion(into: &ignored)
            case "\\": index += 2
            case "\"":
                index += 1
                readQuoted(into: &ignored)
            default: index += 1
            }
        }
        index += 1
    }

    private mutating func readArray() {
        index += 1
        while let next = peek(), next != ")" {
            switch next {
            case " ", "\t", "\n": index += 1
            case "#": skip { $0 != "\n" }
            case "<", ">", "(", "&", "|", ";": index += 1
            default: _ = readWord()
            }
        }
        index += 1
    }

    private static func isName(_ text: String) -> Bool {
        let name = text.hasSuffix("+") ? text.dropLast() : text[...]
        guard let first = name.first, first.isLetter || first == "_" else { return false }
        return name.allSatisfy { $0.isLetter || $0.isNumber || "_[]$@*".contains($0) }
    }

    // MARK: characters

    private func peek(_ ahead: Int = 0) -> Character? { index + ahead < text.count ? text[index + ahead] : nil }

    private mutating func skip(while matches: (Character) -> Bool) {
        while let next = peek(), matches(next) { index += 1 }
    }

    private mutating func skipBlanks() { skip { " \t\n".contains($0) } }

    // MARK: words that are known

    /// The commands whose argument is a script.
    private static let evaluators: Set<String> = ["at_end", "eval", "trap"]
    /// The commands that take a program as an argument.
    private static let starters: Set<String> = evaluators.union([
        "as_root", "command", "env", "exec", "inside", "nohup", "nsenter", "retry", "runuser", "setpriv", "setsid",
        "sudo",
        "timeout", "unshare", "wait_until", "within", "xargs", "chroot", "flock", "sh", "bash",
    ])
    private static let ownCommands: Set<String> = [
        "-", ".", ":", "[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "disown", "echo",
        "eval",
        "exec", "exit", "export", "false", "fg", "function", "getopts", "hash", "jobs", "kill", "let", "local",
        "mapfile",
        "printf", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "source", "test", "times", "trap",
        "true",
        "type", "ulimit", "umask", "unset", "wait",
    ]
}

import FoundationEssentials

/// Makes dlctl(1) from the commands' declarations, in the man(7) macros.
struct ManualPage {
    private var lines: [String] = []

    /// - Parameter toolInfo: the JSON of `--experimental-dump-help`.
    static func render(toolInfo: String) throws -> String {
        let root = try JSONDecoder().decode(ToolInfo.self, from: Data(toolInfo.utf8)).command
        var page = ManualPage()
        page.write(root)
        return page.lines.joined(separator: "\n") + "\n"
    }

    private mutating func write(_ root: ToolInfo.Command) {
        lines.append(".\\\" Generated from the declarations of dlctl's commands; do not edit.")
        lines.append(".TH DLCTL 1 \"\" \"dld \(Dlctl.version)\" \"User Commands\"")
        section("NAME")
        text("dlctl - command line of dld, the background transfer daemon")
        section("SYNOPSIS")
        lines.append(".B dlctl")
        lines.append(".I command")
        lines.append("[\\fIoption\\fR ...] [\\fIargument\\fR ...]")
        section("DESCRIPTION")
        text(Self.description)
        section("GLOBAL OPTIONS")
        text("Every command accepts these, before or after its name.")
        let leaves = commands(root)
        for argument in leaves.first?.arguments ?? [] where argument.sectionTitle == Self.globalTitle {
            write(argument)
        }
        entries([("-h, --help", "Show help for a command, and do nothing else.")])
        section("COMMANDS")
        for command in leaves { write(command, of: root) }
        for part in Self.closing {
            section(part.title)
            entries(part.entries)
            if !part.entries.isEmpty, !part.text.isEmpty { lines.append(".PP") }
            text(part.text)
        }
    }

    private static let globalTitle = "Global options"

    private func commands(_ root: ToolInfo.Command) -> [ToolInfo.Command] {
        var result: [ToolInfo.Command] = []
        for command in root.subcommands ?? [] where command.shouldDisplay != false && command.commandName != "help" {
            result.append(command)
            result += (command.subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
        }
        return result
    }

    private mutating func write(_ command: ToolInfo.Command, of root: ToolInfo.Command) {
        let path = (command.superCommands ?? []).dropFirst() + [command.commandName]
        let arguments = (command.arguments ?? []).filter {
            $0.shouldDisplay && $0.sectionTitle != Self.globalTitle && $0.names?.contains { $0.name == "help" } != true
        }
        lines.append(".SS \"dlctl \(Self.escaped(synopsis(path.joined(separator: " "), command, arguments)))\"")
        if let abstract = command.abstract { text(abstract) }
        if let aliases = command.aliases, !aliases.isEmpty { text("Also: \(aliases.joined(separator: ", ")).") }
        if let discussion = command.discussion {
            lines.append(".PP")
            block(discussion)
        }
        for argument in arguments { write(argument) }
    }

    private func synopsis(_ path: String, _ command: ToolInfo.Command, _ arguments: [ToolInfo.Argument]) -> String {
        if command.subcommands?.contains(where: { $0.commandName != "help" }) == true { return path + " COMMAND" }
        let positional = arguments.filter { $0.kind == .positional }.map { argument in
            let name = (argument.valueName ?? "value").uppercased() + (argument.isRepeating ? "..." : "")
            return argument.isOptional ? "[\(name)]" : name
        }
        return ([path] + positional).joined(separator: " ")
    }

    private mutating func write(_ argument: ToolInfo.Argument) {
        lines.append(".TP")
        let value = "\\fI\(Self.escaped(argument.valueName ?? "value"))\\fR"
        let names = (argument.names ?? []).sorted { $0.name.count < $1.name.count }
            .map { "\\fB\(Self.escaped($0.written))\\fR" }.joined(separator: ", ")
        switch argument.kind {
        case .positional: lines.append(value)
        case .option: lines.append("\(names) \(value)")
        case .flag: lines.append(names)
        }
        text(argument.abstract ?? "")
        if let values = argument.allValues, !values.isEmpty { text("Values: \(values.joined(separator: ", ")).") }
        if let discussion = argument.discussion { text(discussion) }
    }

    private mutating func section(_ title: String) {
        lines.append(".SH \(title.contains(" ") ? "\"\(title)\"" : title)")
    }

    private mutating func text(_ text: String) {
        for line in text.split(separator: "\n") { lines.append(Self.protected(String(line))) }
    }

    private mutating func entries(_ entries: [(String, String)]) {
        for (term, meaning) in entries {
            lines.append(".TP")
            lines.append("\\fB\(Self.escaped(term))\\fR")
            text(meaning)
        }
    }

    /// Writes paragraphs. Indented lines and all lines below `EXAMPLES:` keep their line breaks.
    private mutating func block(_ discussion: String) {
        var verbatim = false
        for line in discussion.split(separator: "\n", omittingEmptySubsequences: false) {
            let isIndented = line.hasPrefix("  ")
            if isIndented != verbatim {
                lines.append(isIndented ? ".PP\n.nf\n.RS 4" : ".RE\n.fi")
                verbatim = isIndented
            }
            if line.isEmpty {
                lines.append(".PP")
            } else {
                lines.append(Self.protected(isIndented ? String(line.dropFirst(2)) : String(line)))
            }
        }
        if verbatim { lines.append(".RE\n.fi") }
    }

    /// man(7): a backslash begins an escape, and a plain hyphen may become a typographic one.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "..."
            case "·": result += "\\(bu"
            case "\"": result += "\\(dq"
            case "'": result += "\\(aq"
            default: result.append(character)
            }
        }
    }

    /// Escapes a whole line, in which a leading dot would be a macro.
    private static func protected(_ line: String) -> String {
        let text = escaped(line)
        return text.hasPrefix(".") ? "\\&" + text : text
    }
}

extension ManualPage {
    fileprivate static let description = """
        dlctl hands downloads, uploads and requests to dld(1) and shows their progress. The daemon stores a task before it \
        answers. The task continues after dlctl has ended, and survives crashes and reboots. A file appears under its \
        final name complete and verified, or not at all.
        If no daemon answers, dlctl starts one for this user.
        Commands take ids, which 'dlctl list' shows, and ranges of ids such as 3-7: of a range, the tasks that exist. Rates and sizes take 500k, 2M, 1.5G (powers of 1024). \
        Paths are made absolute before they are sent.
        """

    struct Part {
        var title: String
        var text = ""
        var entries: [(String, String)] = []
    }

    fileprivate static let closing: [Part] = [
        Part(
            title: "EXIT STATUS",
            text: """
                With --json, an error is one line of JSON on standard error. Its code is one of the daemon's, or of dlctl: local \
                (status 1), usage (2), no_daemon (3) or timeout (5).
                """,
            entries: [
                ("0", "Done."),
                (
                    "1",
                    "A task failed or was cancelled, or dlctl could not do its own part: a file or its output cannot be read or written."
                ), ("2", "Wrong usage."),
                ("3", "No daemon answers and none could be started, or this user may not connect to it."),
                ("4", "The daemon refused."), ("5", "The time limit of 'wait' is over; the tasks continue."),
                ("130", "Interrupted with Ctrl-C; tasks continue in the daemon."),
            ]),
        Part(
            title: "ENVIRONMENT",
            entries: [
                (
                    "DLD_SOCKET",
                    """
                    Socket of the daemon if --socket names none. At a socket that is named, a daemon is started only if you \
                    have no other daemon, and the socket's folder is missing, is shared by all (/tmp), or is your own and \
                    gives no rights to a foreign group. None is started for a dld.sock in a missing folder, which may be a \
                    moved state folder.
                    """
                ),
                (
                    "XDG_RUNTIME_DIR",
                    "The user's daemon also listens on dld/dld.sock below it, unless it is another user's or too long."
                ),
                ("XDG_STATE_HOME", "The daemon's state is in dld below it; default: ~/.local/state."),
                ("NO_COLOR", "Disables colours if set and not empty."),
                ("COLUMNS", "Width of the output if the terminal does not report it."),
            ]),
        Part(
            title: "FILES",
            entries: [
                ("~/.local/state/dld/dld.sock", "Socket of the user's daemon; tried first."),
                (
                    "$XDG_RUNTIME_DIR/dld/dld.sock",
                    "Another socket of it, if that variable is set; with dld.socket, systemd's."
                ),
                ("/run/dld/dld.sock", "Socket of the system daemon."),
                (
                    "~/.local/state/dld/dld.log",
                    "The log of a daemon that dlctl started. Beyond 10 MiB the next start moves it to dld.log.1."
                ),
            ]),
        Part(title: "SEE ALSO", text: "dld(1)"),
    ]
}

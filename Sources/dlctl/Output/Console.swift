import Dispatch
import FoundationEssentials
import Glibc
import TransferModel

/// The output of a command, for users or for programs: results to standard output, remarks to standard error.
struct Console: Sendable {
    var json: Bool
    var quiet: Bool
    var outputIsTerminal: Bool
    var style: Style
    var errorStyle: Style

    init(json: Bool, quiet: Bool, environment: [String: String]) {
        self.json = json
        self.quiet = quiet
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        style = Style(terminal: outputIsTerminal, environment: environment)
        errorStyle = Style(terminal: isatty(STDERR_FILENO) == 1, environment: environment)
    }

    /// Tells whether a display that redraws itself makes sense.
    var isLive: Bool { outputIsTerminal && !json && !quiet }

    /// The columns of the terminal; nil if the output goes elsewhere and lines may have any length.
    var width: Int? { outputIsTerminal ? Terminal.size().columns : nil }

    func line(_ text: StyledText) { write(style.render(text) + "\n", to: STDOUT_FILENO) }
    func line(_ text: String) { line(StyledText(text)) }
    func raw(_ text: String) { write(text, to: STDOUT_FILENO) }
    func raw(_ bytes: [UInt8]) { write(bytes, to: STDOUT_FILENO) }

    /// A line that `-q` and `--json` silence.
    func remark(_ text: String) {
        if !quiet && !json { write(errorStyle.render(StyledText(text)) + "\n", to: STDERR_FILENO) }
    }

    /// A line about a problem. Never silenced.
    func complain(_ text: String) {
        let line = StyledText("dlctl: ", .bad) + StyledText(text)
        write(errorStyle.render(line) + "\n", to: STDERR_FILENO)
    }

    /// One value on one line. Members are sorted, so that equal results give equal text.
    func value(_ value: some WireValue) {
        write(Self.encode(value) + "\n", to: STDOUT_FILENO)
    }

    /// The same for an object with these members.
    func value(_ members: (inout JSONWriter) -> Void) {
        var text = JSONWriter()
        text.object(members)
        value(JSONMembers(object: text.bytes))
    }

    /// Characters that a terminal would obey are escaped.
    static func encode(_ value: some WireValue) -> String {
        Printable.json(String(decoding: JSONCoding.canonical(value), as: UTF8.self))
    }

    func report(_ failure: CommandFailure) {
        if json, let value = failure.value {
            write(Self.encode(value) + "\n", to: STDERR_FILENO)
        } else if let message = failure.message {
            complain(message)
        }
    }

    /// From now on, the program ends as soon as nobody can read its output. For commands that may write nothing for a
    /// long time; with `-q`, no reader is needed.
    func endWithReader() {
        guard !outputIsTerminal, !quiet else { return }
        DispatchQueue(label: "dlctl.output").async {
            // poll(2) reports POLLERR without being asked, once all readers of a pipe have closed it.
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            while poll(&output, 1, -1) < 0, errno == EINTR {}
            if output.revents & Int16(POLLERR | POLLHUP) != 0 { exit(128 + SIGPIPE) }
        }
    }

    /// If the reader has gone (`dlctl list | head`), the program ends quietly, like cat(1). If output cannot be written
    /// for another reason (a full disk), it ends with the reason, so that no script takes half a list for all of it.
    private func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    private func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, 1000)
            } else if errno != EINTR {
                if errno == EPIPE { exit(128 + SIGPIPE) }
                guard descriptor == STDOUT_FILENO else { return }
                let limit = errno == EFBIG ? " (ulimit -f)" : ""
                complain("cannot write: \(String(cString: strerror(errno)))\(limit)")
                exit(ExitStatus.failed.rawValue)
            }
        }
    }
}

/// Asks the kernel about the terminal on standard output.
enum Terminal {
    static let fallback = TerminalSize(columns: 80, rows: 24)

    /// Uses ioctl_tty(2) TIOCGWINSZ; `COLUMNS` if that fails.
    static func size(environment: [String: String] = ProcessInfo.processInfo.environment) -> TerminalSize {
        var window = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 {
            return TerminalSize(
                columns: Int(window.ws_col), rows: window.ws_row > 0 ? Int(window.ws_row) : fallback.rows)
        }
        let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        return TerminalSize(columns: columns ?? fallback.columns, rows: fallback.rows)
    }
}

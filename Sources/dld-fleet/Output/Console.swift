import Glibc
import TransferModel

/// Results on standard output, remarks on standard error: text for people, or one JSON value per line.
struct Console: Sendable {
    let json: Bool

    /// One value. Members are sorted, so that equal results give equal text.
    func value(_ value: JSONValue) { Self.write(Self.encode(value) + "\n", to: STDOUT_FILENO) }

    func line(_ text: String) { Self.write(text + "\n", to: STDOUT_FILENO) }

    /// - Parameter rights: the columns whose values stand on the right.
    func table(_ titles: [String], rights: Set<Int> = [], _ rows: [[String]]) {
        let rows = [titles] + rows.map { $0.map(Printable.text) }
        let widths = titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let limit = Self.width
        for row in rows {
            var text = ""
            for (column, cell) in row.enumerated() {
                let fill = String(repeating: " ", count: widths[column] - cell.count)
                text += (column == 0 ? "" : "  ") + (rights.contains(column) ? fill + cell : cell + fill)
            }
            while text.last == " " { text.removeLast() }
            if let limit, text.count > limit { text = text.prefix(limit - 1) + "…" }
            line(text)
        }
    }

    /// A line that `--json` silences.
    func remark(_ text: String) { if !json { Self.write(text + "\n", to: STDERR_FILENO) } }

    func report(_ failure: Failure) {
        if json {
            let message = ([failure.message] + failure.statements).joined(separator: "\n")
            let error: JSONValue = ["code": .string(failure.code), "message": .string(message)]
            return Self.write(Self.encode(["error": error]) + "\n", to: STDERR_FILENO)
        }
        failure.statements.forEach(line)
        let lines = failure.message.split(separator: "\n").map { "dld-fleet: \(Printable.text(String($0)))\n" }
        Self.write(lines.joined(), to: STDERR_FILENO)
    }

    /// Ends the program if nobody can read its output any more, so that a `watch` does not outlive its reader.
    func endWithReader() {
        // poll(2) reports POLLERR without being asked, once all readers of a pipe have closed it.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        if poll(&output, 1, 0) > 0, output.revents & Int16(POLLERR) != 0 { exit(128 + SIGPIPE) }
    }

    static func encode(_ value: JSONValue) -> String {
        Printable.json(String(decoding: JSONCoding.canonical(value), as: UTF8.self))
    }

    /// The columns of the terminal; nil if the output goes elsewhere (ioctl_tty(2), TIOCGWINSZ).
    private static var width: Int? {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 1 else { return nil }
        return Int(window.ws_col)
    }

    /// If the reader has gone (`dld-fleet list | head`), the program ends quietly, like cat(1). If output cannot be written
    /// for another reason, it ends with the reason, so that no script takes half a list for all of it.
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
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
                write("dld-fleet: cannot write: \(String(cString: strerror(errno)))\n", to: STDERR_FILENO)
                exit(ExitStatus.failed.rawValue)
            }
        }
    }
}

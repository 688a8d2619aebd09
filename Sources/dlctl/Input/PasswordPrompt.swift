import Glibc

/// Asks for a password on the terminal, without echo (termios(3)), or for a user name. It never uses standard output,
/// which may be a pipe.
///
/// Whatever ends or stops the program, the terminal is restored.
struct PasswordPrompt: ~Copyable {
    private let question: String
    private let echoes: Bool
    private let terminal: Int32
    private let before: termios
    /// A pipe with the numbers of the signals that came.
    private let wake: (reading: Int32, writing: Int32)

    /// - Parameter echoes: the answer is shown as it is typed.
    /// - Throws: `CommandFailure.interrupted`; `CommandFailure.usage` if there is no terminal.
    static func ask(_ question: String, echoes: Bool = false) throws -> String {
        let prompt = try PasswordPrompt(question, echoes: echoes)
        let writing = prompt.wake.writing
        let signals = Signals([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT]) { number in
            var byte = UInt8(number)
            _ = write(writing, &byte, 1)
        }
        defer { signals.cancel() }
        return try prompt.answer()
    }

    private init(_ question: String, echoes: Bool) throws {
        self.question = question
        self.echoes = echoes
        terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        var ends: [Int32] = [-1, -1]
        var before = termios()
        guard terminal >= 0, tcgetattr(terminal, &before) == 0, pipe(&ends) == 0 else {
            throw CommandFailure.usage(
                "a password is needed and there is no terminal to ask on; use --password-stdin or --password-file")
        }
        self.before = before
        wake = (ends[0], ends[1])
    }

    deinit {
        close(wake.reading)
        close(wake.writing)
        close(terminal)
    }

    private borrowing func answer() throws -> String {
        begin()
        defer { end() }
        var typed: [UInt8] = []
        while true {
            var files = [
                pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&files, 2, -1) > 0 else { continue }
            var byte: UInt8 = 0
            if files[1].revents != 0 {
                if read(wake.reading, &byte, 1) == 1, try signalled(Int32(byte)) { typed = [] }
                continue
            }
            let count = read(terminal, &byte, 1)
            guard count == 1 else {
                if count < 0, errno == EINTR { continue }
                throw CommandFailure.usage("no password was typed")
            }
            if byte == UInt8(ascii: "\n") {
                // It would replace a stored password.
                if typed.isEmpty { throw CommandFailure.usage("no password was typed") }
                return String(decoding: typed, as: UTF8.self)
            }
            typed.append(byte)
        }
    }

    /// - Returns: whether the question was asked again.
    private borrowing func signalled(_ number: Int32) throws -> Bool {
        switch number {
        case SIGTSTP:
            end()
            kill(getpid(), SIGSTOP)
            // SIGCONT follows.
            return true
        case SIGCONT:
            begin()
            return true
        default: throw CommandFailure.interrupted
        }
    }

    /// Discards what was typed before, because it was visible.
    private borrowing func begin() {
        var asking = before
        if !echoes { asking.c_lflag &= ~tcflag_t(ECHO) }
        tcsetattr(terminal, TCSAFLUSH, &asking)
        let bytes = Array(question.utf8)
        _ = write(terminal, bytes, bytes.count)
    }

    private borrowing func end() {
        var shown = before
        tcsetattr(terminal, TCSAFLUSH, &shown)
        if !echoes { _ = write(terminal, "\n", 1) }
    }
}

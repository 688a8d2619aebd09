import CLinux
import CurlEngine
import FileKit
import Glibc
import Logging
import TransferCore
import TransferModel

/// The limits of a helper's time, in milliseconds.
struct HelperPatience: Sendable {
    /// Until its first line.
    var hello: Int64 = 10_000
    /// From its last request to its end. After that, its process group is killed.
    var grace: Int64 = 1000
    /// Without a request.
    var idle: Int64 = 10_000
}

/// A helper's process and its three descriptors, as seen by the thread that started it. The process does not outlive
/// the thread.
///
/// It reads lines of any length and content, and waits for the helper only in `turn`, `hello` and `finish`.
final class HelperProcess {
    /// The result of a turn.
    enum Heard {
        case nothing
        case line([UInt8])
        /// The process has ended, or has closed its output.
        case end
    }

    let scheme: String
    let startedAt = HelperProcess.now
    private let pid: pid_t
    private var input: Descriptor?
    private let output: Descriptor
    private let errors: Descriptor
    private let ended: Descriptor?
    private let wakeup: Int32
    private var outgoing: [UInt8] = []
    private var incoming: [UInt8] = []
    /// Lines before this index of `incoming` were taken.
    private var taken = 0
    /// `incoming` has no line feed between `taken` and this index.
    private var searched = 0
    /// The output has ended.
    private(set) var isAtEnd = false
    private var isWoken = true
    /// The process group is stopped, so it writes nothing.
    private(set) var isStopped = false
    private var log: HelperLog

    /// - Parameters:
    ///   - part: becomes descriptor 3.
    ///   - wakeup: an eventfd that ends a turn.
    /// - Throws: `helper.failed` if the program cannot be started.
    init(
        _ program: HelperProgram, scheme: String, part: Int32?, wakeup: Int32, environment: [String: String],
        logger: Logger
    ) throws(TransferError) {
        self.scheme = scheme
        self.wakeup = wakeup
        let (reader, writer) = try Self.pipe(scheme)
        let (outputReader, outputWriter) = try Self.pipe(scheme)
        let (errorReader, errorWriter) = try Self.pipe(scheme)
        for end in [reader, outputWriter, errorWriter] { _ = fcntl(end.rawValue, F_SETFL, 0) }
        let descriptors = [reader.rawValue, outputWriter.rawValue, errorWriter.rawValue, part ?? -1]
        let child = ChildProcess.startBound([program.path], descriptors, environment: environment)
        guard child > 0 else {
            throw .helperFailed(scheme, "cannot be started: \(errorText(errno)).", retryable: true)
        }
        pid = child
        (input, output, errors) = (writer, outputReader, errorReader)
        let descriptor = dld_process_descriptor(child)
        ended = descriptor >= 0 ? Descriptor(descriptor) : nil
        log = HelperLog(logger: logger, scheme: scheme, pid: child)
    }

    private static func pipe(_ scheme: String) throws(TransferError) -> (reader: Descriptor, writer: Descriptor) {
        var (reader, writer): (Int32, Int32) = (-1, -1)
        guard dld_pipe(&reader, &writer) == 0 else {
            throw .helperFailed(scheme, "cannot be started: \(errorText(errno)).", retryable: true)
        }
        return (Descriptor(reader), Descriptor(writer))
    }

    // MARK: Turns

    func send(_ line: [UInt8]) { outgoing += line }

    /// Reads and writes what is ready. If nothing is, it waits until `deadline` at most.
    /// - Parameters:
    ///   - reads: false if the helper's output must wait.
    ///   - deadline: a time of `Self.now`.
    /// - Throws: if a line is too long.
    func turn(reads: Bool, until deadline: Int64) throws(HelperViolation) -> Heard {
        if reads, let line = try nextLine() { return .line(line) }
        if reads, isAtEnd { return .end }
        let milliseconds = Int32(clamping: max(0, deadline - Self.now))
        // After the process has ended, its remaining output is still read.
        var watched = [
            pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: outgoing.isEmpty ? -1 : input?.rawValue ?? -1, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: reads ? output.rawValue : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: reads ? ended?.rawValue ?? -1 : -1, events: Int16(POLLIN), revents: 0),
        ]
        if log.isClosed { watched[1].fd = -1 }
        guard poll(&watched, nfds_t(watched.count), milliseconds) > 0 else { return .nothing }
        if watched[0].revents != 0 {
            dld_eventfd_drain(wakeup)
            isWoken = true
        }
        if watched[1].revents != 0 { log.take(from: errors) }
        if watched[2].revents != 0 { write() }
        if watched[3].revents != 0 || watched[4].revents != 0 { read(isLast: watched[4].revents != 0) }
        guard reads, let line = try nextLine() else { return .nothing }
        return .line(line)
    }

    /// Tells whether somebody has woken the thread since the last call.
    func wasWoken() -> Bool {
        defer { isWoken = false }
        return isWoken
    }

    /// Stops the process group until `goOn`.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        kill(-pid, SIGSTOP)
    }

    func goOn() {
        guard isStopped else { return }
        isStopped = false
        kill(-pid, SIGCONT)
    }

    static var now: Int64 { dld_monotonic_nanoseconds() / 1_000_000 }

    private func write() {
        guard let input else { return }
        let count = outgoing.withUnsafeBytes { Glibc.write(input.rawValue, $0.baseAddress, $0.count) }
        if count > 0 { outgoing.removeFirst(count) }
        // The helper reads no more, but its output still counts.
        if count < 0, errno != EAGAIN, errno != EINTR { outgoing = [] }
    }

    /// - Parameter isLast: the process has ended, so what it left in the pipe is all. Other processes of its group do
    ///   not count.
    private func read(isLast: Bool) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let (count, code) = retrying { Glibc.read(output.rawValue, &buffer, buffer.count) }
        if count > 0 { incoming += buffer.prefix(count) }
        if count == 0 || count < 0 && (isLast || code != EAGAIN) { isAtEnd = true }
    }

    private func nextLine() throws(HelperViolation) -> [UInt8]? {
        guard let end = incoming[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            incoming.removeFirst(taken)
            taken = 0
            searched = incoming.count
            guard searched <= HelperMessage.longestLine else {
                throw HelperViolation("a line of more than \(HelperMessage.longestLine) bytes")
            }
            return nil
        }
        guard end - taken <= HelperMessage.longestLine else {
            throw HelperViolation("a line of more than \(HelperMessage.longestLine) bytes")
        }
        defer { (taken, searched) = (end + 1, end + 1) }
        return Array(incoming[taken..<end])
    }

    // MARK: The beginning and the end

    /// Waits for the first line, as long as a caller wants it.
    /// - Parameter isWanted: asked again when the thread is woken.
    /// - Throws: `helper.protocol` if that line is not a hello, `helper.failed` if there is none, `cancelled` if no
    ///   caller wants it any more.
    func hello(
        within milliseconds: Int64, while isWanted: () -> Bool = { true }
    ) throws(TransferError) -> HelperHello {
        let first: HelperMessage?
        do throws(HelperViolation) {
            first = try firstMessage(until: Self.now + milliseconds, isWanted)
        } catch {
            throw .helperProtocol(scheme, error)
        }
        switch first {
        case .hello(let hello)?: return hello
        case .request?: throw .helperProtocol(scheme, HelperViolation("another line before its hello"))
        case nil where !isWanted(): throw TransferError(.cancelled, "Nobody wants its answer any more.")
        case nil where isAtEnd: throw .helperFailed(scheme, "ended before its hello.", retryable: true)
        case nil:
            throw .helperFailed(scheme, "said no hello within \(milliseconds / 1000) s; it was ended.", retryable: true)
        }
    }

    /// Returns nil if the process ends, the deadline passes or no caller wants the line any more.
    private func firstMessage(
        until deadline: Int64, _ isWanted: () -> Bool
    ) throws(HelperViolation) -> HelperMessage? {
        while Self.now < deadline, isWanted() {
            switch try turn(reads: true, until: deadline) {
            case .nothing: continue
            case .end: return nil
            case .line(let line): return try HelperMessage(line)
            }
        }
        return nil
    }

    /// Ends the process: closes its input and, after the grace, kills its process group. Blocks.
    /// - Returns: how it ended, in words.
    @discardableResult
    func finish(grace: Int64) -> String {
        goOn()
        let deadline = Self.now + grace
        while Self.now < deadline {
            if outgoing.isEmpty { input = nil }
            guard let heard = try? turn(reads: true, until: deadline) else { break }
            if case .end = heard { break }
        }
        input = nil
        let isLate = !hasEnded(until: deadline)
        log.take(from: errors)
        // The process is not reaped yet, so its group's number cannot belong to another group.
        kill(-pid, SIGKILL)
        var status: Int32 = 0
        _ = retrying { waitpid(pid, &status, 0) }
        let signal = status & 0x7f
        if signal == 0 { return "ended with status \((status >> 8) & 0xff)" }
        return isLate ? "did not end by itself and was killed" : "died of signal \(signal)"
    }

    private func hasEnded(until deadline: Int64) -> Bool {
        guard let ended else { return false }
        var watched = pollfd(fd: ended.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, Int32(clamping: max(0, deadline - Self.now))) > 0
    }
}

/// Passes a helper's standard error to the log, as short lines and no more of them than people read.
struct HelperLog {
    private static let longestLine = 1000
    private static let linesPerSecond = 20

    private let logger: Logger
    private let metadata: Logger.Metadata
    private var line: [UInt8] = []
    private var second: Int64 = 0
    private var lines = 0
    private(set) var isClosed = false

    init(logger: Logger, scheme: String, pid: pid_t) {
        self.logger = logger
        metadata = ["scheme": "\(scheme)", "pid": "\(pid)"]
    }

    /// Reads what is available.
    mutating func take(from descriptor: Descriptor) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor.rawValue, &buffer, buffer.count)
        if count == 0 { isClosed = true }
        for byte in buffer.prefix(max(0, count)) {
            if byte == UInt8(ascii: "\n") { write() } else if line.count < Self.longestLine { line.append(byte) }
        }
        if isClosed { write() }
    }

    private mutating func write() {
        defer { line = [] }
        let now = HelperProcess.now / 1000
        if now != second { (second, lines) = (now, 0) }
        lines += 1
        guard lines <= Self.linesPerSecond, !line.isEmpty else { return }
        let text = String(decoding: line, as: UTF8.self).unicodeScalars.filter {
            $0.properties.generalCategory != .control
        }
        logger.notice("helper: \(String(String.UnicodeScalarView(text)))", metadata: metadata)
    }
}

import FileKit
import Glibc
import Logging
import Threading
import TransferCore
import TransferModel

/// Writes swift-log's messages to standard error: as journal lines under systemd, otherwise as readable lines.
package struct DaemonLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let destination: LogDestination
    private let ceiling: Logger.Level

    /// - Parameter ceiling: more severe messages are written at this level. Used for tasks that only a debugging log
    ///   may mention.
    package init(_ destination: LogDestination, ceiling: Logger.Level = .critical) {
        self.destination = destination
        self.ceiling = ceiling
    }

    /// All loggers of the destination share one threshold, so that a reload also affects existing loggers.
    package var logLevel: Logger.Level {
        get { destination.level }
        set { destination.level = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let level = min(event.level, ceiling)
        guard level >= destination.level || level == .critical else { return }
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let own = event.metadata { all.merge(own) { _, new in new } }
        if let error = event.error { all["error"] = "\(error)" }
        destination.write(level: level, event.message.description, all)
    }
}

/// The destination of the process's log, its form, and its lowest level.
package final class LogDestination: Sendable {
    package let sink: LogSink
    package let format: LogFormat
    private let time: any TimeSource
    private let program: String
    private let countsRepeats: Bool
    private let threshold: Guarded<Logger.Level>
    private let repeats = Guarded(LogRepeats())
    /// Whether entries with fields are sent. The journal finds the unit of such an entry by its process, which must
    /// still exist. The stream on standard error does not depend on the process.
    private let hasFields: Guarded<Bool>

    /// - Parameters:
    ///   - program: the journal's name for it (SYSLOG_IDENTIFIER).
    ///   - countsRepeats: whether lines that repeat each other are counted, or all are written.
    package init(
        sink: LogSink, format: LogFormat, level: Logger.Level, time: any TimeSource = SystemTime(),
        program: String = "dld", countsRepeats: Bool = true
    ) {
        (self.sink, self.format, self.time) = (sink, format, time)
        (self.program, self.countsRepeats) = (program, countsRepeats)
        threshold = Guarded(level)
        hasFields = Guarded(format == .journal)
    }

    /// Writes the line, or counts it with others of its kind. Lines at `debug` and `trace`, and `critical` lines, which
    /// are about the end of the daemon, are always written.
    func write(level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        let now = time.reading()
        guard countsRepeats, level >= .info, level < .critical else { return put(level, message, metadata, now) }
        let kind = LogKind(
            level: level, message: message, code: metadata["code"]?.description,
            owner: metadata["owner"]?.description, host: metadata["host"]?.description)
        let (isWritten, due) = repeats.withLock { repeats in
            let due = repeats.due(at: now.boot)
            return (repeats.admits(kind, at: now), due)
        }
        for summary in due { put(summary, now) }
        if isWritten { put(level, message, metadata, now) }
    }

    /// Writes summaries of lines that were held back and whose window is over.
    package func writeDue() {
        let now = time.reading()
        for summary in repeats.withLock({ $0.due(at: now.boot) }) { put(summary, now) }
    }

    /// Writes summaries of all lines that were held back. These and later lines go only to standard error, without
    /// fields.
    package func writeLast() {
        hasFields.withLock { $0 = false }
        let now = time.reading()
        for summary in repeats.withLock({ $0.all() }) { put(summary, now) }
    }

    private func put(_ summary: LogRepeats.Summary, _ now: ClockReading) {
        guard summary.kind.level >= level else { return }
        var metadata: Logger.Metadata = ["since": "\(summary.since)", "total": "\(summary.total)"]
        if let code = summary.kind.code { metadata["code"] = "\(code)" }
        if let owner = summary.kind.owner { metadata["owner"] = "\(owner)" }
        if let host = summary.kind.host { metadata["host"] = "\(host)" }
        if !summary.isOver { metadata["count"] = "\(summary.count)" }
        let text = summary.isOver ? "no more of these" : "\(summary.count) more"
        put(summary.kind.level, "\(summary.kind.message): \(text)", metadata, now)
    }

    private func put(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, _ now: ClockReading) {
        var record = format.record(
            level: level, message: message, metadata: metadata, at: now.wall, program: program)
        if level >= .critical || !hasFields.withLock({ $0 }) { record.entry = nil }
        sink.write(record)
    }

    /// Standard error, in the form that `environment` asks for.
    package static func standardError(
        environment: [String: String], level: Logger.Level, program: String = "dld", countsRepeats: Bool = true
    ) -> LogDestination {
        let format: LogFormat =
            isJournal(descriptor: STDERR_FILENO, environment: environment) ? .journal : .readable
        return LogDestination(
            sink: .standardError, format: format, level: level, program: program, countsRepeats: countsRepeats)
    }

    /// Whether the descriptor is the journal's own socket (systemd.exec(5), JOURNAL_STREAM). The variable is inherited by
    /// children whose output goes elsewhere, so device and inode must match.
    static func isJournal(descriptor: Int32, environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    package var level: Logger.Level {
        get { threshold.withLock { $0 } }
        set { threshold.withLock { $0 = newValue } }
    }

    package func logger(label: String = "dld", ceiling: Logger.Level = .critical) -> Logger {
        Logger(label: label) { _ in DaemonLogHandler(self, ceiling: ceiling) }
    }
}

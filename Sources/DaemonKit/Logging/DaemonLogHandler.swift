import Logging
import Threading
import TransferModel

/// swift-log's way to standard error: journal lines under systemd, readable ones else.
package struct DaemonLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let destination: LogDestination

    package init(_ destination: LogDestination) { self.destination = destination }

    /// One threshold for all loggers of the destination, so that a reload reaches those that exist already.
    package var logLevel: Logger.Level {
        get { destination.level }
        set { destination.level = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let own = event.metadata { all.merge(own) { _, new in new } }
        if let error = event.error { all["error"] = "\(error)" }
        let format = destination.format
        destination.sink.write(
            format.line(level: event.level, message: event.message.description, metadata: all, at: .now()))
    }
}

/// Where the process's log goes, in which form, and from which level on.
package final class LogDestination: Sendable {
    package let sink: LogSink
    package let format: LogFormat
    private let threshold: Guarded<Logger.Level>

    package init(sink: LogSink, format: LogFormat, level: Logger.Level) {
        self.sink = sink
        self.format = format
        threshold = Guarded(level)
    }

    /// Standard error, in the form that `environment` asks for.
    package static func standardError(environment: [String: String], level: Logger.Level) -> LogDestination {
        let format: LogFormat =
            JournalStream.isStandardError(environment: environment) ? .journal : .readable
        return LogDestination(sink: .standardError, format: format, level: level)
    }

    package var level: Logger.Level {
        get { threshold.withLock { $0 } }
        set { threshold.withLock { $0 = newValue } }
    }

    package func logger(label: String = "dld") -> Logger {
        Logger(label: label) { _ in DaemonLogHandler(self) }
    }
}

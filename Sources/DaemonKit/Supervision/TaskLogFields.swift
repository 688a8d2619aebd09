import FileKit
import Logging
import TransferCore
import TransferModel
import TransferRPC

/// The level and fields of a task's log lines. docs/operations.md lists the names.
enum TaskLogFields {
    /// A state that an administrator may have to act on is a warning.
    static func level(of status: TaskStatus) -> Logger.Level {
        switch (status.state, status.reason) {
        case (.failed, _), (.waiting, .disk), (.waiting, .authentication): .warning
        case (.waiting, _), (.completed, _), (.cancelled, _), (.paused, _): .info
        case (.queued, _), (.running, _): .debug
        }
    }

    static func fields(of record: TaskRecord) -> Logger.Metadata {
        let status = record.status
        var fields: Logger.Metadata = [
            "task": "\(record.id)", "owner": "\(record.session.owner)", "session": "\(record.session.identifier)",
            "host": "\(record.host)", "attempt": "\(status.attempts)",
            "url": .stringConvertible(Late { URLRules.redacted(record.spec.url ?? "") }),
        ]
        if let reason = status.reason { fields["reason"] = "\(reason.rawValue)" }
        if let error = status.error {
            fields["code"] = "\(error.code.rawValue)"
            fields["error"] = .stringConvertible(Late { ProtocolWords.asCommands(error.message, task: record.id) })
            if let answer = error.details["status"]?.integerValue { fields["status"] = "\(answer)" }
        }
        if let next = status.nextAttemptAt { fields["next"] = "\(next)" }
        if let file = record.result?.file { fields["file"] = "\(file)" }
        return fields
    }

    /// Made only when the line is really written. Commands of dlctl take the place of protocol words, because readers of the
    /// log use those.
    private struct Late: CustomStringConvertible, Sendable {
        let text: @Sendable () -> String
        var description: String { text() }
    }
}

import ArgumentParser
import TransferModel

/// What the process says to its parent; part of the contract, so scripts may rely on it.
enum ExitStatus: Int32 {
    case done = 0
    /// A task failed or was cancelled, or this program could not do its part.
    case failed = 1
    case usage = 2
    case noDaemon = 3
    case refused = 4
    case interrupted = 130
}

/// Why a command ended early; each case has its exit status and its words.
enum CommandFailure: Error, Hashable {
    /// A task that was waited for failed or was cancelled; the display has said which.
    case taskFailed
    /// Something on this side did not work: a file that cannot be read, a daemon that speaks another protocol.
    case local(String)
    case usage(String)
    case noDaemon(String)
    /// - Parameter about: of several tasks, the one that is meant.
    case refused(TransferError, about: String? = nil)
    /// Some of several tasks were refused, and the report has said which.
    case refusedSome
    case interrupted

    var status: ExitStatus {
        switch self {
        case .taskFailed, .local: .failed
        case .usage: .usage
        case .noDaemon: .noDaemon
        case .refused, .refusedSome: .refused
        case .interrupted: .interrupted
        }
    }

    /// nil if everything has been said already.
    var message: String? {
        switch self {
        case .taskFailed, .refusedSome, .interrupted: nil
        case .local(let text), .usage(let text), .noDaemon(let text): text
        case .refused(let error, let subject):
            "refused (\(error.code.rawValue)): \(CommandWords.refusal(error, about: subject))"
        }
    }

    /// The same for programs, in the form of the wire's `error.data`.
    var value: JSONValue? {
        switch self {
        case .taskFailed, .refusedSome, .interrupted: nil
        case .local(let text): .object(["error": ["code": "local", "message": .string(text)]])
        case .usage(let text): .object(["error": ["code": "usage", "message": .string(text)]])
        case .noDaemon(let text): .object(["error": ["code": "no_daemon", "message": .string(text)]])
        case .refused(let error, _):
            .object([
                "error": [
                    "code": .string(error.code.rawValue), "message": .string(error.message),
                    "retryable": .bool(error.retryable), "details": .object(error.details),
                ]
            ])
        }
    }
}

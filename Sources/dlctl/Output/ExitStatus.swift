import ArgumentParser
import TransferModel

/// The exit status of the process. It is part of the contract, so scripts may rely on it.
enum ExitStatus: Int32 {
    case done = 0
    /// A task failed or was cancelled, or dlctl could not do its own part.
    case failed = 1
    case usage = 2
    case noDaemon = 3
    case refused = 4
    /// The time limit of `wait` has passed.
    case timedOut = 5
    case interrupted = 130
}

/// Why a command ended early. Each case has its exit status and its message.
enum CommandFailure: Error, Hashable {
    /// An awaited task failed or was cancelled. The display has already shown which.
    case taskFailed
    /// Something failed on this side: a file cannot be read, or the daemon uses another protocol.
    case local(String)
    case usage(String)
    case noDaemon(String)
    /// - Parameter about: names the task at fault if there are several.
    case refused(TransferError, about: String? = nil)
    /// Some of several tasks were refused. The report has already named them.
    case refusedSome
    case interrupted
    /// The awaited event did not happen within the time limit.
    case timedOut(String)

    var status: ExitStatus {
        switch self {
        case .taskFailed, .local: .failed
        case .usage: .usage
        case .noDaemon: .noDaemon
        case .refused, .refusedSome: .refused
        case .interrupted: .interrupted
        case .timedOut: .timedOut
        }
    }

    /// nil if everything has already been reported.
    var message: String? {
        switch self {
        case .taskFailed, .refusedSome, .interrupted: nil
        case .local(let text), .usage(let text), .noDaemon(let text), .timedOut(let text): text
        case .refused(let error, let subject):
            "refused (\(error.code.rawValue)): \(CommandWords.refusal(error, about: subject))"
        }
    }

    /// The failure for programs, in the form of the wire's `error.data`.
    var value: JSONValue? {
        switch self {
        case .taskFailed, .refusedSome, .interrupted: nil
        case .local(let text): .object(["error": ["code": "local", "message": .string(text)]])
        case .usage(let text): .object(["error": ["code": "usage", "message": .string(text)]])
        case .noDaemon(let text): .object(["error": ["code": "no_daemon", "message": .string(text)]])
        case .timedOut(let text): .object(["error": ["code": "timeout", "message": .string(text)]])
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

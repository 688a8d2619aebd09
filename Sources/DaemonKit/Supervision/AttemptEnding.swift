import TransferCore
import TransferModel

/// How one attempt at a task ended, whatever its kind.
enum AttemptEnding: Sendable {
    /// Done, and stored so.
    case completed(TaskTransitions.Outcome)
    case failed(AttemptFailure)
    /// The bytes do not match a digest; they are dropped.
    case integrityFailed(TransferError)
    case blocked(WaitReason, TransferError)
    case aborted

    var isCompleted: Bool { if case .completed = self { true } else { false } }
}

/// What the supervisor runs: one attempt at one task.
protocol TransferAttempt: Sendable {
    func perform() async -> AttemptEnding
}

extension AttemptEnding {
    /// The ending that `body` returns, or that what it throws means.
    static func of(_ body: () async throws -> AttemptEnding) async -> AttemptEnding {
        do {
            return try await body()
        } catch let failure as AttemptFailure {
            return .failed(failure)
        } catch let error as TransferError {
            return AttemptEnding(error)
        } catch is CancellationError {
            return .aborted
        } catch {
            return .failed(AttemptFailure(error: TransferError(.internal, "\(error)"), disposition: .permanent))
        }
    }

    /// Disk troubles wait, everything else that the daemon itself finds is final.
    private init(_ error: TransferError) {
        switch error.code {
        case .diskFull, .diskQuota, .diskIO: self = .blocked(.disk, error)
        case .integrityChecksum: self = .integrityFailed(error)
        case .cancelled: self = .aborted
        default: self = .failed(AttemptFailure(error: error, disposition: .permanent))
        }
    }
}

import FileKit
import TransferCore
import TransferModel

/// How one attempt ended, for every kind of task. It is indirect, because every frame that passes it on has room for
/// it. It is thrown if the attempt cannot continue.
indirect enum AttemptEnding: Error {
    /// Completed and stored.
    case completed(TaskTransitions.Outcome)
    /// Failed, with the notes to store in the same commit. A crash between two commits would leave only one of them, and
    /// the daemon might repeat a request that must not be repeated.
    case failed(AttemptFailure, PendingNotes? = nil)
    /// The bytes do not match a digest, or are not in their coding, and are dropped.
    case integrityFailed(TransferError)
    /// The task waits for its disk.
    case blocked(TransferError)
    case aborted

    var isCompleted: Bool { if case .completed = self { true } else { false } }

    /// The same ending, but as if the disk had no visible problem.
    var withReadyDisk: AttemptEnding {
        switch self {
        case .blocked(let error): .failed(AttemptFailure(error: error, disposition: .disk).withReadyDisk)
        case .failed(let failure, let notes): .failed(failure.withReadyDisk, notes)
        case .completed, .integrityFailed, .aborted: self
        }
    }

    /// The same ending with the message of `cause`, which comes from a check of the disk, if both have the same code.
    func explained(by cause: TransferError) -> AttemptEnding {
        guard var error = diskError, error.code == cause.code else { return self }
        error.message = cause.message
        error.details.merge(cause.details) { _, new in new }
        guard case .failed(var failure, let notes) = self else { return .blocked(error) }
        failure.error = error
        return .failed(failure, notes)
    }

    /// The error that makes the task wait for its disk; nil if it does not.
    var diskError: TransferError? {
        switch self {
        case .blocked(let error): error
        case .failed(let failure, _): failure.disposition == .disk ? failure.error : nil
        case .completed, .integrityFailed, .aborted: nil
        }
    }
}

/// One attempt to carry out a task.
protocol TransferAttempt: Sendable {
    var record: TaskRecord { get }
    var policy: EffectivePolicy { get }
    /// Starts the attempt and returns at once.
    /// - Parameters:
    ///   - beginnings: limits how many attempts that must wait for their file system begin at a time.
    ///   - ended: called once, on any thread, possibly before this function returns.
    func begin(_ beginnings: Turnstiles, ended: @escaping @Sendable (AttemptEnding) -> Void)
}

extension AttemptEnding {
    /// The ending that `body` returns, or the ending for the error that it throws.
    static func of(_ body: () async throws -> AttemptEnding) async -> AttemptEnding {
        do {
            return try await body()
        } catch {
            return AttemptEnding(of: error)
        }
    }

    /// The ending for an error that ends an attempt.
    init(of error: any Error) {
        switch error {
        case let failure as AttemptFailure: self = .failed(failure)
        case let ending as AttemptEnding: self = ending
        case let error as TransferError: self = AttemptEnding(error)
        case is CancellationError: self = .aborted
        default:
            self = .failed(AttemptFailure(error: TransferError(.internal, "\(error)"), disposition: .permanent))
        }
    }

    /// A task waits after a problem of the disk. Every other error found by the daemon itself is final.
    private init(_ error: TransferError) {
        switch error.code {
        case .diskFull, .diskQuota, .diskIO: self = .blocked(error)
        case .integrityChecksum: self = .integrityFailed(error)
        case _ where error.isUndecodable: self = .integrityFailed(error)
        case .cancelled: self = .aborted
        default: self = .failed(AttemptFailure(error: error, disposition: .permanent))
        }
    }
}

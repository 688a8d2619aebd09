import FileKit
import TransferCore
import TransferModel

/// How one attempt at a task ended, whatever its kind; indirect, because every frame on its way has room for it.
indirect enum AttemptEnding: Sendable {
    /// Done, and stored so.
    case completed(TaskTransitions.Outcome)
    /// With what is to be stored in the same commit.
    case failed(AttemptFailure, PendingNotes? = nil)
    /// The bytes do not match a digest; they are dropped.
    case integrityFailed(TransferError)
    case blocked(WaitReason, TransferError)
    case aborted

    var isCompleted: Bool { if case .completed = self { true } else { false } }

    /// The same ending where nothing is wrong with the disk that can be seen.
    var withReadyDisk: AttemptEnding {
        switch self {
        case .blocked(.disk, let error):
            .failed(AttemptFailure(error: error, disposition: .disk).withReadyDisk)
        case .failed(let failure, let notes): .failed(failure.withReadyDisk, notes)
        case .completed, .integrityFailed, .blocked, .aborted: self
        }
    }

    /// The same ending with the sentence of `cause`, which has looked at the disk, if both are of one kind.
    func explained(by cause: TransferError) -> AttemptEnding {
        switch self {
        case .blocked(.disk, var error) where error.code == cause.code:
            error.message = cause.message
            error.details.merge(cause.details) { _, new in new }
            return .blocked(.disk, error)
        case .failed(var failure, let notes) where failure.error.code == cause.code:
            failure.error.message = cause.message
            failure.error.details.merge(cause.details) { _, new in new }
            return .failed(failure, notes)
        case .completed, .failed, .integrityFailed, .blocked, .aborted: return self
        }
    }

    /// What a disk is waited for because of.
    var diskError: TransferError? {
        switch self {
        case .blocked(.disk, let error): error
        case .failed(let failure, _): failure.error
        case .blocked, .completed, .integrityFailed, .aborted: nil
        }
    }

    var waitsForDisk: Bool {
        switch self {
        case .blocked(let reason, _): reason == .disk
        case .failed(let failure, _): if case .disk = failure.disposition { true } else { false }
        case .completed, .integrityFailed, .aborted: false
        }
    }
}

/// A request failed, and what is known of it now is to be stored together with that. Whoever died in between would know the
/// one without the other, and might repeat what must not be repeated.
struct FailedRequest: Error {
    var failure: AttemptFailure
    var notes: PendingNotes
}

/// One attempt at one task.
protocol TransferAttempt: Sendable {
    var record: TaskRecord { get }
    var policy: EffectivePolicy { get }
    /// Returns at once.
    /// - Parameters:
    ///   - beginnings: bound how many attempts begin at a time that have to wait for their file system.
    ///   - ended: called once, on any thread, maybe before this returns.
    func begin(_ beginnings: Turnstiles, ended: @escaping @Sendable (AttemptEnding) -> Void)
}

extension AttemptEnding {
    /// The ending that `body` returns, or that what it throws means.
    static func of(_ body: () async throws -> AttemptEnding) async -> AttemptEnding {
        do {
            return try await body()
        } catch {
            return AttemptEnding(of: error)
        }
    }

    /// What an error means that ends an attempt.
    init(of error: any Error) {
        switch error {
        case let failure as AttemptFailure: self = .failed(failure)
        case let failed as FailedRequest: self = .failed(failed.failure, failed.notes)
        case let error as TransferError: self = AttemptEnding(error)
        case is CancellationError: self = .aborted
        default:
            self = .failed(AttemptFailure(error: TransferError(.internal, "\(error)"), disposition: .permanent))
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

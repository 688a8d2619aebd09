import Glibc
import TransferModel

/// The meaning of a failed system call on a local file for a task (errno(3)).
enum LocalFailures {
    /// - Parameter operation: what failed, such as `write the part file`. If it names the `source`, the failure
    ///   concerns the file that is read, not the one that is written.
    static func classify(errno code: Int32, operation: String) -> AttemptFailure {
        var failure = operation.contains("source") ? reading(code) : writing(code, operation)
        failure.error.details[errnoMember] = .integer(Int64(code))
        failure.error.details[operationMember] = .string(operation)
        return failure
    }

    private static let errnoMember = "errno"
    private static let operationMember = "operation"

    /// The sentence of an error if the destination exists and has room: it must not claim otherwise.
    static func withReadyDisk(_ error: TransferError) -> String {
        guard let operation = error.details[operationMember]?.stringValue,
            let code = error.details[errnoMember]?.integerValue.flatMap({ Int32(exactly: $0) })
        else { return error.message }
        return "The destination folder is there and has room, but its file system refuses the file "
            + "(\(operation): \(text(of: code)))."
    }

    private static func writing(_ code: Int32, _ operation: String) -> AttemptFailure {
        switch code {
        case EINVAL where operation == "open", ENAMETOOLONG, EILSEQ:
            return FailureClassifier.permanent(
                .destinationBadPath,
                "The destination's file system accepts no file with this name; choose another destination (task.update), "
                    + "then task.retry.")
        case ENOSPC:
            return disk(.diskFull, "No space is left in the destination folder; it continues when there is.")
        case EDQUOT:
            return disk(.diskQuota, "The disk quota of the destination is used up; it continues when there is room.")
        case EACCES, EPERM:
            return FailureClassifier.permanent(
                .destinationNotWritable,
                "The destination folder cannot be written; change its rights, or the destination (task.update), "
                    + "then task.retry.")
        case EFBIG where operation == "fallocate":
            return tooLarge(FileSizeLimit.announced())
        case EFBIG:
            return tooLarge(
                FileSizeLimit.sentence(otherwise: "choose another destination (task.update), then task.retry."))
        case EROFS:
            return disk(.diskIO, "The destination is mounted read-only; it continues when it is writable.")
        case ENOENT, ENOTDIR, ENODEV, ENXIO, ESTALE:
            return disk(.diskIO, "The destination folder is gone (unmounted?); it continues when it is back.")
        default:
            return disk(.diskIO, "The disk failed: \(text(of: code)).")
        }
    }

    /// Other permissions would not help, so clients are told.
    private static func tooLarge(_ sentence: String) -> AttemptFailure {
        AttemptFailure(
            error: TransferError(
                .destinationNotWritable, sentence, retryable: false, details: [TransferError.tooLargeMember: true]),
            disposition: .permanent)
    }

    private static func reading(_ code: Int32) -> AttemptFailure {
        let sentence = "The source file cannot be read: \(text(of: code))"
        return [EIO, ESTALE, EMFILE, ENFILE, ENOMEM].contains(code)
            ? FailureClassifier.transient(.sourceUnreadable, "\(sentence).")
            : FailureClassifier.permanent(.sourceUnreadable, "\(sentence); correct it, then task.retry.")
    }

    private static func disk(_ code: ErrorCode, _ message: String) -> AttemptFailure {
        AttemptFailure(error: TransferError(code, message), disposition: .disk)
    }

    private static func text(of code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

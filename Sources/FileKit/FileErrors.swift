import Glibc
import TransferCore
import TransferModel

extension TransferError {
    /// The error of the shared vocabulary for a failed system call on a destination.
    ///
    /// Conditions that pass by themselves (space, quota, input/output, a file system that became read-only) become
    /// `disk.*`, and mistakes of the caller become `destination.*`.
    package static func destination(errno code: Int32, _ action: String, _ path: String) -> TransferError {
        let reason = errorText(code)
        let details: [String: JSONValue] = ["path": .string(path), "errno": .integer(Int64(code))]
        if let disk = disk(errno: code, action, path) { return disk }
        switch code {
        case EACCES, EPERM:
            return TransferError(
                .destinationNotWritable, "Cannot \(action) \(path): \(reason). Choose a folder you may write to.",
                details: details)
        case EFBIG:
            return TransferError(
                .destinationNotWritable,
                "Cannot \(action) \(path): \(reason). "
                    + FileSizeLimit.sentence(otherwise: "choose another destination (task.update), then task.retry."),
                details: details)
        case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL, EXDEV, EILSEQ:
            return TransferError(
                .destinationBadPath, "Cannot \(action) \(path): \(reason). Check the path.", details: details)
        case EEXIST:
            return TransferError(
                .destinationExists, "Cannot \(action) \(path): it exists already. Choose another name or policy.",
                details: details)
        default:
            return TransferError(.diskIO, "Cannot \(action) \(path): \(reason).", details: details)
        }
    }

    /// The error for a failed read of a local file that a client named.
    package static func source(errno code: Int32, _ path: String) -> TransferError {
        let details: [String: JSONValue] = ["path": .string(path), "errno": .integer(Int64(code))]
        // The last three say nothing about the file: this process or the machine lacks resources now.
        if [EIO, ESTALE, EMFILE, ENFILE, ENOMEM].contains(code) {
            return TransferError(.diskIO, "Cannot read \(path): \(errorText(code)).", details: details)
        }
        return TransferError(
            .sourceUnreadable, "Cannot read \(path): \(errorText(code)). Check the path and its permissions.",
            details: details)
    }

    /// The `disk.*` errors, for which a task waits instead of failing; nil for every other cause.
    package static func disk(errno code: Int32, _ action: String, _ path: String) -> TransferError? {
        let details: [String: JSONValue] = ["path": .string(path), "errno": .integer(Int64(code))]
        switch code {
        case ENOSPC:
            return TransferError(
                .diskFull, "There is no space left to \(action) \(path). Free some; the task resumes by itself.",
                details: details)
        case EDQUOT:
            return TransferError(
                .diskQuota, "The disk quota does not let dld \(action) \(path). Free some; the task resumes by itself.",
                details: details)
        case EIO, EROFS, ESTALE, ENODEV, ENXIO, ENOTCONN, ETIMEDOUT, ESHUTDOWN:
            return TransferError(
                .diskIO, "The disk does not let dld \(action) \(path): \(errorText(code)). Check it.",
                details: details)
        default:
            return nil
        }
    }

    /// The folder recorded when the task was added is gone, or another file system is mounted there.
    /// - Parameter fault: nil if the part file is at fault, and not the folder.
    static func targetAbsent(_ path: String, _ reason: String, _ fault: FolderFault? = nil) -> TransferError {
        var details: [String: JSONValue] = ["path": .string(path)]
        if let fault { details[FolderFault.member] = .string(fault.rawValue) }
        return TransferError(
            .diskIO, "\(path): \(reason). Put it back, or plug in or mount its disk; the task resumes by itself.",
            details: details)
    }
}

/// `strerror`, without its shared buffer.
package func errorText(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else { return "error \(code)" }
        return String(cString: base)
    }
}

/// Repeats a call that a signal interrupted. Returns the result, and errno if that is negative.
package func retrying<T: SignedInteger>(_ call: () -> T) -> (result: T, errno: Int32) {
    while true {
        let result = call()
        let code = result < 0 ? errno : 0
        if result >= 0 || code != EINTR { return (result, code) }
    }
}

import Glibc
import TransferModel

/// A failed system call on a local file.
package struct LocalFailure: Error, Sendable, Hashable {
    package var errno: Int32
    /// The call, named like its manual page.
    package var operation: String

    init(_ operation: String, errno: Int32 = Glibc.errno) {
        self.errno = errno
        self.operation = operation
    }

    /// The file is shorter than what was written to it.
    static let cut = LocalFailure("fstat", errno: ESTALE)

    /// A lack of room for these bytes says nothing against the bytes before them; any other failure does.
    var sparesWritten: Bool { operation == "pwrite" && [ENOSPC, EDQUOT, EFBIG].contains(errno) }

    /// The error for a client; `path` names the file.
    func transferError(_ path: String) -> TransferError {
        let reason = String(cString: strerror(errno))
        let code: ErrorCode =
            switch errno {
            case ENOSPC: .diskFull
            case EDQUOT: .diskQuota
            case EACCES, EPERM, EFBIG: .destinationNotWritable
            case ENAMETOOLONG, ELOOP, EISDIR, EINVAL: .destinationBadPath
            default: .diskIO
            }
        return TransferError(
            code, "\(operation) of \(path) failed: \(reason).",
            details: ["path": .string(path), "errno": .integer(Int64(errno))])
    }
}

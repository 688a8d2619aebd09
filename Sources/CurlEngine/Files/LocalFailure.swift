import Glibc
import TransferModel

/// A system call on a local file that failed.
package struct LocalFailure: Error, Sendable, Hashable {
    package var errno: Int32
    /// The call, as its manual page is named.
    package var operation: String

    init(_ operation: String, errno: Int32 = Glibc.errno) {
        self.errno = errno
        self.operation = operation
    }

    /// The file is shorter than what was written to it.
    static let cut = LocalFailure("fstat", errno: ESTALE)

    /// No room for these bytes says nothing against those before them; any other failure does.
    var sparesWritten: Bool { operation == "pwrite" && [ENOSPC, EDQUOT, EFBIG].contains(errno) }

    /// What a client is told; `path` names the file.
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

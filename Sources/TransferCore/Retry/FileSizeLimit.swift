import Glibc
import TransferModel

/// How much the daemon may write into one file (RLIMIT_FSIZE, getrlimit(2)), inherited from the process that started
/// it.
package enum FileSizeLimit {
    /// nil = no limit.
    package static var current: ByteCount? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur < UInt(Int64.max)
        else { return nil }
        return ByteCount(Int64(limit.rlim_cur))
    }

    /// Explains that no file of the announced length can be made (EFBIG, posix_fallocate(3)).
    package static func announced(limit: ByteCount? = current) -> String {
        let sentence = """
            By the length that the server announces, the file does not fit on the destination's file system; choose another \
            destination (task.update), or check the URL, then task.retry.
            """
        guard let limit else { return sentence }
        return
            "\(sentence) The daemon may write no more than \(limit.rawValue) bytes into one file (ulimit -f, LimitFSIZE=)."
    }

    /// Explains why a file cannot grow (EFBIG, write(2)), and what to do about it.
    /// - Parameters:
    ///   - limit: the process's limit.
    ///   - otherwise: what to do if the process has no limit, so that the file system is what refuses.
    package static func sentence(limit: ByteCount? = current, otherwise: String) -> String {
        guard let limit else { return "The destination's file system allows no file this long; \(otherwise)" }
        return """
            The file is longer than the \(limit.rawValue) bytes that the daemon may write into one (ulimit -f). Raise the limit: \
            with LimitFSIZE= in dld.service (systemctl edit dld; for a user's own daemon systemctl --user edit dld), or, if \
            dlctl or a shell started dld, with ulimit -f unlimited there. Restart dld, then task.retry.
            """
    }
}

import Glibc

/// Tells whether standard error is the journal's own socket (systemd.exec(5), JOURNAL_STREAM).
enum JournalStream {
    static func isStandardError(environment: [String: String]) -> Bool {
        isJournal(descriptor: STDERR_FILENO, environment: environment)
    }

    /// The variable is inherited by children whose output goes elsewhere, so device and inode must match.
    static func isJournal(descriptor: Int32, environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

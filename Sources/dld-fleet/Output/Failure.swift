/// The status of the process; scripts rely on it.
enum ExitStatus: Int32, Sendable {
    case done = 0
    /// A job that was waited for failed or was cancelled; a migration is due; output cannot be written.
    case failed = 1
    case usage = 2
    case noDatabase = 3
    case refused = 4
    case timedOut = 5
    /// EX_PROTOCOL of sysexits.h: schema and program do not fit.
    case misfit = 76
    /// EX_CONFIG of sysexits.h: a new start would fail too.
    case configuration = 78
    case interrupted = 130
}

/// Why a command or the node ends early.
struct Failure: Error, Hashable, Sendable {
    let status: ExitStatus
    /// For programs: an SQLSTATE, or a word of this program such as `job.unknown`.
    let code: String
    let message: String
    /// Statements for an administrator, which are the output of the command.
    var statements: [String] = []

    init(_ status: ExitStatus, _ code: String, _ message: String, statements: [String] = []) {
        (self.status, self.code, self.message, self.statements) = (status, code, message, statements)
    }

    /// - Parameter error: of any call, once no repetition helps.
    init(_ error: DatabaseError) {
        // A conflict, a lock or a time-out is the answer of a database that is there.
        let isAnswer = ["40", "55P03", "57014"].contains(where: error.state.hasPrefix)
        let isLost = error.kind == .noConnection || error.kind == .toRepeat && !isAnswer
        self.init(
            isLost ? .noDatabase : .refused, error.state.isEmpty ? "database.unreachable" : error.state, error.message)
    }
}

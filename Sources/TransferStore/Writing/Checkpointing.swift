import CSQLite
import Threading

/// Makes WAL checkpoints on a separate connection while the writing thread continues: a commit does not wait for them.
///
/// The log can only begin again after all of it was copied, which never happens under continuous writing. So once the
/// log has `longest` pages, the writer copies the rest between two commits: what was added during the checkpoint.
final class Checkpointing: Sendable {
    private struct State {
        /// Length of the log after the last commit, in pages.
        var length = 0
        /// How much of it is known to be copied.
        var copied = 0
        var isCopying = false
        var mustFinish = false
        var hasGrown = false
        var isClosed = false
    }

    /// Pages after which a WAL checkpoint is due: 4 MiB.
    static let due = 1000
    /// Pages after which the log must begin again: 8 MiB, so that the reserve has room for it on a full disk.
    static let longest = 2048

    /// One WAL checkpoint at a time, and none during `close`.
    private let connection: Guarded<Connection>
    let thread: KeyedQueue
    private let state = Guarded(State())

    /// - Parameters:
    ///   - path: of a database in WAL mode.
    ///   - hasThread: false if the committing thread also copies.
    init(path: String, hasThread: Bool) throws {
        let connection = try Connection(path, patience: 0)
        try connection.execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 16")
        self.connection = Guarded(connection)
        thread = KeyedQueue(name: "dld-checkpoint", width: hasThread ? 1 : 0, limit: 1)
    }

    /// Is called after every commit of the writing connection, and replaces SQLite's own checkpoints. Must live as long
    /// as that connection is open.
    func follow(_ writer: Connection) {
        sqlite3_wal_hook(
            writer.handle,
            { context, _, _, length in
                guard let context else { return SQLITE_OK }
                Unmanaged<Checkpointing>.fromOpaque(context).takeUnretainedValue().committed(length: Int(length))
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The log now has this many pages.
    private func committed(length: Int) {
        let starts = state.withLock { state in
            if length < state.length { state.copied = 0 }  // it began anew
            state.length = length
            state.hasGrown = true
            guard length - state.copied >= Self.due, !state.isCopying, !state.mustFinish, !state.isClosed else {
                return false
            }
            state.isCopying = true
            return true
        }
        guard starts else { return }
        thread.post(on: 0) { [self] in copied(connection.withLock { try? $0.checkpoint() }) }
    }

    /// - Parameter result: nil if nothing could be copied, as on a full disk: the next commit tries again.
    func copied(_ result: (length: Int, copied: Int)?) {
        state.withLock { state in
            state.isCopying = false
            guard let result else { return }
            state.copied = result.copied
            state.mustFinish = result.length >= Self.longest && result.copied < result.length
        }
    }

    /// After a commit, on its thread: copies the rest of a log that is too long.
    func finishIfDue(_ writer: Connection) {
        let isDue = state.withLock { state in
            guard state.mustFinish, !state.isCopying else { return false }
            state.mustFinish = false
            return true
        }
        guard isDue, let result = try? writer.checkpoint() else { return }
        state.withLock { $0.copied = result.copied }
    }

    /// Copies all of the log and empties its file, if there is no reader or writer at the moment.
    /// - Returns: whether the file is empty now.
    func truncate() async -> Bool {
        await withCheckedContinuation { continuation in
            thread.post(on: 0) { [self] in
                let isEmptied = connection.withLock { (try? Self.empty($0)) != nil }
                if isEmptied { state.withLock { ($0.length, $0.copied) = (0, 0) } }
                continuation.resume(returning: isEmptied)
            }
        }
    }

    private static func empty(_ connection: Connection) throws {
        // So that the step that locks writers out has little to do.
        try connection.checkpoint()
        try connection.checkpoint(emptying: true)
    }

    /// Pages of the log after the last commit.
    var length: Int { state.withLock { $0.length } }

    /// Whether the commits since the last call made a log that is long enough to empty its file.
    func hasGrownLong() -> Bool {
        state.withLock { state in
            defer { state.hasGrown = false }
            return state.hasGrown && state.length >= Self.due
        }
    }

    /// Copies all of the log, so that the database is complete without it, and closes; call when nothing writes any
    /// more. What cannot be copied, as on a full disk, stays in the log, which is hardly longer than `longest`: this is
    /// quick.
    func close() {
        state.withLock { $0.isClosed = true }
        connection.withLock { connection in
            try? Self.empty(connection)
            connection.close()
        }
        thread.close()
    }
}

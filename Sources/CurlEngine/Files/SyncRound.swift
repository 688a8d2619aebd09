import CLinux
import Threading

/// Makes the files of one lane durable together: syncfs(2) for all of them, if that tells of failures.
///
/// An offset is told only after a sync that began when everything before it was written. A round that fails says not
/// whose bytes are lost, so then every file is asked by itself (fdatasync), which does.
final class SyncRound: Sendable {
    private struct State {
        var isRunning = false
        var choice = SyncChoice()
    }

    private let ledger: SinkLedger
    private let state = Guarded(State())

    init(ledger: SinkLedger) { self.ledger = ledger }

    /// Whether a round may begin: none is under way.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
    }

    func synchronize() {
        synchronize(whole: dld_syncfs)
        state.withLock { $0.isRunning = false }
    }

    /// - Parameter whole: syncs the file system of a descriptor, as syncfs(2).
    func synchronize(whole: (Int32) -> Int32) {
        let now = dld_monotonic_nanoseconds()
        let shares = ledger.files(of: self).compactMap { $0.joinRound(at: now) }
        // A descriptor tells of failures since it was opened: the oldest was before all bytes that count here.
        guard let oldest = shares.min(by: { $0.opened < $1.opened }) else { return }
        let way = state.withLock {
            $0.choice.way(files: shares.count, at: now) { dld_reports_whole_syncs(oldest.fileDescriptor) != 0 }
        }
        switch way {
        case .each: for share in shares { share.syncAlone() }
        case .whole:
            let isSound = whole(oldest.fileDescriptor) == 0
            let end = dld_monotonic_nanoseconds()
            state.withLock { $0.choice.took(end - now, at: end) }
            for share in shares { isSound ? share.synced() : share.syncAlone() }
        }
    }
}

/// A file's part in a round: one of the two is called, once.
struct SyncShare: Sendable {
    var fileDescriptor: Int32
    /// When the file was ready for the bytes that are to be synced.
    var opened: Int64
    /// What was written when the file joined is durable.
    var synced: @Sendable () -> Void
    /// The round says nothing of this file: it is synced by itself.
    var syncAlone: @Sendable () -> Void
}

/// How a round is synced: every file by itself, or the file system as a whole.
struct SyncChoice: Sendable {
    enum Way: Sendable { case each, whole }

    /// Below, the files themselves are synced sooner.
    static let fewestFiles = 32
    /// A sync of the whole that takes longer has waited for what others write.
    static let patience: Int64 = 700_000_000
    /// Then files are synced by themselves for so long.
    static let rest: Int64 = 60_000_000_000

    private var restsUntil: Int64 = .min

    /// - Parameter tells: whether the file system tells of failures when it is synced as a whole.
    func way(files: Int, at now: Int64, tells: () -> Bool) -> Way {
        files >= Self.fewestFiles && now >= restsUntil && tells() ? .whole : .each
    }

    /// Takes note of how long a sync of the whole took.
    mutating func took(_ nanoseconds: Int64, at now: Int64) {
        if nanoseconds > Self.patience { restsUntil = now + Self.rest }
    }
}

import CLinux
import Threading

/// Makes the files of one file system durable together: with syncfs(2) for all of them, if that reports failures.
///
/// An offset is reported only after a sync that began when everything before it was written. A failed round does not
/// say whose bytes are lost, so every file is then synced separately (fdatasync), which does.
final class SyncRound: Sendable {
    private struct State {
        var isRunning = false
        var choice = SyncChoice()
    }

    private let ledger: SinkLedger
    private let state = Guarded(State())

    init(ledger: SinkLedger) { self.ledger = ledger }

    /// Begins a round if none is under way; returns whether it did.
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

    /// - Parameter whole: syncs the file system of a descriptor, like syncfs(2).
    func synchronize(whole: (Int32) -> Int32) {
        let now = dld_monotonic_nanoseconds()
        let shares = ledger.files(of: self).compactMap { $0.joinRound(at: now) }
        // A descriptor reports failures since it was opened: the oldest was open before any byte that counts here was
        // written.
        guard let oldest = shares.min(by: { $0.opened < $1.opened }) else { return }
        let way = state.withLock {
            $0.choice.way(files: shares.count, at: now) { dld_reports_whole_syncs(oldest.fileDescriptor) != 0 }
        }
        switch way {
        case .each: for share in shares { share.syncAlone() }
        case .whole:
            let isSound = Durations.fileSyncs.measure { whole(oldest.fileDescriptor) } == 0
            let end = dld_monotonic_nanoseconds()
            state.withLock { $0.choice.took(end - now, at: end) }
            for share in shares { isSound ? share.synced() : share.syncAlone() }
        }
    }
}

/// A file's part in a round: one of the two functions is called, once.
struct SyncShare: Sendable {
    var fileDescriptor: Int32
    /// When the file was ready for the bytes that are to be synced.
    var opened: Int64
    /// The bytes written when the file joined are durable.
    var synced: @Sendable () -> Void
    /// The round says nothing about this file: it is synced separately.
    var syncAlone: @Sendable () -> Void
}

/// How a round is synced: each file separately, or the file system as a whole.
struct SyncChoice: Sendable {
    enum Way: Sendable { case each, whole }

    /// With fewer files, separate syncs are faster.
    static let fewestFiles = 32
    /// A sync of the whole that takes longer has waited for other programs' writes.
    static let patience: Int64 = 700_000_000
    /// How long files are then synced separately.
    static let rest: Int64 = 60_000_000_000

    private var restsUntil: Int64 = .min

    /// - Parameter tells: whether the file system reports failures when it is synced as a whole.
    func way(files: Int, at now: Int64, tells: () -> Bool) -> Way {
        files >= Self.fewestFiles && now >= restsUntil && tells() ? .whole : .each
    }

    /// Notes how long a sync of the whole took.
    mutating func took(_ nanoseconds: Int64, at now: Int64) {
        if nanoseconds > Self.patience { restsUntil = now + Self.rest }
    }
}

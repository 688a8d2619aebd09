import Threading
import TransferModel

/// What prevents the store from working.
package enum StoreTrouble: Hashable, Sendable {
    /// There is no room for the reserve: adds are refused.
    case full
    /// SQLite cannot read or write the database: a disk that fails.
    case unusable
    /// SQLite found a damaged page. It lasts as long as the daemon runs.
    case damaged
}

/// A trouble is reported once when it begins, with its error, and once when it is over.
package typealias StoreNews = (trouble: StoreTrouble, error: TransferError?)

/// Notices when the store cannot work and when it can again, however often calls fail meanwhile.
final class StoreHealth: Sendable {
    private struct State {
        var troubles: [StoreTrouble: TransferError] = [:]
        var lastFailure: ContinuousClock.Instant?
        var observer: (@Sendable (StoreNews) -> Void)?
        /// News that the observer has not heard yet, in order.
        var unheard: [StoreNews] = []
        /// A caller is telling them: others leave theirs to it, so that the order is kept.
        var isTelling = false
    }

    /// Not every read reaches what fails: a success within this time proves nothing.
    private let quiet: Duration
    private let state = Guarded(State())

    init(quiet: Duration = .seconds(5)) { self.quiet = quiet }

    /// Also reports to `body` what has already begun. Calls come in order, one at a time, on the thread of any caller and
    /// without a lock. There is one observer.
    func observe(_ body: @escaping @Sendable (StoreNews) -> Void) {
        state.withLock { state in
            state.observer = body
            state.unheard = state.troubles.map { ($0.key, $0.value) }
        }
        tell()
    }

    /// - Parameter error: nil if the trouble is over.
    func note(_ trouble: StoreTrouble, _ error: TransferError?) {
        state.withLock { state in
            if error != nil { state.lastFailure = .now }
            let isNews = (state.troubles[trouble] == nil) != (error == nil)
            state.troubles[trouble] = error
            if isNews, state.observer != nil { state.unheard.append((trouble, error)) }
        }
        tell()
    }

    /// Tells the observer all news, unless another caller is doing that.
    private func tell() {
        var isMine = false
        while true {
            let next = state.withLock { state -> (StoreNews, @Sendable (StoreNews) -> Void)? in
                guard isMine || !state.isTelling else { return nil }
                guard let observer = state.observer, !state.unheard.isEmpty else {
                    state.isTelling = false
                    return nil
                }
                state.isTelling = true
                return (state.unheard.removeFirst(), observer)
            }
            guard let (news, observer) = next else { return }
            isMine = true
            observer(news)
        }
    }

    /// The error, if there is damage.
    var damage: TransferError? { state.withLock { $0.troubles[.damaged] } }

    /// The error that prevents the store from working now.
    var trouble: TransferError? {
        state.withLock { $0.troubles[.damaged] ?? $0.troubles[.unusable] ?? $0.troubles[.full] }
    }

    /// A read or a commit failed with this error, as its caller gets it; only `disk.io` counts.
    /// - Returns: whether it counts.
    @discardableResult
    func failed(_ error: any Error) -> Bool {
        guard let failure = error as? TransferError, failure.code == .diskIO else { return false }
        note(StoreFailure.isDamage(failure) ? .damaged : .unusable, failure)
        return true
    }

    /// A read or a commit succeeded.
    func succeeded() {
        let isOver = state.withLock { state in
            guard state.troubles[.unusable] != nil, let last = state.lastFailure else { return false }
            return last.duration(to: .now) >= quiet
        }
        if isOver { note(.unusable, nil) }
    }
}

import CLinux
import Glibc

/// Counts how long calls took, for histograms.
package final class Durations: Sendable {
    package struct Counts: Sendable {
        /// Calls that took at most each of `bounds` but longer than the bound before; the last ones took longer than all.
        package var calls = [Int](repeating: 0, count: bounds.count + 1)
        package var nanoseconds: Int64 = 0
    }

    /// Seconds.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// Of fsync(2), fdatasync(2) and syncfs(2) in this process. Everything that syncs shares the kernel, so nothing passes
    /// this along.
    package static let fileSyncs = Durations()

    private let counts = Guarded(Counts())

    package init() {}

    package var current: Counts { counts.withLock { $0 } }

    /// Runs `call` and counts how long it takes, also if it fails; `errno` stays what the call left.
    package func measure<Result, Failure: Error>(_ call: () throws(Failure) -> Result) throws(Failure) -> Result {
        let start = dld_monotonic_nanoseconds()
        defer {
            let code = errno
            note(nanoseconds: dld_monotonic_nanoseconds() - start)
            errno = code
        }
        return try call()
    }

    func note(nanoseconds: Int64) {
        let seconds = Double(nanoseconds) / 1e9
        let place = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        counts.withLock { counts in
            counts.calls[place] += 1
            counts.nanoseconds += nanoseconds
        }
    }
}

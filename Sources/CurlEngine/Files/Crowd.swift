import Synchronization

/// Whether so many exchanges run that they are served together, once a second, and no longer one by one.
///
/// Served alone, one exchange is faster. Served together, they share one sync and one transaction, and need a fraction
/// of the wake-ups.
final class Crowd: Sendable {
    /// From this many exchanges on there is a crowd, and below `ends` there is none any more.
    static let begins = 64
    static let ends = 48

    private let crowded = Atomic<Bool>(false)

    var isCrowded: Bool { crowded.load(ordering: .relaxed) }

    /// Notes how many exchanges run.
    /// - Returns: whether that started or ended a crowd.
    func note(_ count: Int) -> Bool {
        let now = count >= (isCrowded ? Self.ends : Self.begins)
        return crowded.exchange(now, ordering: .relaxed) != now
    }
}

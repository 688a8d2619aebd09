import Synchronization

/// Whether so many exchanges run that they are looked after together, once a second, and no longer each by itself.
///
/// By itself is sooner for one; together is one sync, one transaction and a fraction of the wake-ups for all.
final class Crowd: Sendable {
    /// Exchanges from which there is a crowd, and below which there is none any more.
    static let begins = 64
    static let ends = 48

    private let crowded = Atomic<Bool>(false)

    var isCrowded: Bool { crowded.load(ordering: .relaxed) }

    /// Takes note of how many exchanges run.
    /// - Returns: whether that made or dispersed a crowd.
    func note(_ count: Int) -> Bool {
        let now = count >= (isCrowded ? Self.ends : Self.begins)
        return crowded.exchange(now, ordering: .relaxed) != now
    }
}

import TransferStore

/// What was invalidated while answers were read or fetched: those of before must not be kept after it.
///
/// Costs nothing while nothing is read.
struct Invalidations: Sendable {
    private struct Place: Hashable {
        /// nil for every one.
        var url: String?
        var place: CachePlace
    }

    /// Places that are told apart; of more each counts as invalidated.
    private static let most = 1024

    private var readings = 0
    private var clock = 0
    private var latest: [Place: Int] = [:]
    /// Everything before is taken for invalidated.
    private var floor = 0

    /// - Returns: what `concern` takes.
    mutating func begin() -> Int {
        readings += 1
        return clock
    }

    mutating func end() {
        readings -= 1
        if readings == 0 { (clock, floor, latest) = (0, 0, [:]) }
    }

    /// - Parameter url: nil for all of the place.
    mutating func note(_ url: String?, _ place: CachePlace) {
        guard readings > 0 else { return }
        clock += 1
        if latest.count >= Self.most { (floor, latest) = (clock, [:]) }
        latest[Place(url: url, place: place)] = clock
    }

    func concern(_ url: String, _ place: CachePlace, since begin: Int) -> Bool {
        let last = max(
            floor, latest[Place(url: url, place: place)] ?? 0, latest[Place(url: nil, place: place)] ?? 0)
        return last > begin
    }
}

/// Answers that are read or fetched since a moment. It ends with the last reference to it.
final class CacheReading: Sendable {
    let since: Int
    private let end: @Sendable () -> Void

    init(since: Int, end: @escaping @Sendable () -> Void) {
        self.since = since
        self.end = end
    }

    deinit { end() }
}

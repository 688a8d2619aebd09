import TransferCore
import TransferStore

/// Records what is invalidated while answers are read or fetched. Answers from before an invalidation must not be kept
/// after it.
///
/// It costs nothing while nothing is read.
struct Invalidations: Sendable {
    private struct Place: Hashable {
        /// nil for all URLs.
        var url: String?
        var place: CachePlace
    }

    /// The most invalidations that are distinguished. If there are more, everything counts as invalidated.
    private static let most = 1024

    private var readings = 0
    private var clock = 0
    private var latest: [Place: Int] = [:]
    /// Everything read before this moment counts as invalidated.
    private var floor = 0

    /// - Returns: the moment to pass to `concern`.
    mutating func begin() -> Int {
        readings += 1
        return clock
    }

    mutating func end() {
        readings -= 1
        if readings == 0 { (clock, floor, latest) = (0, 0, [:]) }
    }

    /// - Parameter url: nil for all URLs of the storage.
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

/// Stands for answers that are read or fetched since a moment. It ends with the last reference to it.
final class CacheReading: Sendable {
    let since: Int
    private let end: @Sendable () -> Void

    init(since: Int, end: @escaping @Sendable () -> Void) {
        self.since = since
        self.end = end
    }

    deinit { end() }
}

extension ExchangeOutcome {
    /// The URLs that each hop of an unsafe request invalidates.
    func invalidated(of exchange: Exchange) -> [String] {
        let hops = unsafeHops.flatMap { CacheRequest.invalidated(by: $0.head, method: $0.method, url: $0.head.url) }
        guard let head, !becameGET else { return hops }
        let url = head.redirects > 0 ? head.url : exchange.url
        return hops + CacheRequest.invalidated(by: head, method: exchange.method ?? "GET", url: url)
    }
}

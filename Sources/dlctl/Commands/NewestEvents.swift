import TransferModel
import TransferRPC

/// Finds the newest events that a query selects. Like tail(1), it reads backwards. It uses growing windows of the log,
/// because the query may select only few events.
struct NewestEvents {
    /// The query. Its `after` and `limit` are ignored.
    var query: ListEvents

    /// The first window, in sequence numbers, unless more events are wanted.
    private static let firstWidth = 100

    /// - Returns: at most `count`, oldest first.
    func read(_ count: Int, _ client: any DaemonCalling) async throws -> [EventView] {
        var end = try await client.head()
        var width = Int64(max(count, Self.firstWidth))
        var found: [EventView] = []
        while end > .zero, found.count < count {
            let start = SequenceNumber(end.rawValue - min(width, end.rawValue))
            found = try await events(after: start, through: end, client) + found
            end = start
            width = min(width, end.rawValue) * 4
        }
        return found.suffix(count)
    }

    private func events(
        after start: SequenceNumber, through end: SequenceNumber, _ client: any DaemonCalling
    ) async throws -> [EventView] {
        var query = query
        query.after = .after(start)
        query.limit = ListEvents.largestLimit
        var found: [EventView] = []
        while true {
            let page = try await client.call(Methods.listEvents, query)
            found += page.events.filter { $0.sequence.map { $0 <= end } ?? false }
            guard let next = page.nextAfter, next < end else { return found }
            query.after = .after(next)
        }
    }
}

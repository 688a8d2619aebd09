import DaemonKit

/// A subscriber's end of the wire. The daemon's lines wait here until the subscriber reads them. The queue is limited
/// as on a real connection.
///
/// The feed calls it while it holds its locks, so the consequences run in other jobs.
final class SubscriberConnection: EventSink, @unchecked Sendable {
    let id: Int
    private let feed: EventFeed
    private unowned let subscriber: Subscriber
    private(set) var isClosed = false
    private(set) var queuedBytes = 0
    private var isOverfull = false
    private var lines: [Line] = []
    private var waiters: [CheckedContinuation<Bool, Never>] = []

    private struct Line {
        var event: Subscriber.Told
        var size: Int
    }

    /// If more bytes wait, the feed reads nothing more from the store for the client.
    private static let crowded = 1000
    /// If more bytes wait, the connection is dropped.
    private let bound: Int

    /// - Parameter page: The number of events that may come at once.
    init(_ id: Int, _ subscriber: Subscriber, _ feed: EventFeed, page: Int) {
        self.id = id
        bound = Self.crowded + 700 * page
        self.subscriber = subscriber
        self.feed = feed
    }

    func send(_ pieces: [UInt8]...) {
        guard !isClosed else { return }
        guard queuedBytes <= bound else {
            isOverfull = true
            return close()
        }
        guard let event = subscriber.told(pieces) else { return }
        let size = pieces.reduce(1) { $0 + $1.count }
        lines.append(Line(event: event, size: size))
        queuedBytes += size
        if subscriber.isQuick { read(lines.count) }
    }

    /// The subscriber takes the first lines.
    func read(_ count: Int) {
        for line in lines.prefix(count) {
            queuedBytes -= line.size
            subscriber.read(line.event)
        }
        lines.removeFirst(min(count, lines.count))
        if !isCrowded { resumeWaiters(true) }
    }

    var isCrowded: Bool { queuedBytes > Self.crowded }

    func waitForRoom() async -> Bool {
        if isClosed { return false }
        if !isCrowded { return true }
        return await withCheckedContinuation { waiters.append($0) }
    }

    /// The daemon drops this client.
    func close() {
        guard !isClosed else { return }
        subscriber.dropped(excused: isOverfull || queuedBytes > 0)
        disconnect()
    }

    /// One side has closed the connection. The other side is told later.
    func disconnect() {
        guard !isClosed else { return }
        isClosed = true
        resumeWaiters(false)
        Task { feed.closed(id) }
    }

    private func resumeWaiters(_ answer: Bool) {
        let all = waiters
        waiters = []
        all.forEach { $0.resume(returning: answer) }
    }
}

import DaemonKit

/// A subscriber's end of the wire: what the daemon sends waits here, bounded as a real connection's queue is, until the
/// subscriber reads it.
///
/// The feed calls it while it holds its locks: what follows from that happens in other jobs.
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

    /// Above so many waiting bytes nothing more is read from the store for the client.
    private static let crowded = 1000
    /// Beyond so many it is dropped.
    private let bound: Int

    /// - Parameter page: events that may come at once.
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

    /// The subscriber takes what came first.
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

    /// Either side has closed the connection: the other one hears of it later.
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

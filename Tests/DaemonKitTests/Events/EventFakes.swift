import Foundation
import Logging
import Threading
import TransferModel
import TransferRPC

@testable import DaemonKit

/// A log in memory whose commits reach a feed like those of the store.
final class FakeLog: EventLog {
    private struct State {
        var events: [EventRecord] = []
        var first: Int64 = 1
        /// The owner whose events before `first` are dropped; nil for all owners.
        var expiredOwner: UserID?
        var acknowledged: [String: SequenceNumber] = [:]
        var feed: EventFeed?
        var reads = 0
    }
    private let state = Guarded(State())

    var reads: Int { state.withLock { $0.reads } }

    func attach(_ feed: EventFeed) { state.withLock { $0.feed = feed } }

    /// Stores events and passes them to the feed, in order even if several threads commit.
    func commit(
        _ count: Int = 1, type: EventType = .taskAdded, session: SessionKey = Sample.session, task: TaskID? = TaskID(1)
    ) {
        state.withLock { state in
            var new: [EventRecord] = []
            for _ in 0..<count {
                let event = EventRecord(
                    sequence: SequenceNumber(Int64(state.events.count + 1)), time: Sample.time, type: type,
                    session: session, task: task)
                state.events.append(event)
                new.append(event)
            }
            state.feed?.committed(new)
        }
    }

    /// Drops events before `first` like retention, for all owners or only for `owner`.
    func expire(before first: Int64, of owner: UserID? = nil) {
        state.withLock { state in
            state.first = first
            state.expiredOwner = owner
        }
    }

    func events(
        _ filter: EventFilter, after: SequenceNumber, limit: Int
    ) async throws -> (events: [EventRecord], head: SequenceNumber, first: SequenceNumber) {
        state.withLock { state in
            state.reads += 1
            let (first, owner) = (state.first, state.expiredOwner)
            let kept = state.events.dropFirst(Int(after.rawValue)).lazy.filter { event in
                let isGone = (event.sequence?.rawValue ?? 0) < first && owner.map { $0 == event.session.owner } ?? true
                return !isGone && filter.matches(event)
            }.prefix(limit)
            return (Array(kept), SequenceNumber(Int64(state.events.count)), SequenceNumber(state.first))
        }
    }

    func head() async throws -> SequenceNumber { state.withLock { SequenceNumber(Int64($0.events.count)) } }

    func acknowledged(_ name: String, owner: UserID) async throws -> SequenceNumber? {
        state.withLock { $0.acknowledged["\(owner)/\(name)"] }
    }

    func acknowledge(_ name: String, owner: UserID, _ sequence: SequenceNumber) async throws {
        state.withLock { $0.acknowledged["\(owner)/\(name)"] = sequence }
    }

    func forget(_ name: String, owner: UserID) async throws -> Bool {
        state.withLock { $0.acknowledged.removeValue(forKey: "\(owner)/\(name)") != nil }
    }
}

/// A client that keeps the lines it receives, and can stop reading.
final class FakeSink: EventSink {
    private struct State {
        var lines: [[UInt8]] = []
        var queued = 0
        var isStuck = false
        var isClosed = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }
    let id: Int
    private let state = Guarded(State())

    init(id: Int = 1) { self.id = id }

    var isClosed: Bool { state.withLock { $0.isClosed } }
    var queuedBytes: Int { state.withLock { $0.queued } }
    var isCrowded: Bool { queuedBytes > 0 }
    var count: Int { state.withLock { $0.lines.count } }
    var isWaiting: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// From now on, everything stays queued.
    func stick() { state.withLock { $0.isStuck = true } }

    /// Reads everything that is queued.
    func loosen() {
        let waiters = state.withLock { state in
            (state.isStuck, state.queued) = (false, 0)
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume(returning: true) }
    }

    /// The lines that were sent.
    var sent: [[UInt8]] { state.withLock { $0.lines } }

    func send(_ pieces: [UInt8]...) {
        state.withLock { state in
            let line = Array(pieces.joined())
            state.lines.append(line)
            if state.isStuck { state.queued += line.count }
        }
    }

    func waitForRoom() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.isClosed { return false }
                if !state.isStuck { return true }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume(returning: false) }
    }

    /// The decoded events. Waits until there are at least `count`.
    func events(_ count: Int) async -> [EventView] {
        _ = await eventually { self.count >= count }
        return state.withLock { $0.lines }.compactMap { line in
            guard let value = try? JSONTape(line, lenient: true).root, value.member("method")?.stringIfAny == "event",
                value.member("jsonrpc")?.stringIfAny == "2.0"
            else { return nil }
            return try? value.value("params", as: EventView.self)
        }
    }
}

enum Sample {
    static let time = Timestamp(milliseconds: 1_700_000_000_000)
    static let user = UserID(1000)
    static let session = SessionKey(owner: user, identifier: "work")

    static func figures(_ task: Int64, received: Int64 = 0) -> ProgressFigures {
        ProgressFigures(
            task: TaskID(task), session: session,
            live: LiveFigures(phase: .transferring, bytesReceived: received, bytesExpected: -1, rate: 0))
    }
}

/// The figures of running tasks that the feed gets.
final class FakeProgress: Sendable {
    private struct State {
        var figures: [ProgressFigures] = []
        var polls = 0
    }
    private let state = Guarded(State())

    var polls: Int { state.withLock { $0.polls } }
    /// Tells whether figures are requested this many times from now on.
    func isAskedAgain(_ times: Int) async -> Bool {
        let before = polls
        return await eventually { self.polls >= before + times }
    }

    func set(_ figures: [ProgressFigures]) { state.withLock { $0.figures = figures } }

    func snapshot() -> [ProgressFigures] {
        state.withLock { state in
            state.polls += 1
            return state.figures
        }
    }
}

/// Waits until `condition` holds. Returns false after a generous time.
func eventually(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<3000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}

func makeFeed(
    _ log: FakeLog, limits: EventFeed.Limits = EventFeed.Limits(), progress: FakeProgress = FakeProgress()
) async throws -> EventFeed {
    let feed = EventFeed(
        log: log, limits: limits, progress: progress.snapshot, progressInterval: { 0.1 },
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    log.attach(feed)
    try await feed.start()
    return feed
}

extension EventFeed {
    /// Subscribes and begins at once.
    func follow(
        _ sink: FakeSink, after: EventPosition? = nil, subscriber: String? = nil,
        filter: EventFilter = EventFilter(owner: .user(Sample.user)), progress: Seconds? = 0,
        peer: UserID = Sample.user
    ) async throws -> Ticket {
        let ticket = try await subscribe(
            SubscriptionRequest(
                after: after, subscriber: subscriber, filter: filter, peer: peer, progressInterval: progress),
            for: sink)
        begin(ticket)
        return ticket
    }
}

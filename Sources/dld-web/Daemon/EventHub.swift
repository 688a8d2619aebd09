import DequeModule
import JSONRPC
import Logging
import NIOConcurrencyHelpers
import NIOCore
import TransferModel
import TransferRPC

/// Passes the daemon's events to all open streams: each stored event once, in order and without a gap, also over the end of
/// the daemon or of this program.
///
/// It keeps the newest events, so that a page that was away for a moment goes on without a call. A page that was away for
/// longer gets what is missing from the daemon's log.
final class EventHub: Sendable {
    private struct State {
        /// The newest stored events, each with the text that streams get.
        var recent: Deque<(sequence: Int64, frame: ByteBuffer)> = []
        /// Of the frames in `recent`.
        var bytes = 0
        /// Every event after this one is in `recent`.
        var floor: Int64 = 0
        /// Grows when the daemon has another log.
        var logNumber = 0
        /// The newest stored event; nil before the daemon has been reached once.
        var head: Int64?
        var connection: RPCClientConnection?
        var progressSubscription: String?
        var isFollowingProgress = false
        var streams: [ObjectIdentifier: EventStream] = [:]
        var watchers: [@Sendable (JSONValue) -> Void] = []
        /// Something has happened since `daemon.stats` was asked last.
        var isDirty = true
        var isAsking = false
        var stats: ByteBuffer?
        var activeTransfers = 0
        var ticks = 0
        var rates = RateHistory()

        /// What is known begins after this event.
        mutating func forget(before start: Int64) { (recent, bytes, floor, head) = ([], 0, start, start) }
    }

    private static let mostRecent = 4096
    private static let mostBytes = 4 << 20
    private static let heartbeatTicks = 15
    private static let progressInterval = Seconds(0.5)
    private static let mostStreams = 64

    private let link: DaemonLink
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    init(_ link: DaemonLink, logger: Logger) { (self.link, self.logger) = (link, logger) }

    var head: Int64? { state.withLockedValue { $0.head } }
    var rates: RateHistory { state.withLockedValue { $0.rates } }
    var streamCount: Int { state.withLockedValue { $0.streams.count } }

    /// Calls `watcher` with each new event, in order, on the thread of the daemon's connection.
    func watch(_ watcher: @escaping @Sendable (JSONValue) -> Void) {
        state.withLockedValue { $0.watchers.append(watcher) }
    }

    // MARK: Streams

    /// Lets a stream begin after an event, or at the head.
    /// - Returns: false if there are too many streams.
    func open(_ stream: EventStream, after: Int64?) -> Bool {
        let isOpen = state.withLockedValue { state in
            guard state.streams.count < Self.mostStreams else { return false }
            state.streams[ObjectIdentifier(stream)] = stream
            return true
        }
        guard isOpen else { return false }
        Task {
            await followProgress()
            await begin(stream, after: after)
        }
        return true
    }

    func close(_ stream: EventStream) {
        state.withLockedValue { _ = $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
        Task { await followProgress() }
    }

    /// Ends the streams of these sessions; nil ends all.
    func end(sessions: Set<String>?) {
        let streams = state.withLockedValue { Array($0.streams.values) }
        for stream in streams where sessions.map({ $0.contains(stream.session) }) ?? true { stream.end() }
    }

    private func begin(_ stream: EventStream, after: Int64?) async {
        let (head, isUp, log) = state.withLockedValue { ($0.head, $0.connection != nil, $0.logNumber) }
        stream.send(EventFrame.hello(head: head, isUp: isUp), .log)
        var position = after
        while !stream.hasEnded {
            switch join(stream, after: position, log: log, saidUp: isUp) {
            case .live: return
            case .sent(let last):
                position = last
                await stream.drained()
                continue
            case .missing: break
            }
            guard let from = position else { return }
            // What is missing here may still be in the daemon's log.
            guard
                let page = try? await link.call(
                    Methods.listEvents, ListEvents(after: .after(SequenceNumber(from)), limit: ListEvents.largestLimit))
            else {
                try? await Task.sleep(for: .milliseconds(250))
                continue
            }
            if let first = page.first?.rawValue, first > from + 1 {
                stream.send(EventFrame.resync(head: page.head.rawValue), .log)
                position = page.head.rawValue
                continue
            }
            for event in page.events {
                guard let sequence = event.sequence?.rawValue else { continue }
                stream.send(EventFrame.log(sequence, JSONCoding.encode(event)), .log)
                position = sequence
            }
            if page.nextAfter == nil { position = max(position ?? 0, page.head.rawValue) }
            await stream.drained()
            // The hub hears of the newest events a moment after the log has them.
            if page.events.isEmpty { try? await Task.sleep(for: .milliseconds(100)) }
        }
    }

    private enum Joined {
        case live
        /// Events up to this one were sent, and more are here.
        case sent(Int64)
        /// What comes next is not here.
        case missing
    }

    /// Makes the stream a live one if all that it lacks is here and little. Under the lock, so that nothing new comes in
    /// between.
    private func join(_ stream: EventStream, after: Int64?, log: Int, saidUp: Bool) -> Joined {
        state.withLockedValue { state in
            if let head = state.head {
                if state.logNumber != log && log > 0 || after ?? head > head {
                    stream.send(EventFrame.resync(head: head), .log)
                } else {
                    let position = after ?? head
                    guard position >= state.floor else { return .missing }
                    var bytes = 0
                    for event in state.recent where event.sequence > position {
                        stream.send(event.frame, .log)
                        bytes += event.frame.readableBytes
                        if bytes > EventStream.bound / 2 { return .sent(event.sequence) }
                    }
                }
                if let stats = state.stats { stream.send(stats, .stats) }
            } else if after != nil {
                return .missing
            }
            if saidUp != (state.connection != nil) { stream.send(EventFrame.daemon(isUp: !saidUp), .log) }
            stream.becomeLive(head: state.head)
            return .live
        }
    }

    /// Progress is wanted only while somebody looks. One call at a time, until what is wanted is so.
    private func followProgress() async {
        let isMine = state.withLockedValue { state in
            defer { state.isFollowingProgress = true }
            return !state.isFollowingProgress
        }
        guard isMine else { return }
        while let connection = state.withLockedValue({ state -> RPCClientConnection? in
            let isWanted = !state.streams.isEmpty
            if let connection = state.connection, isWanted == (state.progressSubscription == nil) { return connection }
            state.isFollowingProgress = false
            return nil
        }) {
            await changeProgress(connection)
        }
    }

    private func changeProgress(_ connection: RPCClientConnection) async {
        if let open = state.withLockedValue({ $0.progressSubscription }) {
            state.withLockedValue { $0.progressSubscription = nil }
            _ = try? await connection.request(
                Methods.unsubscribe.name, JSONCoding.encode(Unsubscribe(subscription: open)))
        } else {
            let answer = try? await connection.request(
                Methods.subscribe.name,
                JSONCoding.encode(
                    Subscribe(after: .now, types: [.taskProgress], progressInterval: Self.progressInterval)))
            let made = answer.flatMap { try? JSONCoding.decode(Subscribed.self, from: $0, lenient: true) }
            state.withLockedValue { state in
                // A refusal, of which there should be none, is not repeated on this connection.
                if state.connection === connection { state.progressSubscription = made?.subscription ?? "" }
            }
            if made == nil { try? await Task.sleep(for: .milliseconds(100)) }
        }
    }

    /// To every live stream. Runs under the lock, which keeps the order.
    private static func send(_ frame: ByteBuffer, _ kind: EventFrame.Kind, _ state: inout State) {
        for stream in state.streams.values where stream.isLive { stream.send(frame, kind, head: state.head) }
    }

    // MARK: Each second

    /// Takes a sample of the rates, and sends what has changed. Does not wait for the daemon.
    func tick() {
        let mustAsk = state.withLockedValue { state in
            state.ticks += 1
            if state.ticks % Self.heartbeatTicks == 0 {
                for stream in state.streams.values { stream.send(EventFrame.heartbeat, .stats) }
            }
            guard state.connection != nil, !state.isAsking, state.isDirty || state.activeTransfers > 0 else {
                if !state.isAsking { state.rates.add(down: 0, up: 0) }
                return false
            }
            (state.isDirty, state.isAsking) = (false, true)
            return true
        }
        if mustAsk { Task { await askForStats() } }
    }

    private func askForStats() async {
        let stats = try? await link.call(Methods.daemonStats.name, Array("{}".utf8))
        let figures = stats.flatMap { try? JSONCoding.decode(DaemonStats.self, from: $0, lenient: true) }
        state.withLockedValue { state in
            state.isAsking = false
            state.rates.add(down: figures?.downloadRate.rawValue ?? 0, up: figures?.uploadRate.rawValue ?? 0)
            state.activeTransfers = figures?.activeTransfers ?? 0
            guard let stats else { return state.isDirty = true }
            let frame = EventFrame.stats(stats)
            state.stats = frame
            Self.send(frame, .stats, &state)
        }
    }
}

// MARK: - The daemon's side

extension EventHub: DaemonLink.Follower {
    func came(_ connection: RPCClientConnection) async throws {
        let known = state.withLockedValue { state in
            // Notifications may come before the subscription's answer has been read.
            state.connection = connection
            return state.head
        }
        let stats = try JSONCoding.decode(
            DaemonStats.self, from: try await connection.request(Methods.daemonStats.name, Array("{}".utf8)),
            lenient: true)
        // A log that is shorter than before is another log.
        let isOther = known.map { $0 > stats.head.rawValue } ?? true
        let start = isOther ? stats.head.rawValue : known ?? 0
        if isOther {
            state.withLockedValue { state in
                let hadLog = state.head != nil
                state.forget(before: start)
                state.logNumber += 1
                if hadLog { Self.send(EventFrame.resync(head: start), .log, &state) }
            }
        }
        _ = try await connection.request(
            Methods.subscribe.name,
            JSONCoding.encode(Subscribe(after: .after(SequenceNumber(start)), progressInterval: Seconds(0))))
        state.withLockedValue { state in
            state.isDirty = true
            Self.send(EventFrame.daemon(isUp: true), .log, &state)
        }
        await followProgress()
    }

    func notified(_ method: String, _ parameters: [UInt8]) {
        guard method == RPCCatalog.eventNotification, let event = try? JSONTape(parameters, lenient: true).root,
            let type = event.member("type")?.stringIfAny
        else { return }
        let text = Self.withoutSubscription(parameters)
        let sequence = event.member("sequence")?.integerIfAny(Int64.self)
        let watchers = state.withLockedValue { state -> [@Sendable (JSONValue) -> Void] in
            state.isDirty = true
            if let sequence {
                // After a reconnect, the daemon may repeat what came before the connection broke.
                guard sequence > state.head ?? -1 else { return [] }
                let frame = EventFrame.log(sequence, text)
                state.recent.append((sequence, frame))
                state.bytes += frame.readableBytes
                state.head = sequence
                while state.recent.count > Self.mostRecent || state.bytes > Self.mostBytes,
                    let gone = state.recent.popFirst()
                {
                    state.floor = gone.sequence
                    state.bytes -= gone.frame.readableBytes
                }
                Self.send(frame, .log, &state)
            } else if type == EventType.taskProgress.rawValue {
                Self.send(EventFrame.progress(text), .progress, &state)
            } else if type == EventType.eventsLagged.rawValue, let head = state.head {
                let first = event.member("firstSequence")?.integerIfAny(Int64.self) ?? head + 1
                state.forget(before: max(head, first - 1))
                Self.send(EventFrame.resync(head: max(head, first - 1)), .log, &state)
            }
            return state.watchers
        }
        guard !watchers.isEmpty, let value = try? JSONCoding.decode(JSONValue.self, from: text, lenient: true) else {
            return
        }
        for watcher in watchers { watcher(value) }
    }

    func went() {
        state.withLockedValue { state in
            guard state.connection != nil else { return }
            (state.connection, state.progressSubscription, state.activeTransfers) = (nil, nil, 0)
            Self.send(EventFrame.daemon(isUp: false), .log, &state)
        }
    }

    /// The daemon writes this member first, and only in notifications.
    private static func withoutSubscription(_ text: [UInt8]) -> [UInt8] {
        let start = Array("{\"subscription\":\"".utf8)
        guard text.starts(with: start), let end = text.dropFirst(start.count).firstIndex(of: UInt8(ascii: "\"")),
            text.indices.contains(end + 1), text[end + 1] == UInt8(ascii: ",")
        else { return text }
        return [UInt8(ascii: "{")] + text[(end + 2)...]
    }
}

/// The last five minutes of rates, one sample a second.
struct RateHistory: Sendable {
    private static let samples = 300

    private(set) var down: Deque<Int64> = []
    private(set) var up: Deque<Int64> = []

    mutating func add(down: Int64, up: Int64) {
        self.down.append(down)
        self.up.append(up)
        if self.down.count > Self.samples { (_, _) = (self.down.popFirst(), self.up.popFirst()) }
    }

    var json: JSONValue {
        [
            "interval": 1, "down": .array(down.map { .integer($0) }), "up": .array(up.map { .integer($0) }),
        ]
    }
}

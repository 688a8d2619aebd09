import DaemonSetup
import Foundation
import JSONRPC
import Logging
import TestSupport
import Threading
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

/// Takes the place of supervision: stores what it gets and remembers what it was asked.
final class FakeSupervision: TaskAdding, TaskControlling, TaskUpdating, TaskReading, SessionServing {
    private struct State {
        var controls: [(TaskAction, ControlTarget)] = []
        var live: [TaskID: LiveFigures] = [:]
        var progress: [ProgressFigures] = []
        var updates: [UpdateTask] = []
        var removed: Set<TaskID> = []
        var listed: [[String]] = []
    }
    let store: TransferStore
    private let state = Guarded(State())

    init(store: TransferStore) { self.store = store }

    var services: TaskServices {
        TaskServices(
            adder: self, controller: self, updater: self, reader: self, sessions: self, decisions: self,
            store: store)
    }

    /// The sessions whose questions were listed.
    var listed: [[String]] { state.withLock { $0.listed } }
    func noteListed(_ sessions: [String]?) { state.withLock { $0.listed.append(sessions ?? []) } }
    var controls: [(TaskAction, ControlTarget)] { state.withLock { $0.controls } }
    var updates: [UpdateTask] { state.withLock { $0.updates } }
    func show(_ figures: LiveFigures, of task: TaskID) { state.withLock { $0.live[task] = figures } }
    /// Removes a task between two looks.
    func remove(_ id: TaskID) { state.withLock { _ = $0.removed.insert(id) } }
    func setProgress(_ progress: [ProgressFigures]) { state.withLock { $0.progress = progress } }

    func add(_ specs: [TaskSpec], session: String?, by peer: Peer) async throws -> [AddedTask] {
        let key = SessionKey(owner: peer.uid, identifier: session ?? "shared")
        return try await store.write { transaction in
            try specs.map { spec in
                let status = TaskStatus(state: spec.startPaused == true ? .paused : .queued, createdAt: Sample.time)
                let record = try transaction.insert(
                    NewTask(session: key, spec: spec, status: status, host: "https://example.org:443"))
                try transaction.append(
                    EventRecord(time: Sample.time, type: .taskAdded, session: key, task: record.id))
                return AddedTask(id: record.id, state: record.status.state)
            }
        }
    }

    func record(_ id: TaskID, for peer: Peer) async throws -> TaskRecord {
        let record = state.withLock { $0.removed.contains(id) } ? nil : try await store.read { try $0.task(id) }
        guard let record, peer.isAdmin || record.session.owner == peer.uid else {
            throw TransferError(.taskNotFound, "There is no task \(id).")
        }
        return record
    }

    func live(_ id: TaskID) -> LiveFigures? { state.withLock { $0.live[id] } }
    func segments(_ id: TaskID) -> [SegmentView] { [] }
    func queueing(of record: TaskRecord) async -> Queueing? {
        Queueing(reason: .host, explanation: "It does not answer.", nextAttemptAt: Sample.time)
    }

    func wholeHead(of id: TaskID) async throws -> WholeHead? { try await store.read { try $0.wholeHead(of: id) } }
    func exchange(of id: TaskID) async throws -> KeptExchange {
        KeptExchange(
            head: WholeHead(url: "https://h/f?token=t", headers: [HeaderField("Set-Cookie", "a=1")]),
            request: KeptBody(size: 3, content: Array("abc".utf8)), response: KeptBody(size: .mebibytes(2)))
    }
    func metrics(of record: TaskRecord) async throws -> TaskMetrics {
        var entry = ExchangeMetrics(fetchStart: Sample.time.rawValue * 1000)
        entry.remote = ExchangeMetrics.Endpoint("::1", 80)
        return TaskMetrics([entry], dropped: 3)
    }
    func trouble(of record: TaskRecord) async -> String? { "Its disk does not answer." }

    func control(_ action: TaskAction, _ target: ControlTarget) async throws -> ControlResult {
        state.withLock { $0.controls.append((action, target)) }
        var outcome = ControlResult()
        outcome.changed = [TaskID(1)]
        outcome.skipped = [.init(id: TaskID(2), code: .taskWrongState)]
        return outcome
    }

    func update(_ change: UpdateTask, by peer: Peer) async throws -> TaskRecord {
        state.withLock { $0.updates.append(change) }
        return try await record(change.id, for: peer)
    }

    func resumeData(_ id: TaskID, by peer: Peer) async throws -> String {
        _ = try await record(id, for: peer)
        return "YmxvYg=="
    }

    func progressSnapshot() -> [ProgressFigures] { state.withLock { $0.progress } }

    func throughput() -> Throughput {
        store.isInMemory
            ? Throughput()
            : Throughput(downloadRate: 500, uploadRate: 70, bytesReceived: 1_000_000, bytesSent: 9000)
    }

    func body(
        _ id: TaskID, from offset: ByteCount, atMost length: ByteCount, for peer: Peer
    ) async throws -> (bytes: [UInt8], isLast: Bool) {
        _ = try await record(id, for: peer)
        let whole = Array("0123456789".utf8)
        let piece = Array(whole.dropFirst(Int(offset.rawValue)).prefix(Int(length.rawValue)))
        return (piece, Int(offset.rawValue) + piece.count >= whole.count)
    }

    func open(
        _ key: SessionKey, kind: SessionKind, configuration: SessionConfiguration?, by peer: Peer
    ) async throws -> SessionRecord {
        try await store.write { transaction in
            var session =
                try transaction.session(key) ?? SessionRecord(key: key, kind: kind, createdAt: Sample.time)
            if try transaction.session(key) == nil { try transaction.insertSession(session) }
            if let configuration {
                session.configuration = configuration
                try transaction.updateSession(session)
            }
            return session
        }
    }

    func finish(_ key: SessionKey) async throws -> SessionRecord { try await end(key, .finishing) }

    func invalidate(_ key: SessionKey) async throws -> SessionRecord { try await end(key, .invalidated) }

    func pause(_ key: SessionKey) async throws -> SessionRecord { try await mark(key, SessionPause(since: 1)) }

    func resume(_ key: SessionKey) async throws -> SessionRecord { try await mark(key, SessionPause()) }

    private func mark(_ key: SessionKey, _ pause: SessionPause) async throws -> SessionRecord {
        try await store.write { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            session.pause = pause
            try transaction.updateSession(session)
            return session
        }
    }

    private func end(_ key: SessionKey, _ state: SessionState) async throws -> SessionRecord {
        try await store.write { transaction in
            guard var session = try transaction.session(key) else { throw TransferError.noSession(key.identifier) }
            session.state = state
            try transaction.updateSession(session)
            return session
        }
    }
}

/// Settings without files.
final class FakeSettings: SettingsServing {
    private let stored = Guarded([String: JSONValue]())

    func values() -> [(name: SettingName, value: JSONValue, origin: SettingOrigin)] {
        let stored = stored.withLock { $0 }
        return SettingName.allCases.map { name in
            (name, stored[name.rawValue] ?? 1, stored[name.rawValue] == nil ? .default : .runtime)
        }
    }

    func list() async -> SettingsInForce { .init(settings: [], files: [], problem: nil) }

    func set(_ changes: [String: JSONValue], by peer: Peer) async throws {
        stored.withLock { $0.merge(changes) { _, new in new } }
    }
}

/// A router over a store in its own folder. Tests can call it as any peer.
final class Bench {
    private let temporary: TemporaryFolder
    let store: TransferStore
    let supervision: FakeSupervision
    /// The store of the volatile sessions.
    let inMemory: TransferStore
    let volatile: FakeSupervision
    let sessions: VolatileSessions
    let feed: EventFeed
    let keepers: Keepers
    let router: RequestRouter

    static let user = Peer(uid: UserID(1000), gid: 1000, pid: 1, isAdmin: false)
    static let other = Peer(uid: UserID(2000), gid: 2000, pid: 2, isAdmin: false)
    static let root = Peer(uid: .root, gid: 0, pid: 3, isAdmin: true)

    init(mode: DaemonMode = .system) async throws {
        temporary = try TemporaryFolder()
        let folder = temporary.path
        store = try TransferStore(folder: folder)
        supervision = FakeSupervision(store: store)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        inMemory = try TransferStore.inMemory(isVolatile: true)
        volatile = FakeSupervision(store: inMemory)
        let bindings = SessionBindings()
        let streams = BodyStreams(bindings: bindings)
        sessions = VolatileSessions(
            services: volatile.services, streams: streams, bindings: bindings, logger: logger)
        feed = EventFeed(
            log: store, progress: supervision.progressSnapshot, progressInterval: { 0.1 }, bindings: bindings,
            logger: logger)
        store.onCommit(feed.committed)
        inMemory.onCommit { [feed] events in
            feed.committedVolatile(events)
            streams.committed(events)
        }
        try await feed.start()
        let facts = DaemonFacts(
            version: "9.9", mode: mode, sockets: { ["/run/dld.sock", "/state/dld.sock"] }, stateDirectory: folder,
            startedAt: SystemTime().reading(), libcurl: "8", sqlite: "3")
        keepers = Keepers(store: store, logger: logger)
        router = RequestRouter(
            services: Services(
                durable: supervision.services, volatile: sessions, keepers: keepers, feed: feed,
                settings: FakeSettings(), facts: facts),
            peers: PeerDirectory(adminGroup: nil), logger: logger)
    }

    deinit {
        feed.stop()
        store.close()
        inMemory.close()
    }

    var folder: String { temporary.path }

    /// Calls a method as over the wire, and runs what follows the answer.
    func call<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, as peer: Peer = Bench.user, on sink: FakeSink = FakeSink()
    ) async throws -> M.Result {
        let text = JSONCoding.encode(parameters)
        let context = RequestContext(peer: peer, connection: sink, connections: 3)
        let reply = try await router.reply(to: method.name, text, context)
        reply.afterwards?()
        return try JSONCoding.decode(M.Result.self, from: reply.value, lenient: true)
    }

    /// The error of a call; nil if it succeeds.
    func refusal<M: RPCMethod>(
        _ method: M, _ parameters: M.Parameters, as peer: Peer = Bench.user, on sink: FakeSink = FakeSink()
    ) async -> TransferError? {
        do {
            _ = try await call(method, parameters, as: peer, on: sink)
            return nil
        } catch {
            return error as? TransferError
        }
    }

    func add(_ count: Int, as peer: Peer = Bench.user, session: String? = nil) async throws -> [TaskID] {
        var spec = TaskSpec()
        spec.url = "https://example.org/file"
        return try await call(
            Methods.addTasks, .init(session: session, tasks: Array(repeating: spec, count: count)), as: peer
        )
        .tasks.map(\.id)
    }
}

import CurlEngine
import DaemonSetup
import Foundation
import Logging
import TestSupport
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// A clock that stands still until it is moved.
final class ManualTime: TimeSource {
    private let now = Guarded(ClockReading(wall: Timestamp(milliseconds: 1_700_000_000_000), boot: 1_000_000))

    func reading() -> ClockReading { now.withLock { $0 } }

    func advance(_ interval: Seconds) {
        now.withLock { now in
            now = ClockReading(wall: now.wall.advanced(by: interval), boot: now.boot + interval.milliseconds)
        }
    }

    /// Moves the wall clock, but not the boot clock.
    func jump(_ interval: Seconds) {
        now.withLock { $0.wall = $0.wall.advanced(by: interval) }
    }
}

/// A store in its own folder, with what supervision needs besides.
final class SupervisionFixture: Sendable {
    private let folder: TemporaryFolder
    let store: TransferStore
    let time = ManualTime()
    let transitions: TaskTransitions
    let key = SessionKey(owner: UserID(1000), identifier: "s")

    init(
        policy: @escaping @Sendable (TaskSpec, SessionConfiguration) -> EffectivePolicy = SupervisionFixture.plain,
        queueLimit: Int? = nil
    ) throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        transitions = TaskTransitions(
            time: time, storeID: store.identifier,
            resourceTimeout: { policy(TaskSpec(), SessionConfiguration()).resourceTimeout },
            queueLimit: { queueLimit })
    }

    deinit { store.close() }

    /// The supervision of this store, not started, with the configuration in `home`.
    func supervision(
        in home: ConfigurationFixture, pool: BlockingPool = BlockingPool(), engine: CurlEngine? = nil,
        slots: SharedSlots? = nil
    ) throws -> Supervision {
        let configuration = try home.loader.load()
        let access = FileAccess(mode: .user)
        return Supervision(
            store: store,
            engine: try engine ?? Self.engine(in: home),
            access: access, pool: pool,
            conditions: Conditions(network: NetworkMonitor(), disk: DiskMonitor(access: access, pool: pool)),
            launches: nil, slots: slots ?? SharedSlots(time: time), configuration: { configuration },
            time: time, logger: Logger(label: "test"))
    }

    static func engine(in home: ConfigurationFixture) throws -> CurlEngine {
        try CurlEngine(CurlEngine.Configuration(journalPath: home.root + "/journal", userAgent: "test"))
    }

    @Sendable static func plain(_ spec: TaskSpec, _ session: SessionConfiguration) -> EffectivePolicy {
        EffectivePolicy(spec: spec, session: session)
    }

    /// Adds a session and queued tasks in it, one for each host.
    func add(hosts: [String], configuration: SessionConfiguration = SessionConfiguration()) async throws -> [TaskRecord]
    {
        let (key, now) = (key, time.reading())
        return try await store.write { transaction in
            if try transaction.session(key) == nil {
                try transaction.insertSession(
                    SessionRecord(key: key, configuration: configuration, createdAt: now.wall))
            }
            return try hosts.map { host in
                var spec = TaskSpec()
                spec.url = "https://\(host)/f"
                let (status, _) = TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: now)
                return try transaction.insert(
                    NewTask(session: key, spec: spec, status: status, host: "https://\(host):443"))
            }
        }
    }

    func apply(_ event: TaskEvent, to id: TaskID) async throws -> TaskTransitions.Outcome {
        let transitions = transitions
        return try await store.write { try transitions.apply(event, to: id, in: $0) }
    }

    func events() async throws -> [EventRecord] {
        try await store.read { try $0.events(EventQuery(limit: 1000)) }
    }
}

extension HeldQuestion {
    /// nil if nobody is asked.
    var record: DecisionRecord? {
        switch self {
        case .open(let record): record
        case .settled: nil
        }
    }
}

import Glibc
import Logging
import Threading
import TransferModel

/// The node's two connections to PostgreSQL, each with a thread that may block: one claims and ends jobs, the other renews
/// leases and hears notifications, so that no statement of the first can delay a renewal.
final class DatabaseThreads: Sendable {
    /// What the node's loop hears from here. `generation` names the connection that effects are for.
    enum News: Sendable {
        case input(Input)
        case came(generation: Int)
        case failed(Failure)
    }

    private struct Work {
        var effects: [Effect] = []
        var generation = 0
        var isOver = false
    }
    private struct Renewal {
        var effect: Effect?
        var isOver = false
    }

    private static let firstPause = Duration.milliseconds(200)
    private static let longestPause = Duration.seconds(5)

    private let settings: FleetSettings
    private let node: Guarded<NodeSettings>
    private let instance: String
    private let version: String
    private let logger: Logger
    private let waker: DatabaseWaker
    private let tell: @Sendable (News) -> Void
    private let work = ConditionLock(Work())
    private let renewal = ConditionLock(Renewal())
    private let space = FreeSpace()

    /// - Parameters:
    ///   - node: read before each statement, as SIGHUP changes it.
    ///   - tell: called on both threads.
    init(
        _ settings: FleetSettings, _ node: Guarded<NodeSettings>, instance: String, version: String, logger: Logger,
        tell: @escaping @Sendable (News) -> Void
    ) throws(DatabaseError) {
        (self.settings, self.node, self.instance, self.version) = (settings, node, instance, version)
        (self.logger, self.tell) = (logger, tell)
        waker = try DatabaseWaker()
    }

    /// - Returns: false if the system supplies no thread.
    func start() -> Bool {
        NamedThread.start("fleet-jobs") { self.serveJobs() } && NamedThread.start("fleet-leases") { self.serveLeases() }
    }

    func stop() {
        work.withLock { $0.isOver = true }
        renewal.withLock { $0.isOver = true }
        work.broadcast()
        renewal.broadcast()
        waker.wake()
    }

    /// - Parameter generation: of the connection that the effect is for; if that has gone, nothing happens.
    func perform(_ effect: Effect, generation: Int) {
        if case .renew = effect {
            renewal.withLock { $0.effect = effect }
            renewal.broadcast()
            return waker.wake()
        }
        work.withLock { work in
            if work.generation == generation { work.effects.append(effect) }
        }
        work.broadcast()
    }

    // MARK: Jobs

    private func serveJobs() {
        var pause = Self.firstPause
        var generation = 0
        var isAway = false
        while !work.withLock({ $0.isOver }) {
            do {
                let database = try connect()
                try register(database)
                generation += 1
                work.withLock { [generation] work in (work.generation, work.effects) = (generation, []) }
                tell(.came(generation: generation))
                (pause, isAway) = (Self.firstPause, false)
                while database.isOpen, let effect = next() { perform(effect, database) }
                work.withLock { $0.generation = 0 }
                tell(.input(.databaseWent))
            } catch let failure as Failure {
                return tell(.failed(failure))
            } catch {
                if !isAway { logger.warning("The database does not answer.", metadata: ["error": "\(error)"]) }
                isAway = true
            }
            wait(&pause, in: work) { $0.isOver }
        }
    }

    private func next() -> Effect? {
        work.wait { work -> Effect?? in
            if work.isOver { return .some(nil) }
            guard !work.effects.isEmpty else { return nil }
            return work.effects.removeFirst()
        }
    }

    /// 0.2 s doubling to 5 s, ± 20 %.
    private func wait<Value>(_ pause: inout Duration, in lock: ConditionLock<Value>, _ isOver: (Value) -> Bool) {
        let length = pause * Double.random(in: 0.8...1.2)
        _ = lock.wait(milliseconds: Int(length / .milliseconds(1))) { isOver($0) ? () : nil }
        pause = min(pause * 2, Self.longestPause)
    }

    private func connect(_ waker: DatabaseWaker? = nil) throws -> Database {
        do {
            let database = try Database(settings.connection, lease: node.withLock { $0.lease }, waker: waker)
            try Schema.check(database)
            return database
        } catch let error as DatabaseError where [.refused, .other].contains(error.kind) {
            throw Failure(error)
        }
    }

    /// - Throws: `Failure` with status 4 if the name is another's.
    private func register(_ database: Database) throws {
        let node = node.withLock { $0 }
        do throws(DatabaseError) {
            _ = try database.repeating { () throws(DatabaseError) in
                try database.rows(
                    "SELECT dld.register($1, $2::uuid, $3::text[], $4::text[], $5::int, $6)",
                    [
                        .init(node.name), .init(instance), .init(array: node.policy.pools), .init(array: node.labels),
                        .init(node.capacity), .init(version),
                    ])
            }
        } catch {
            throw error.kind == .refused ? Failure(error) : error
        }
    }

    private func perform(_ effect: Effect, _ database: Database) {
        let node = node.withLock { $0 }
        let sentAt = NodeService.now
        do {
            switch effect {
            case .claim(let count):
                let rows = try database.repeating { () throws(DatabaseError) in
                    try database.rows(
                        "SELECT * FROM dld.claim($1, $2::uuid, $3::int, make_interval(secs => $4))",
                        [.init(node.name), .init(instance), .init(count), .init(seconds: node.lease / .seconds(1))])
                }
                tell(.input(.claimed(rows.map(LeasedJob.init), sentAt: sentAt)))
            case .leases:
                let rows = try database.repeating { () throws(DatabaseError) in
                    try database.rows("SELECT * FROM dld.leases($1)", [.init(node.name)])
                }
                tell(.input(.leases(rows.map(LeasedJob.init))))
            case .finish(let key, let outcome, let detail, let delay):
                // The time of an error is the database's, as all times are.
                let rows = try database.repeating { () throws(DatabaseError) in
                    try database.rows(
                        """
                        SELECT dld.finish($1, $2::bigint, $3::bigint, $4, CASE WHEN $4 IN ('failed', 'transient') THEN \
                        $5::jsonb || jsonb_build_object('at', to_char(now() AT TIME ZONE 'UTC', \
                        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ELSE $5::jsonb END, make_interval(secs => $6)) AS state
                        """,
                        [
                            .init(node.name), .init(key.id), .init(key.epoch), .init(outcome.rawValue), .init(detail),
                            .init(seconds: delay / .seconds(1)),
                        ])
                }
                tell(.input(.finished(key, state: Self.state(rows))))
            case .release(let key, let resume):
                let rows = try database.repeating { () throws(DatabaseError) in
                    try database.rows(
                        "SELECT dld.release($1, $2::bigint, $3::bigint, $4::jsonb) AS state",
                        [.init(node.name), .init(key.id), .init(key.epoch), .init(resume)])
                }
                tell(.input(.released(key, state: Self.state(rows))))
            case .register: try register(database)
            default: break
            }
        } catch {
            guard database.isOpen else { return }
            logger.error("The database refuses a call of the node.", metadata: ["error": "\(error)"])
            switch effect {
            case .claim: tell(.input(.claimFailed))
            case .leases: tell(.input(.leasesFailed))
            case .finish(let key, _, _, _), .release(let key, _): tell(.input(.unanswered(key)))
            default: break
            }
        }
    }

    private static func state(_ rows: Rows) -> String? {
        let state = rows.first?.text("state")
        return state == "refused" ? nil : state
    }

    // MARK: Leases

    private func serveLeases() {
        var pause = Self.firstPause
        while !renewal.withLock({ $0.isOver }) {
            do {
                let database = try connect(waker)
                let node = node.withLock { $0 }
                if node.listen {
                    for channel in ["LISTEN dld_jobs", "LISTEN dld_control"] as [SQL] { try database.script(channel) }
                }
                // Whatever was announced while nobody listened.
                for pool in node.policy.pools { tell(.input(.notified(.jobs(pool: pool)))) }
                pause = Self.firstPause
                while !renewal.withLock({ $0.isOver }) { try attend(database) }
            } catch let failure as Failure {
                return tell(.failed(failure))
            } catch {
                if renewal.withLock({ $0.effect.take() }) != nil { tell(.input(.renewalFailed)) }
            }
            wait(&pause, in: renewal) { $0.isOver || $0.effect != nil }
        }
    }

    /// Renews, or hears what is announced.
    private func attend(_ database: Database) throws(DatabaseError) {
        let node = node.withLock { $0 }
        guard case .renew(let list, let figures)? = renewal.withLock({ $0.effect }) else {
            for news in try database.notifications(within: .seconds(5)) {
                switch news.channel {
                case "dld_jobs": tell(.input(.notified(.jobs(pool: news.payload))))
                case "dld_control" where news.payload == node.name: tell(.input(.notified(.control)))
                default: break
                }
            }
            return
        }
        let sentAt = NodeService.now
        let rows = try database.repeating { () throws(DatabaseError) in
            try database.rows(
                """
                SELECT * FROM dld.renew($1, $2::uuid, $3::bigint[], $4::bigint[], ARRAY(SELECT p || \
                jsonb_build_object('at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) \
                FROM unnest($5::jsonb[]) WITH ORDINALITY AS u (p, n) ORDER BY n), make_interval(secs => $6), $7::jsonb)
                """,
                [
                    .init(node.name), .init(instance), .init(array: list.map(\.key.id)),
                    .init(array: list.map(\.key.epoch)), .init(array: list.map { $0.progress?.json }),
                    .init(seconds: node.lease / .seconds(1)),
                    .init(figures.json(space.bytes(of: node.policy.folders.first?.path))),
                ])
        }
        var verdicts: [JobKey: Input.Verdict] = [:]
        var drain: Input.Drain?
        for row in rows {
            guard let id = row.integer("id"), let epoch = row.integer("epoch") else { continue }
            if row.text("verdict") == "drain" {
                let limit = try database.rows(
                    "SELECT extract(epoch FROM drain_limit)::bigint AS seconds FROM dld.nodes WHERE name = $1",
                    [.init(node.name)])
                drain = Input.Drain(limit: limit.first?.integer("seconds").map { .seconds($0) })
            } else {
                verdicts[JobKey(id, epoch)] = row.text("verdict").flatMap(Input.Verdict.init)
            }
        }
        renewal.withLock { $0.effect = nil }
        tell(.input(.renewed(verdicts, drain: drain, sentAt: sentAt)))
    }
}

extension LeasedJob {
    fileprivate init(_ row: Row) {
        self.init(
            key: JobKey(row.integer("id") ?? 0, row.integer("epoch") ?? 0), pool: row.text("pool") ?? "",
            spec: row.json("spec"), host: row.text("host") ?? "", priority: Int(row.integer("priority") ?? 0),
            attempt: Int(row.integer("attempt") ?? 1), resume: row.text("resume") == nil ? nil : row.json("resume"),
            limited: row.flag("limited") ?? false)
    }
}

extension Work.Progress {
    /// The database adds the time.
    fileprivate var json: JSONValue {
        ["bytes": .integer(bytes), "total": .integer(total), "rate": .integer(rate)]
    }
}

extension Effect.Figures {
    fileprivate func json(_ freeBytes: Int64?) -> JSONValue {
        [
            "running": .integer(Int64(running)), "dld": .bool(hasDld), "taskErrors": .integer(Int64(taskErrors)),
            "freeBytes": freeBytes.map { .integer($0) } ?? .null,
        ]
    }
}

/// What is free in a folder. A file system that hangs must not stop renewals.
private final class FreeSpace: Sendable {
    private struct Answer {
        var bytes: Int64?
        var isOutstanding = false
    }
    private let answer = ConditionLock(Answer())

    /// - Returns: nil if it cannot be told within half a second.
    func bytes(of path: String?) -> Int64? {
        guard let path, !answer.withLock({ $0.isOutstanding }) else { return nil }
        answer.withLock { $0 = Answer(isOutstanding: true) }
        let isStarted = NamedThread.start("fleet-space") { [answer] in
            var space = statvfs()
            let isKnown = statvfs(path, &space) == 0
            answer.withLock { [space] in
                $0 = Answer(bytes: isKnown ? Int64(clamping: space.f_bavail * space.f_frsize) : nil)
            }
            answer.broadcast()
        }
        if !isStarted { answer.withLock { $0.isOutstanding = false } }
        return answer.wait(milliseconds: 500) { $0.isOutstanding ? nil : .some($0.bytes) } ?? nil
    }
}

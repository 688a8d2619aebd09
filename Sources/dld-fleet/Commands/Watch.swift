import Glibc
import TransferModel

/// Follows jobs to their ends. `dld_ends` tells of them at once; looking now and then finds the rest, and everything if
/// notifications do not arrive.
struct Watch {
    let ids: Set<Int64>
    /// In seconds.
    let timeout: Double?
    var session: FleetSession
    private var states: [Int64: String] = [:]

    /// The longest time between two looks.
    private static let longestPoll = Duration.seconds(5)
    /// How long the database may be away.
    private static let patience = Duration.seconds(60)

    init(_ ids: [Int64], timeout: Double?, _ session: FleetSession) {
        (self.ids, self.timeout, self.session) = (Set(ids), timeout, session)
    }

    /// - Throws: `ExitStatus.failed` if a job has failed or was cancelled; `Failure` and `DatabaseError`: an unknown job,
    ///   the time limit, no database.
    mutating func run() throws {
        let deadline = timeout.map { ContinuousClock.now + .seconds($0) }
        listen()
        while true {
            do {
                if try look() { break }
                try wait(until: deadline)
            } catch let error as DatabaseError where error.kind == .toRepeat && !session.database.isOpen {
                try reconnect(until: deadline)
            }
            if let deadline, .now >= deadline { throw Failure(.timedOut, "timeout", "The time limit is over.") }
        }
        if states.values.contains(where: { $0 != "done" }) { throw ExitStatus.failed }
    }

    /// Before the first look, so that no end falls between. Without it, looking is enough.
    private func listen() {
        if session.settings.node.listen { _ = try? session.rows("LISTEN dld_ends") }
    }

    /// Prints what is new.
    /// - Returns: whether all have ended.
    private mutating func look() throws -> Bool {
        let jobs = try session.jobs(ids.sorted())
        for job in jobs where states.updateValue(job.state, forKey: job.id) != job.state {
            if session.console.json { session.console.value(job.value) } else { session.console.line(job.line) }
        }
        // An ended job may be removed meanwhile.
        let missing = ids.subtracting(jobs.map(\.id)).filter { !Job.isFinal(states[$0] ?? "") }
        if !missing.isEmpty { throw FleetSession.unknown(job: missing.sorted()) }
        return states.values.allSatisfy(Job.isFinal)
    }

    /// Waits for an end of one of the jobs, or for the next look.
    private func wait(until deadline: ContinuousClock.Instant?) throws {
        let look = ContinuousClock.now + min(session.settings.node.poll, Self.longestPoll)
        let end = min(look, deadline ?? look)
        while .now < end {
            session.console.endWithReader()
            let ends = try session.database.notifications(within: end - .now)
            let isOurs = ends.contains { end in
                let payload = try? JSONCoding.decode(JSONValue.self, from: Array(end.payload.utf8), lenient: true)
                return payload?["id"]?.integerValue.map(ids.contains) ?? true
            }
            if isOurs { return }
        }
    }

    private mutating func reconnect(until deadline: ContinuousClock.Instant?) throws {
        let patience = ContinuousClock.now + Self.patience
        let end = min(patience, deadline ?? patience)
        var delay = Duration.milliseconds(200)
        while true {
            session.console.endWithReader()
            do {
                session.database = try Database(session.settings.connection)
                try Schema.check(session.database)
                return listen()
            } catch let error as DatabaseError {
                guard .now + delay < end else { throw error }
            }
            usleep(UInt32(delay / .microseconds(1)))
            delay = min(delay * 2, .seconds(5))
        }
    }
}

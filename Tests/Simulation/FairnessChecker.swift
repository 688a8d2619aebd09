import CSimulation
import DaemonKit
import TransferCore
import TransferModel
import TransferStore

/// Checks who waits, and for how long. A task that could run at a host that answers gets a slot within a limited time,
/// and so does an owner who has none. Nobody waits longer than the host asked for, plus one back-off.
final class FairnessChecker: @unchecked Sendable {
    private unowned let world: World
    /// Until when a host may delay its tasks (in nanoseconds since boot), because it was silent or asked for a pause.
    private var heldUntil: [Held: Int64] = [:]
    /// Silence delays the tasks of all owners. A pause delays those of the owner who was asked for it.
    private struct Held: Hashable {
        var host: String
        var owner: UserID?

        func has(_ task: TaskRecord) -> Bool {
            task.host.contains("//" + host) && owner.map { $0 == task.session.owner } ?? true
        }
    }
    /// Since when a task could have run, and since when an owner with such a task has had no slot.
    private var tasks: [TaskID: Int64] = [:]
    private var owners: [UserID: Int64] = [:]
    /// Since when a host whose pause is over could have been tried.
    private var pauses: [Held: Int64] = [:]
    private var lastLook: Int64 = 0

    private static let second: Int64 = 1_000_000_000
    /// The longest time between probes, plus the time for the tasks that a paced host starts first.
    private static let patience = 120 * second
    /// The longest time between starts at a host whose pause is over, and until an answer is stored, on a busy machine.
    private static let backOff = 15 * second
    private static let betweenLooks = second / 2

    init(_ world: World) { self.world = world }

    /// An exchange with the host got no answer.
    func silent(_ host: String) { hold(Held(host: host, owner: nil), seconds: 70) }

    /// The host asked a task of `owner` for a pause.
    func throttled(_ host: String, _ owner: UserID, seconds: Int64) {
        hold(Held(host: host, owner: owner), seconds: seconds)
    }

    /// A task of `owner` begins an exchange with the host.
    func tried(_ host: String, _ owner: UserID) { pauses[Held(host: host, owner: owner)] = nil }

    private func hold(_ held: Held, seconds: Int64) {
        heldUntil[held] = max(heldUntil[held] ?? 0, sim_now() + seconds * Self.second)
    }

    /// Nobody waits.
    func forget() {
        tasks = [:]
        owners = [:]
        pauses = [:]
    }

    func check(_ snapshot: StoreSnapshot) throws {
        let now = sim_now()
        guard now - lastLook >= Self.betweenLooks else { return }
        lastLook = now
        guard world.daemon?.hasStarted == true, !world.hasDiskTrouble, !world.machine.fallsAsleep else {
            return forget()
        }
        let paused = try snapshot.pausedSessions()
        let (durable, volatile) = (try look(snapshot), try world.daemon?.volatileStore.readHere(look))
        try checkRetries(durable.waiting + (volatile?.waiting ?? []), now)
        let ready = (durable.queued + (volatile?.queued ?? [])).filter { task in
            if paused.contains(task.session) { return false }
            return heldUntil.allSatisfy { $0.value < now || !$0.key.has(task) }
        }
        if ready.isEmpty { return forget() }
        // Streams without credit, and answers that clients are asked about, may be without slots: more run then than there
        // are slots, and nothing is said of those that wait.
        let running = durable.running + (volatile?.running ?? [])
        let isFull = running.count >= SimulatedDaemon.mostRunning
        tasks = try waiting(isFull ? [] : ready.map(\.id), since: tasks, now) { "task \($0) of a host that answers" }
        let over = heldUntil.keys.filter { $0.owner != nil && ready.contains(where: $0.has) }
        pauses = try waiting(isFull ? [] : over, since: pauses, now, atMost: Self.backOff) {
            "owner \($0.owner.map { "\($0)" } ?? "") of tasks at \($0.host), whose pause is over,"
        }
        let served = Set(running.map(\.session.owner))
        let without = Set(ready.map(\.session.owner)).subtracting(served).sorted()
        owners = try waiting(without, since: owners, now) { "owner \($0)" }
    }

    /// The next attempt of a task comes when its back-off and the pause that the host asked for are over.
    private func checkRetries(_ tasks: [TaskRecord], _ now: Int64) throws {
        // The wait may still be one by the clock before.
        guard !world.hasShiftedClock else { return }
        for task in tasks where task.status.reason == .retry {
            guard let next = task.status.nextAttemptAt else { continue }
            let asked = heldUntil.filter { $0.key.has(task) }.values.max().map { $0 - now } ?? 0
            let backOff = RetryPolicy().ceiling(failuresInRow: task.status.failuresInRow).milliseconds * 1_000_000
            let wait = next.since(world.now).milliseconds * 1_000_000
            // The pause counts from when the answer is stored, which may be some seconds later.
            if wait > max(asked, backOff) + Self.backOff {
                throw Violation(
                    "task \(task.id) waits \(wait / Self.second) s; its back-off is \(backOff / Self.second) s, and its "
                        + "host asked for \(asked / Self.second) s")
            }
        }
    }

    private func look(
        _ snapshot: StoreSnapshot
    ) throws -> (queued: [TaskRecord], waiting: [TaskRecord], running: [TaskHead]) {
        func ids(_ state: TaskState) throws -> [TaskID] {
            try snapshot.select(TaskQuery(states: [state]), after: nil, limit: 100)
        }
        return (
            try snapshot.tasks(try ids(.queued)), try snapshot.tasks(try ids(.waiting)),
            try snapshot.heads(try ids(.running))
        )
    }

    private func waiting<ID: Hashable>(
        _ ids: [ID], since known: [ID: Int64], _ now: Int64, atMost patience: Int64 = patience, _ name: (ID) -> String
    ) throws -> [ID: Int64] {
        var since: [ID: Int64] = [:]
        for id in ids {
            let begin = known[id] ?? now
            since[id] = begin
            if now - begin > patience {
                throw Violation("\(name(id)) has waited for a slot for \((now - begin) / Self.second) s")
            }
        }
        return since
    }
}

import CSimulation
import DaemonKit
import TransferCore
import TransferModel
import TransferStore

/// Changes the machine's network and power, and lets the machine sleep. Checks that no task transfers what is forbidden,
/// that each goes on when it is allowed, and that nothing is transferred in a sleep.
final class MachineChecker: @unchecked Sendable {
    private unowned let world: World
    /// What the services of the machine say.
    private(set) var conditions = MachineConditions()
    /// When the daemon last had to begin or stop something for the machine (in nanoseconds since boot).
    private var changedAt: Int64 = 0
    private(set) var fallsAsleep = false
    private var isAsleep = false
    private var lastLook: Int64 = 0

    private static let second: Int64 = 1_000_000_000
    /// Longer than it takes to stop a run, and to store that, on a busy machine.
    private static let patience = 60 * second

    init(_ world: World) { self.world = world }

    func act() {
        if !fallsAsleep, world.random.chance(200) { return sleep() }
        func value() -> Bool? { world.random.chance(300) ? true : world.random.chance(500) ? false : nil }
        var next = MachineConditions()
        (next.isMetered, next.isCellular, next.isBehindPortal, next.isOnBattery) = (value(), value(), value(), value())
        set(next)
    }

    /// From now on, everything is allowed.
    func calm() { set(MachineConditions()) }

    private func set(_ next: MachineConditions) {
        guard next != conditions else { return }
        world.note("the machine: \(next)")
        (conditions, changedAt) = (next, sim_now())
        if world.plant != .roam { world.daemon?.apply(next) }
    }

    /// Lets a new task wait for some conditions.
    func restrict(_ spec: inout TaskSpec) {
        if world.random.chance(300) { spec.allowsExpensiveNetworkAccess = false }
        if world.random.chance(200) { spec.allowsCellularAccess = false }
        if world.random.chance(200) { spec.isDiscretionary = true }
    }

    private func sleep() {
        guard let daemon = world.daemon, daemon.hasStarted else { return }
        fallsAsleep = true
        world.note("the machine falls asleep")
        Task {
            await daemon.prepareForSleep()
            guard world.daemon === daemon else { return }
            if daemon.network.activeCount > 0, !world.hasDiskTrouble, !world.isBusy {
                world.violate("\(daemon.network.activeCount) tasks have exchanges, and the machine falls asleep")
            }
            isAsleep = true
            try? await Task.sleep(for: .seconds(world.random.below(60)))
            guard world.daemon === daemon else { return }
            awake()
            world.note("the machine wakes")
            daemon.wake()
        }
    }

    private func awake() { (fallsAsleep, isAsleep, changedAt) = (false, false, sim_now()) }

    /// The daemon is gone.
    func crashed() { awake() }

    /// The task begins an exchange.
    func began(_ task: TaskID) {
        if isAsleep { world.violate("task \(task) begins an exchange, and the machine sleeps") }
    }

    func check(_ snapshot: StoreSnapshot) throws {
        let now = sim_now()
        guard let daemon = world.daemon, daemon.hasStarted, !fallsAsleep, now - changedAt > Self.patience,
            now - lastLook > Self.second, !world.hasDiskTrouble, !world.isBusy
        else { return }
        lastLook = now
        try look(snapshot)
        try daemon.volatileStore.readHere(look)
    }

    private func look(_ snapshot: StoreSnapshot) throws {
        let ids = try snapshot.select(TaskQuery(states: [.running, .waiting]), after: nil, limit: 100)
        for task in try snapshot.tasks(ids) {
            guard let session = try snapshot.session(task.session) else { continue }
            let rules = MachineRules(task.spec, session.configuration, session.kind)
            let hindrance = rules.hindrance(in: conditions, lowDataMode: false)
            if task.status.state == .running {
                guard let hindrance, world.daemon?.network.isActive(task.id) == true else { continue }
                throw Violation("task \(task.id) transfers, and the machine forbids it (\(hindrance.rawValue))")
            }
            guard let reason = task.status.reason, reason.isOfMachine, reason != hindrance?.reason else { continue }
            throw Violation("task \(task.id) waits for the machine (\(reason.rawValue)), which allows it")
        }
    }
}

import DaemonSetup
import Threading
import TransferCore
import TransferModel

/// The gates of hosts, shared by the runs that report how hosts do, the dispatcher that asks which take tasks, and the
/// clients who want one tried.
final class Gatekeeper: Sendable {
    private let gates: Guarded<HostGates>
    private let time: any TimeSource
    private let signal: SupervisionSignal
    /// Released hosts that a dispatcher has not heard of, by its number.
    private let released = Guarded<[Set<String>]>([])

    init(policy: SchedulingPolicy = SchedulingPolicy(), time: any TimeSource, signal: SupervisionSignal) {
        gates = Guarded(HostGates(policy: policy))
        self.time = time
        self.signal = signal
    }

    // MARK: What runs show

    /// - Parameter startedAt: when the attempt began, in milliseconds of the boot clock.
    func report(_ report: HostGates.Report, host: String, owner: UserID, task: TaskID, startedAt: Int64) {
        let now = time.reading()
        gates.withLock { $0.report(report, host: host, owner: owner, task: task, startedAt: startedAt, at: now) }
    }

    /// A transfer of `host` is answered: tasks that were held for it need not wait for the transfer's end.
    func hostAnswered(_ host: String, owner: UserID, task: TaskID, startedAt: Int64) {
        let now = time.reading()
        let isHeld = gates.withLock { gates in
            if gates.isEmpty { return false }
            let isHeld = gates.hold(host: host, owner: owner, at: now) != nil
            gates.report(.answered, host: host, owner: owner, task: task, startedAt: startedAt, at: now)
            return isHeld
        }
        if isHeld { signal.queueChanged() }
    }

    /// A transfer of `host` receives bytes.
    func hostSends(_ host: String) {
        let now = time.reading()
        if gates.withLock({ $0.received(from: host, at: now) }) { signal.queueChanged() }
    }

    // MARK: What clients ask

    /// A client wants `task` to be tried now; false if its host does not hold it.
    func tryNow(_ task: TaskID, host: String, owner: UserID) -> Bool {
        let now = time.reading()
        return gates.withLock { $0.tryNow(host: host, owner: owner, task: task, at: now) }
    }

    /// Whether any host may be held back.
    var mayHoldHosts: Bool { gates.withLock { !$0.isEmpty } }

    /// Why `host` takes no task of `owner` now.
    func hold(host: String, owner: UserID, heedsSilence: Bool = true) -> HostGates.Hold? {
        let now = time.reading()
        return gates.withLock { $0.hold(host: host, owner: owner, at: now, heedsSilence: heedsSilence) }
    }

    // MARK: What the dispatcher asks

    /// The gates as they are now.
    var snapshot: HostGates { gates.withLock { $0 } }

    func permission(
        host: String, owner: UserID, at now: ClockReading, heedsSilence: Bool
    ) -> HostGates.Permission {
        gates.withLock { $0.permission(host: host, owner: owner, at: now, heedsSilence: heedsSilence) }
    }

    func invitations(at now: ClockReading) -> [TaskID] { gates.withLock { $0.invitations(at: now) } }

    func attemptsStarted(_ tasks: [TaskRecord], at now: ClockReading) {
        gates.withLock { gates in
            for task in tasks {
                gates.attemptStarted(host: task.host, owner: task.session.owner, task: task.id, at: now)
            }
        }
    }

    /// Hosts that were held and may be tried since this was asked last.
    /// - Parameter dispatcher: its number. Each hears of every host, because the lanes of its store are its own.
    func takeReleased(by dispatcher: Int, at now: ClockReading) -> [String] {
        let hosts = gates.withLock { $0.takeReleased(at: now) }
        let (own, othersWait) = released.withLock { released -> ([String], Bool) in
            if hosts.isEmpty, released[dispatcher].isEmpty { return ([], false) }
            for index in released.indices { released[index].formUnion(hosts) }
            defer { released[dispatcher] = [] }
            return (released[dispatcher].sorted(), !hosts.isEmpty && released.count > 1)
        }
        if othersWait { signal.queueChanged() }
        return own
    }

    /// The number of one more dispatcher.
    func addDispatcher() -> Int {
        released.withLock { released in
            released.append([])
            return released.count - 1
        }
    }

    /// The caller could not release what it took.
    func putBack(_ hosts: [String], by dispatcher: Int) {
        released.withLock { $0[dispatcher].formUnion(hosts) }
    }

    /// When the next host may be tried, in milliseconds of the boot clock; nil if none waits for its time.
    func nextChange() -> Int64? { gates.withLock { $0.nextChange() } }
}

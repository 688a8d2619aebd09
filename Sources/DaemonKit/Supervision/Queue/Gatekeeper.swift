import DaemonSetup
import Threading
import TransferCore
import TransferModel

/// The gates of hosts. Runs report the state of their hosts, the dispatcher asks which hosts take tasks, and clients
/// may request that a host is tried.
final class Gatekeeper: Sendable {
    private let gates: Guarded<HostGates>
    private let time: any TimeSource
    private let signal: SupervisionSignal
    /// For each dispatcher, by its number: the released hosts that it does not know yet.
    private let released = Guarded<[Set<String>]>([])

    init(policy: SchedulingPolicy = SchedulingPolicy(), time: any TimeSource, signal: SupervisionSignal) {
        gates = Guarded(HostGates(policy: policy))
        self.time = time
        self.signal = signal
    }

    // MARK: What runs show

    /// Notes what an attempt shows of its host: when it answers, while the transfer goes on, or at its end. Tasks that were
    /// held for it need not wait for anything else.
    /// - Parameter startedAt: when the attempt began, in milliseconds of the boot clock.
    func report(_ report: HostGates.Report, host: String, owner: UserID, task: TaskID, startedAt: Int64) {
        let now = time.reading()
        let wasHeld = gates.withLock { gates in
            if gates.isEmpty, report == .answered { return false }
            let wasHeld = gates.hold(host: host, owner: owner, at: now) != nil
            gates.report(report, host: host, owner: owner, task: task, startedAt: startedAt, at: now)
            return wasHeld
        }
        if wasHeld { signal.queueChanged() }
    }

    /// Notes that a transfer receives bytes from `host`.
    func hostSends(_ host: String) {
        let now = time.reading()
        if gates.withLock({ $0.received(from: host, at: now) }) { signal.queueChanged() }
    }

    /// The machine has woken: what is known of silent hosts is from before its sleep. The caller signals that.
    func forgetSilence() {
        let now = time.reading()
        gates.withLock { $0.forgetSilence(at: now) }
    }

    // MARK: What clients ask

    /// Lets `task` be tried now, as a client requested; false if its host is not held.
    func tryNow(_ task: TaskID, host: String, owner: UserID) -> Bool {
        let now = time.reading()
        return gates.withLock { $0.tryNow(host: host, owner: owner, task: task, at: now) }
    }

    /// Tells whether any host may be held.
    var mayHoldHosts: Bool { gates.withLock { !$0.isEmpty } }

    /// Returns why `host` takes no task of `owner` now.
    func hold(host: String, owner: UserID, heedsSilence: Bool = true) -> HostGates.Hold? {
        let now = time.reading()
        return gates.withLock { $0.hold(host: host, owner: owner, at: now, heedsSilence: heedsSilence) }
    }

    // MARK: What the dispatcher asks

    /// The current gates.
    var snapshot: HostGates { gates.withLock { $0 } }

    func permission(
        host: String, owner: UserID, at now: ClockReading, heedsSilence: Bool
    ) -> HostGates.Permission {
        gates.withLock { $0.permission(host: host, owner: owner, at: now, heedsSilence: heedsSilence) }
    }

    func invitations(at now: ClockReading) -> [TaskID] { gates.withLock { $0.invitations(at: now) } }

    func attemptsStarted(_ tasks: [TaskRecord], at now: ClockReading) {
        gates.withLock { gates in
            for index in tasks.indices {
                gates.attemptStarted(
                    host: tasks[index].host, owner: tasks[index].session.owner, task: tasks[index].id, at: now)
            }
        }
    }

    /// Returns the hosts that were held and may be tried, since the last call.
    /// - Parameter dispatcher: its number. Each dispatcher gets every host, because it has the lanes of its own store.
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

    /// Returns the number of a new dispatcher.
    func addDispatcher() -> Int {
        released.withLock { released in
            released.append([])
            return released.count - 1
        }
    }

    /// Returns hosts that the caller could not release.
    func putBack(_ hosts: [String], by dispatcher: Int) {
        released.withLock { $0[dispatcher].formUnion(hosts) }
    }

    /// When the next host may be tried, in milliseconds of the boot clock; nil if no host waits for a time.
    func nextChange() -> Int64? { gates.withLock { $0.nextChange() } }
}

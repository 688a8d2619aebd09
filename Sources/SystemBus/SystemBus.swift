import CLinux
import CSystemd
import Glibc
import Logging
import Threading
import TransferCore

/// Watches what services of the machine say about its network, power and sleep: NetworkManager, UPower and logind on
/// the system bus, by sd-bus(3).
///
/// All of them may be missing, and so may the bus. It is looked for again after a second, then after twice as long each
/// time, and in the end once a minute: a failed connect(2) is all that a machine without a bus costs.
package final class SystemBus: Sendable {
    /// What to do with the news. It is called on the thread of the bus and must not block.
    package struct Observer: Sendable {
        /// The conditions have changed. At first, all are unknown.
        let conditions: @Sendable (MachineConditions) -> Void
        /// The machine will sleep. It waits until this returns, but not longer than logind's `InhibitDelayMaxSec`
        /// (logind.conf(5)).
        let sleep: @Sendable () async -> Void
        /// The sleep is over. Called once after each `sleep`, when that has returned.
        let wake: @Sendable () -> Void

        package init(
            conditions: @escaping @Sendable (MachineConditions) -> Void, sleep: @escaping @Sendable () async -> Void,
            wake: @escaping @Sendable () -> Void
        ) {
            (self.conditions, self.sleep, self.wake) = (conditions, sleep, wake)
        }
    }

    /// What others want of the thread.
    private struct Orders {
        var keepsAwake = false
        var isPrepared = false
        var isStopped = false
    }

    private static let second: Int64 = 1_000_000_000
    private static let longestPause = 60 * second

    private let address: String?
    private let logger: Logger
    private let orders = Guarded(Orders())
    private let alarm = dld_eventfd_create()

    /// - Parameter address: nil for the system bus; DBUS_SYSTEM_BUS_ADDRESS may name another one.
    package init(address: String? = nil, logger: Logger) { (self.address, self.logger) = (address, logger) }

    deinit { if alarm >= 0 { close(alarm) } }

    /// Begins to watch, on a thread of its own, until `stop`. Call it once.
    ///
    /// Returns when the observer knows the first conditions, as far as there are any; at the latest after a second.
    package func start(telling observer: Observer) async {
        let (news, firstNews) = AsyncStream.makeStream(of: Never.self)
        guard alarm >= 0, NamedThread.start("dld-bus", { self.run(observer) { firstNews.finish() } }) else { return }
        for await _ in news {}
    }

    /// While on, the machine does not go to sleep by itself, if logind permits that. Off counts after a second, so that
    /// pauses between transfers do not.
    package func keepAwake(_ isOn: Bool) {
        let isNew = orders.withLock { orders in
            defer { orders.keepsAwake = isOn }
            return orders.keepsAwake != isOn
        }
        if isNew { dld_eventfd_signal(alarm) }
    }

    /// Ends the thread and releases all locks.
    package func stop() { order { $0.isStopped = true } }

    private func order(_ change: (inout Orders) -> Void) {
        orders.withLock { change(&$0) }
        dld_eventfd_signal(alarm)
    }

    private func takeOrders() -> Orders {
        orders.withLock { orders in
            defer { orders.isPrepared = false }
            return orders
        }
    }

    /// - Parameter settled: called when the first conditions are told; also several times.
    private func run(_ observer: Observer, settled: @escaping @Sendable () -> Void) {
        defer { settled() }
        let conditions = ConditionsWatch(tell: observer.conditions)
        let sleep = SleepWatch(
            prepare: {
                Task {
                    await observer.sleep()
                    self.order { $0.isPrepared = true }
                }
            }, wake: observer.wake, logger: logger)
        var connection: BusConnection?
        var (pause, retryAt, isMissing) = (Self.second, Int64.min, false)
        var now = dld_monotonic_nanoseconds()
        let (settledAt, never) = (now + Self.second, Int64.max)
        var releaseAt = never
        while true {
            let orders = takeOrders()
            if orders.isStopped { return }
            if orders.isPrepared { sleep.prepared() }
            releaseAt = orders.keepsAwake || !sleep.keepsAwake ? never : min(releaseAt, now + Self.second)
            if orders.keepsAwake != sleep.keepsAwake, orders.keepsAwake || releaseAt <= now {
                sleep.keepsAwake = orders.keepsAwake
            }
            if connection == nil, retryAt <= now {
                connection = BusConnection(address.map { .address($0) } ?? .system)
                if let connection {
                    logger.debug("watches the system bus")
                    conditions.watch(on: connection)
                    sleep.watch(on: connection)
                } else if !isMissing {
                    logger.debug("there is no system bus: network and power of the machine are unknown")
                }
                isMissing = connection == nil
                retryAt = now + pause
                pause = min(2 * pause, Self.longestPause)
            }
            conditions.ask(now)
            if isMissing || conditions.isSettled || settledAt <= now { settled() }
            let due = min(conditions.next ?? never, releaseAt, settledAt > now ? settledAt : never)
            if let open = connection {
                if !open.turn(wake: alarm, until: due) {
                    logger.debug("the system bus is gone")
                    conditions.leave()
                    sleep.leave()
                    connection = nil
                    // After a connection that has lasted, the pauses begin anew.
                    if now - retryAt > Self.longestPause { pause = Self.second }
                    retryAt = now + pause
                }
            } else {
                BusConnection.wait(-1, 0, alarm, until: min(due, retryAt))
            }
            now = dld_monotonic_nanoseconds()
        }
    }
}

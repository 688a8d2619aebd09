import Glibc
import TransferModel

/// How often the service manager expects a sign of life (sd_watchdog_enabled(3)).
package struct Watchdog: Hashable, Sendable {
    /// The manager restarts the daemon after this long without a sign.
    package let timeout: Seconds

    /// Half of the timeout, as the manual advises.
    package var interval: Seconds { Seconds(timeout.rawValue / 2) }

    /// - Parameter process: this process's id. WATCHDOG_PID may name another process.
    /// - Returns: nil if there is no watchdog for this process.
    package init?(environment: [String: String], process: Int32 = getpid()) {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else {
            return nil
        }
        if let meant = environment["WATCHDOG_PID"], Int32(meant) != process { return nil }
        timeout = Seconds(Double(microseconds) / 1_000_000)
    }
}

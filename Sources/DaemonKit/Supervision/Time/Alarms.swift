import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Wakes what waits for a time: next attempts, deadlines, schedules, monitors' polls and the keeping of the house.
///
/// One loop sleeps until the earliest of them, at most `longestSleep`: a wall clock that is set is noticed by then. It never
/// waits for a file: a disk that does not answer holds up looks at disks and the keeping of the house, not the loop.
final class Alarms: Sendable {
    private static let longestSleep: Duration = .seconds(30)
    private static let housekeepingInterval: Int64 = 60_000
    private static let batch = 500

    private let supervisor: Supervisor
    private let dispatcher: Dispatcher
    private let news: SupervisionSignal.Listener
    private let housekeeping = SingleFlight()
    private let diskLook = SingleFlight()
    private let sweep = SingleFlight()

    init(supervisor: Supervisor, dispatcher: Dispatcher) {
        self.supervisor = supervisor
        self.dispatcher = dispatcher
        news = supervisor.signal.listen(to: .times)
    }

    /// Rings until the signal is stopped.
    func run() async {
        await ringUntilStopped()
        housekeeping.cancel()
        diskLook.cancel()
        sweep.cancel()
    }

    private func ringUntilStopped() async {
        var nextHousekeeping: Int64 = 0
        var lastDiskLook: Int64?
        while news.take() != nil {
            let boot = supervisor.time.reading().boot
            if boot >= nextHousekeeping {
                housekeeping.start { [supervisor] in await supervisor.keepHouse() }
                nextHousekeeping = boot + Self.housekeepingInterval
            }
            if supervisor.leftParts.isSweepDue(at: boot) {
                sweep.start { [supervisor] in await supervisor.leftParts.sweep() }
            }
            restoreReserve()
            if supervisor.conditions.needsPolling, untilDiskLook(after: lastDiskLook, at: boot) == .zero {
                diskLook.start { [supervisor] in
                    await supervisor.disks.poll()
                    supervisor.signal.timesChanged()
                }
                lastDiskLook = boot
            }
            do {
                let wait = try await ring(lastDiskLook)
                await news.wait(atMost: min(wait, Self.longestSleep))
            } catch {
                supervisor.logger.retried("cannot read what is due", error)
                // What failed has asked for another round, which would fail as well.
                _ = news.take()
                await news.wait(atMost: .seconds(1))
            }
        }
    }

    /// Takes the store's reserve back if there is room for it.
    private func restoreReserve() {
        let store = supervisor.store
        if store.isStorageLow, store.restoreReserve() { supervisor.signal.changed() }
    }

    /// However often the loop goes round: a disk that looks ready to us and refuses what is written would have its tasks
    /// begin without end.
    /// - Parameters: times of the boot clock; `last` is nil before the first look.
    private func untilDiskLook(after last: Int64?, at boot: Int64) -> Duration {
        guard let last else { return .zero }
        let interval = supervisor.configuration().global.diskPollInterval.duration
        return max(.zero, interval - .milliseconds(boot - last))
    }

    /// Does what is due; returns how long nothing else is.
    private func ring(_ diskLook: Int64?) async throws -> Duration {
        try await supervisor.followClock()
        let now = supervisor.time.reading()
        try await supervisor.passDeadlines(at: now, limit: Self.batch)
        let woken = try await supervisor.waiting.wake(at: now, limit: Self.batch)
        try await supervisor.closeSchedules(at: now)
        if woken == Self.batch { return .zero }
        var wait = Self.longestSleep
        if let next = try await supervisor.store.read({ try $0.nextTimes(after: now.wall).earliest }) {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = try await supervisor.endings.begin() {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = dispatcher.nextLook() {
            if next <= now.boot {
                // If it cannot start them again, it rings for the time it says then.
                supervisor.signal.queueChanged()
            } else {
                wait = min(wait, .milliseconds(next - now.boot))
            }
        }
        if supervisor.conditions.needsPolling { wait = min(wait, untilDiskLook(after: diskLook, at: now.boot)) }
        if supervisor.store.isStorageLow {
            wait = min(wait, supervisor.configuration().global.diskPollInterval.duration)
        }
        return wait
    }
}

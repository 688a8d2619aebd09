import DaemonSetup
import Logging
import Threading
import TransferCore
import TransferModel
import TransferStore

/// Wakes what waits for a time: next attempts, deadlines, schedules, polls of monitors, and housekeeping.
///
/// One loop sleeps until the earliest of them, but at most `longestSleep`, so that a change of the wall clock is
/// noticed by then. The loop never waits for a file: a disk that does not answer delays checks of disks and
/// housekeeping, but not the loop.
struct Alarms: Sendable {
    /// The loop runs at least this often.
    static let longestSleep: Seconds = 30
    private static let housekeepingInterval: Int64 = 60_000
    private static let batch = 500

    let store: TransferStore
    let clock: ClockKeeper
    let deadlines: Deadlines
    let waiting: WaitingTasks
    let schedules: ScheduleKeeper
    let rates: RateLimits
    let endings: UploadEndings
    let disks: DiskWaits
    let leftParts: LeftParts
    let house: Housekeeping
    let dispatcher: Dispatcher
    let diskPollInterval: @Sendable () -> Seconds
    let time: any TimeSource
    let signal: SupervisionSignal
    let logger: Logger
    private let housekeeping = SingleFlight()
    private let diskLook = SingleFlight()
    private let sweep = SingleFlight()

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
        // What came before is found by the first round.
        let news = signal.listen(to: .times)
        while news.take() != nil {
            let boot = time.reading().boot
            if boot >= nextHousekeeping {
                housekeeping.start { [house] in await house.run() }
                nextHousekeeping = boot + Self.housekeepingInterval
            }
            if leftParts.isSweepDue(at: boot) {
                sweep.start { [leftParts] in await leftParts.sweep() }
            }
            restoreReserve()
            if disks.conditions.needsPolling, untilDiskLook(after: lastDiskLook, at: boot) == .zero {
                diskLook.start { [disks, signal] in
                    await disks.poll()
                    signal.timesChanged()
                }
                lastDiskLook = boot
            }
            do {
                let wait = try await ring(lastDiskLook)
                await news.wait(atMost: min(wait, Self.longestSleep.duration))
            } catch {
                logger.retried("cannot read what is due", error)
                // The failed round has requested another one, which would fail too.
                _ = news.take()
                await news.wait(atMost: .seconds(1))
            }
        }
    }

    /// Allocates the store's reserve again if there is room for it.
    private func restoreReserve() {
        if store.isStorageLow, store.restoreReserve() { signal.changed() }
    }

    /// Limits checks of disks, however often the loop runs. If a disk looks ready but refuses writes, its tasks would
    /// otherwise begin again and again.
    /// - Parameters: times of the boot clock; `last` is nil before the first check.
    private func untilDiskLook(after last: Int64?, at boot: Int64) -> Duration {
        guard let last else { return .zero }
        let interval = diskPollInterval().duration
        return max(.zero, interval - .milliseconds(boot - last))
    }

    /// Does what is due. Returns the time until something else is due.
    private func ring(_ diskLook: Int64?) async throws -> Duration {
        try await clock.follow()
        let now = time.reading()
        try await deadlines.pass(at: now, limit: Self.batch)
        let woken = try await waiting.wake(at: now, limit: Self.batch)
        try await schedules.close(at: now)
        let nextRates = rates.followCalendars(at: now.wall)
        if woken == Self.batch { return .zero }
        var wait = Self.longestSleep.duration
        if let nextRates { wait = min(wait, .milliseconds(nextRates)) }
        if let next = try await deadlines.passDecisions(at: now) { wait = min(wait, .milliseconds(next)) }
        if let next = try await store.read({ try $0.nextTimes(after: now.wall).earliest }) {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = try await endings.begin() {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = dispatcher.nextLook() {
            if next <= now.boot {
                // If it cannot start them again, it signals the new time.
                signal.queueChanged()
            } else {
                wait = min(wait, .milliseconds(next - now.boot))
            }
        }
        if disks.conditions.needsPolling { wait = min(wait, untilDiskLook(after: diskLook, at: now.boot)) }
        if store.isStorageLow {
            wait = min(wait, diskPollInterval().duration)
        }
        return wait
    }
}

/// Background work that runs at most once at a time.
private final class SingleFlight: Sendable {
    private let work = Guarded<Task<Void, Never>?>(nil)

    /// Starts `body`, unless an earlier one has not ended yet.
    func start(_ body: @escaping @Sendable () async -> Void) {
        work.withLock { work in
            guard work == nil else { return }
            work = Task {
                await body()
                self.work.withLock { $0 = nil }
            }
        }
    }

    func cancel() {
        work.withLock { $0 }?.cancel()
    }
}

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
    private struct State {
        var loop: Task<Void, Never>?
        var sleeper: Task<Void, Never>?
        var isRung = false
        var ticker: Task<Void, Never>?
    }

    private static let longestSleep: Duration = .seconds(30)
    private static let housekeepingInterval: Int64 = 60_000
    private static let batch = 500

    private let supervisor: Supervisor
    private let dispatcher: Dispatcher
    private let state = Guarded(State())
    private let housekeeping = SingleFlight()
    private let diskLook = SingleFlight()
    private let sweep = SingleFlight()

    init(supervisor: Supervisor, dispatcher: Dispatcher) {
        self.supervisor = supervisor
        self.dispatcher = dispatcher
    }

    func start() {
        let loop = Task { await run() }
        state.withLock { $0.loop = loop }
    }

    func stop() {
        state.withLock { state in
            state.loop?.cancel()
            state.sleeper?.cancel()
            state.ticker?.cancel()
        }
        housekeeping.cancel()
        diskLook.cancel()
        sweep.cancel()
    }

    /// Times may have changed: look again now.
    func rearm() {
        state.withLock { state in
            state.isRung = true
            state.sleeper?.cancel()
        }
    }

    private func run() async {
        var nextHousekeeping: Int64 = 0
        var lastDiskLook: Int64?
        while !Task.isCancelled {
            state.withLock { $0.isRung = false }
            let boot = supervisor.time.reading().boot
            if boot >= nextHousekeeping {
                housekeeping.start { [supervisor] in await supervisor.keepHouse() }
                nextHousekeeping = boot + Self.housekeepingInterval
            }
            if supervisor.isSweepDue(at: boot) {
                sweep.start { [supervisor] in await supervisor.sweepLeftParts() }
            }
            supervisor.restoreReserve()
            if supervisor.conditions.needsPolling, untilDiskLook(after: lastDiskLook, at: boot) == .zero {
                diskLook.start { [weak self, supervisor] in
                    await supervisor.pollDisks()
                    self?.rearm()
                }
                lastDiskLook = boot
            }
            do {
                let next = try await ring(lastDiskLook)
                await sleep(for: min(next, Self.longestSleep))
            } catch {
                supervisor.logger.retried("cannot read what is due", error)
                // What failed has asked for another round, which would fail as well.
                state.withLock { $0.isRung = false }
                await sleep(for: .seconds(1))
            }
        }
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
        let cleared = try await supervisor.wakeWaiting(at: now, limit: Self.batch)
        // At once: what comes next may fail, and then nobody would know of them.
        if cleared > 0 { await dispatcher.kick() }
        try await supervisor.closeSchedules(at: now)
        if cleared == Self.batch { return .zero }
        var wait = Self.longestSleep
        if let next = try await supervisor.store.read({ try $0.nextTimes(after: now.wall).earliest }) {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = try await supervisor.endings.begin() {
            wait = min(wait, .milliseconds(max(0, next.rawValue - now.wall.rawValue)))
        }
        if let next = dispatcher.nextLook() {
            if next <= now.boot {
                // Where it cannot start them again, it has this loop go round once more, for the time it says then.
                await dispatcher.kick()
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

    private func sleep(for duration: Duration) async {
        let sleeper = Task { _ = try? await Task.sleep(for: duration) }
        let isRung = state.withLock { state in
            state.sleeper = sleeper
            return state.isRung
        }
        if isRung || Task.isCancelled { sleeper.cancel() }
        await sleeper.value
        state.withLock { $0.sleeper = nil }
    }

    /// Samples the rates of what runs, twice a second, while anything does.
    func sampleRates() {
        state.withLock { state in
            guard state.ticker == nil else { return }
            state.ticker = Task { [weak self] in
                while !Task.isCancelled, let self, self.supervisor.runs.count > 0 {
                    let boot = self.supervisor.time.reading().boot
                    for run in self.supervisor.runs.all where run.sample(at: boot) {
                        self.dispatcher.hostSends(run.host)
                    }
                    try? await Task.sleep(for: .milliseconds(500))
                }
                guard let self else { return }
                self.state.withLock { $0.ticker = nil }
                if self.supervisor.runs.count > 0, !Task.isCancelled { self.sampleRates() }
            }
        }
    }
}

import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// What the machine's network and power forbid now, and whether the machine is about to fall asleep.
final class MachineState: Sendable {
    private struct State {
        var conditions = MachineConditions()
        var isAsleep = false
        var hasWoken = false
        /// In milliseconds of the boot clock.
        var wokeAt: Int64?
    }

    private let configuration: @Sendable () -> Configuration
    private let state = Guarded(State())

    init(configuration: @escaping @Sendable () -> Configuration) { self.configuration = configuration }

    var conditions: MachineConditions { state.withLock { $0.conditions } }
    /// No task begins.
    var isAsleep: Bool { state.withLock { $0.isAsleep } }

    /// - Returns: false if they are the same as before.
    func set(_ conditions: MachineConditions) -> Bool {
        state.withLock { state in
            defer { state.conditions = conditions }
            return state.conditions != conditions
        }
    }

    func fallAsleep() { state.withLock { $0.isAsleep = true } }
    /// - Parameter boot: milliseconds of the boot clock.
    func wake(at boot: Int64) { state.withLock { ($0.isAsleep, $0.hasWoken, $0.wokeAt) = (false, true, boot) } }

    /// Whether links may not be up again yet, which take some seconds after a sleep.
    func hasJustWoken(at boot: Int64) -> Bool { state.withLock { $0.wokeAt.map { boot - $0 < 30_000 } ?? false } }

    func noteWoken() { state.withLock { $0.hasWoken = true } }

    /// Whether it has woken since the last call.
    func takeWoken() -> Bool {
        state.withLock { state in
            defer { state.hasWoken = false }
            return state.hasWoken
        }
    }

    /// What happens to a queued or running task now; nil if it may run.
    func event(for record: TaskRecord, in session: SessionRecord?) -> TaskEvent? {
        let rules = MachineRules(
            record.spec, session?.configuration ?? SessionConfiguration(), session?.kind ?? .background)
        return rules.event(in: conditions, lowDataMode: configuration().global.lowDataMode)
    }

    /// Those of `tasks` that must wait. If nothing is forbidden to any task, none is read.
    func hindered(
        _ tasks: @autoclosure () -> [TaskID], _ sessions: [SessionKey: SessionRecord], in snapshot: StoreSnapshot
    ) throws -> [TaskID] {
        let now = conditions
        let isHindered = [now.isMetered, now.isCellular, now.isBehindPortal, now.isOnBattery].contains(true)
        guard isHindered || configuration().global.lowDataMode else { return [] }
        return try snapshot.tasks(tasks()).filter { record in
            if case .blocked = event(for: record, in: sessions[record.session]) { true } else { false }
        }.map(\.id)
    }
}

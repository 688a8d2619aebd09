import Logging
import SystemBus
import TestSupport
import Threading
import TransferCore

/// Keeps what a `SystemBus` tells and logs.
final class Witness: Sendable {
    private struct News {
        var conditions: [MachineConditions] = []
        var steps: [String] = []
        var mayFinish = true
    }

    private let news = Guarded(News())
    private let kept = Guarded<[String]>([])

    var logger: Logger { Logger(label: "test") { _ in Kept(lines: self.kept) } }
    /// The levels and messages of the log.
    var lines: [String] { kept.withLock { $0 } }

    /// - Parameter machine: looked at when transfers are stored. It ends with its test, although the thread of the bus
    ///   may end later.
    func observer(_ machine: MachineBus) -> SystemBus.Observer {
        SystemBus.Observer(
            conditions: { conditions in self.news.withLock { $0.conditions.append(conditions) } },
            sleep: { [weak machine] in
                let released = { machine?.count { $0.hasPrefix("released") } }
                let before = released()
                self.note("sleep")
                _ = await eventually { self.news.withLock { $0.mayFinish } }
                self.note(released() == before ? "stored" : "stored too late")
            }, wake: { self.note("wake") })
    }

    /// Each call of the observer about sleep.
    var steps: [String] { news.withLock { $0.steps } }
    private func note(_ step: String) { news.withLock { $0.steps.append(step) } }

    /// Whether transfers may be stored now.
    func mayFinish(_ isOn: Bool) { news.withLock { $0.mayFinish = isOn } }

    var conditions: MachineConditions { news.withLock { $0.conditions.last ?? MachineConditions() } }
    var history: [MachineConditions] { news.withLock { $0.conditions } }

    func sees(_ condition: (MachineConditions) -> Bool) async -> Bool { await eventually { condition(conditions) } }
    func sees(_ steps: [String]) async -> Bool { await eventually { self.steps == steps } }

    private struct Kept: LogHandler {
        let lines: Guarded<[String]>
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }
    }
}

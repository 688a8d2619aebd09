import Threading
import TransferModel

/// Counts the ends of tasks since the daemon's start. It hears of them after their commit, so each end counts once.
package final class EndCounts: Sendable {
    package struct End: Hashable, Sendable {
        package var kind: TaskKind
        package var outcome: TaskState
        /// Of a failure.
        package var code: String?
    }

    private let counts = Guarded<[End: Int]>([:])

    package init() {}

    package var current: [End: Int] { counts.withLock { $0 } }

    /// Takes the events of a commit. It is quick, because it runs on the store's writer thread.
    package func follow(_ events: [EventRecord]) {
        for event in events {
            guard let kind = event.ended, let outcome = Self.outcomes[event.type] else { continue }
            let code = outcome == .failed ? event.payload["error"]?["code"]?.stringValue : nil
            counts.withLock { $0[End(kind: kind, outcome: outcome, code: code), default: 0] += 1 }
        }
    }

    private static let outcomes: [EventType: TaskState] = [
        .taskCompleted: .completed, .taskFailed: .failed, .taskCancelled: .cancelled,
    ]
}

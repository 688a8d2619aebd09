import TransferModel

@testable import TransferCore

/// Every combination of state and event as docs/states.md prints it, rendered from what the machine does.
enum StateTable {
    struct Row: Sendable {
        var name: String
        var event: TaskEvent
        var prepare: @Sendable (inout TaskStatus) -> Void = { _ in }
    }

    static let transient = AttemptFailure(
        error: TransferError(.networkLost, "The connection broke."), disposition: .transient(after: nil))

    static func failed(
        _ disposition: AttemptFailure.Disposition, _ code: ErrorCode = .networkLost, attempts: Int = 0,
        waitsForConnectivity: Bool = true
    ) -> TaskEvent {
        var spec = RetryPolicySpec()
        spec.attempts = attempts
        var policy = RetryPolicy(spec)
        policy.waitsForConnectivity = waitsForConnectivity
        return .attemptFailed(
            AttemptFailure(error: TransferError(code, "It failed."), disposition: disposition), policy, jitter: 0.5)
    }

    static let rows: [Row] = [
        Row(name: "claimed", event: .claimed),
        Row(name: "attemptFailed, transient", event: failed(.transient(after: nil))),
        Row(
            name: "attemptFailed, transient, `retry.attempts` used up",
            event: failed(.transient(after: nil), attempts: 1)),
        Row(
            name: "attemptFailed, name unresolved for 5 min, never a byte",
            event: failed(.transient(after: nil), .networkDNS),
            prepare: { ($0.budgetUsed, $0.unresolvedSince) = (1301, 1000) }),
        Row(name: "attemptFailed, disk", event: failed(.disk, .diskFull)),
        Row(name: "attemptFailed, network", event: failed(.network, .networkConnect)),
        Row(
            name: "attemptFailed, no network, name or connection, `waitsForConnectivity` is false",
            event: failed(.network, waitsForConnectivity: false)),
        Row(name: "attemptFailed, permanent", event: failed(.permanent, .httpStatus)),
        Row(name: "attemptFailed, transient, wrong length", event: failed(.transient(after: nil), .integrityLength)),
        Row(name: "integrityFailed, first time", event: .integrityFailed(TransferError(.integrityChecksum, "Wrong."))),
        Row(
            name: "integrityFailed, second time", event: .integrityFailed(TransferError(.integrityChecksum, "Wrong.")),
            prepare: { $0.integrityRestarts = 1 }),
        Row(name: "completed", event: .completed(TaskResult(bytes: 3, verified: true), duration: 1)),
        Row(name: "pause", event: .pause),
        Row(name: "resume", event: .resume(notBefore: nil)),
        Row(
            name: "resume, `earliestBeginAt` is to come",
            event: .resume(notBefore: reading().wall.advanced(by: 60))),
        Row(name: "cancel", event: .cancel(keepPartial: false)),
        Row(name: "cancel, keepPartial", event: .cancel(keepPartial: true)),
        Row(name: "retry", event: .retry),
        Row(name: "retargeted", event: .retargeted),
        Row(
            name: "retargeted, waits for a time", event: .retargeted,
            prepare: { if $0.state == .waiting { $0.reason = .schedule } }),
        Row(name: "preempted", event: .preempted()),
        Row(name: "daemonRestarted", event: .daemonRestarted),
        Row(name: "conditionCleared", event: .conditionCleared),
        Row(name: "blocked", event: .blocked(.schedule, nil, nextAttemptAt: nil)),
        Row(
            name: "asked",
            event: .asked(.authentication, TransferError(.authRequired, "It asks."), until: nil, payload: [:])),
        Row(name: "deadlinePassed", event: .deadlinePassed),
        Row(name: "resourceTimeoutPassed", event: .resourceTimeoutPassed),
    ]

    /// Returns a status that the machine itself could have in `state`.
    static func status(_ state: TaskState) -> TaskStatus {
        var status = TaskStatus(state: state, createdAt: reading(-1000).wall)
        switch state {
        case .queued, .running: status.budgetMark = reading(-100).boot
        case .waiting:
            status.budgetMark = reading(-100).boot
            status.reason = .retry
            status.error = transient.error
            status.nextAttemptAt = reading(10).wall
        case .paused: break
        case .failed:
            status.error = transient.error
            status.finishedAt = reading(-1).wall
        case .completed, .cancelled: status.finishedAt = reading(-1).wall
        }
        return status
    }

    /// Returns a text like `waiting: persist, task.waiting`, or `–` if the machine refuses the event.
    static func cell(_ row: Row, _ state: TaskState) -> String {
        var status = status(state)
        row.prepare(&status)
        var machine = TaskMachine(status)
        guard let effects = try? machine.handle(row.event, at: reading()) else { return "–" }
        let names = effects.map { effect in
            switch effect {
            case .persist: "persist"
            case .discardPart: "discard"
            case .publish(let type, _): type.rawValue
            }
        }
        return "**\(machine.status.state.rawValue)**" + (names.isEmpty ? "" : ": " + names.joined(separator: ", "))
    }

    static var markdown: String {
        let states = TaskState.allCases
        var lines = [
            "| event | " + states.map(\.rawValue).joined(separator: " | ") + " |",
            "|---|" + states.map { _ in "---|" }.joined(),
        ]
        for row in rows {
            lines.append("| \(row.name) | " + states.map { cell(row, $0) }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }
}

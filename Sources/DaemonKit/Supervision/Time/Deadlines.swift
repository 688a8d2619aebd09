import TransferCore
import TransferModel
import TransferStore

/// Fails tasks whose time has run out, and answers questions for which it has.
struct Deadlines: Sendable {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions
    let followUp: FollowUp
    let signal: SupervisionSignal

    /// Fails tasks whose deadline or resource timeout has passed. A running task fails when its run has stopped. This
    /// function does not wait for that, so a disk that does not answer delays only its own task.
    func pass(at now: ClockReading, limit: Int) async throws {
        // Tasks that are stopping stay due, and must not crowd out all others.
        let most = limit + runs.count
        let due = try await store.read { try $0.dueDeadlines(at: now.wall, limit: most) }
        guard !due.isEmpty else { return }
        await runs.claims.hold(due)
        var stopping = 0
        defer {
            runs.claims.release(due)
            if stopping < due.count { signal.changed() }
        }
        let (transitions, runs) = (transitions, runs)
        let (outcomes, stops) = try await store.write { transaction in
            var outcomes: [TaskTransitions.Outcome] = []
            var stops: [(run: TransferRun, event: TaskEvent)] = []
            for id in due {
                guard let record = try transitions.readable(id, in: transaction) else { continue }
                let isDeadline = record.spec.deadlineAt.map { $0 <= now.wall } ?? false
                if !isDeadline, try transitions.postponed(record, at: now, in: transaction) { continue }
                let event: TaskEvent = isDeadline ? .deadlinePassed : .resourceTimeoutPassed
                if record.status.state == .running, let run = runs[id] {
                    stops.append((run, event))
                    continue
                }
                do {
                    outcomes.append(try transitions.apply(event, to: record, in: transaction))
                } catch let error as TransferError where error.code == .taskWrongState {
                    continue
                }
            }
            return (outcomes, stops)
        }
        stopping = stops.count
        for (run, event) in stops { run.requestAbort(.transition(event)) }
        for outcome in outcomes { followUp.note(outcome) }
        // The sweep removes them. It can tell whether a task has been tried again meanwhile.
        if outcomes.contains(where: \.discardsPart) { followUp.leftParts.sweepAgain() }
    }
    /// Applies the defaults of questions about answers that runs hold.
    /// - Returns: milliseconds until the next default applies; nil if none is pending.
    func passDecisions(at now: ClockReading) async throws -> Int64? {
        let transitions = transitions
        var next: Int64?
        for run in runs.all {
            guard let deadline = run.decisionDeadline else { continue }
            guard deadline <= now.boot else {
                next = min(next ?? .max, deadline - now.boot)
                continue
            }
            let id = run.task
            run.isDecided(try await store.write { try transitions.takeDefault(of: id, in: $0) })
        }
        return next
    }
}

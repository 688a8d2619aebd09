import TransferCore
import TransferModel
import TransferStore

/// Answers that a client is asked about while the exchange holds them at their heads.
extension AttemptTools {
    /// nil if the policy asks nobody about answers: then no exchange holds one.
    func asking(of record: TaskRecord, _ run: TransferRun, _ policy: EffectivePolicy) -> RunRecorder.Asking? {
        guard policy.asks.contains(.response) else { return nil }
        return { [self, retry = policy.retry] head, proceed in
            ask(about: .begun(head), of: record, run, retry: retry) { _ in proceed() }
        }
    }

    /// - Parameters:
    ///   - retry: if the question cannot be stored: no body comes unasked, and the attempt fails.
    ///   - proceed: called once with what is decided, on any thread; never if the run stops before. nil: as by default.
    func ask(
        about held: HeldAnswer, of record: TaskRecord, _ run: TransferRun, retry: RetryPolicy,
        proceed: @escaping @Sendable (DecisionAction?) -> Void
    ) {
        let (transitions, id) = (transitions, record.id)
        // Before the question is told: its answer may come at once.
        run.decides(proceed)
        checkpoints.store { [self] in
            do {
                let question = try await patience.persistently { transaction in
                    try transitions.question(about: held, of: id, in: transaction)
                }
                switch question {
                case .settled(let action): run.isDecided(action)
                case .open(let open):
                    run.decides(open, at: time.reading())
                    asked(record.session)
                }
            } catch {
                let cause = error as? TransferError ?? TransferError(.internal, "\(error)")
                let failure = AttemptFailure(error: cause, disposition: .transient(after: nil))
                run.requestAbort(
                    .transition(
                        patience.isStopping()
                            ? .preempted() : .attemptFailed(failure, retry, jitter: Double.random(in: 0..<1))))
            }
        }
    }
}

/// Takes the defaults of questions about answers that are held.
struct HeldAnswers: Sendable {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions

    /// - Returns: milliseconds until the next default; nil if none is waited for.
    func pass(at now: ClockReading) async throws -> Int64? {
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

import TransferCore
import TransferModel
import TransferStore

/// Questions about answers that an exchange holds at their headers until a client decides.
extension AttemptTools {
    /// Returns nil if the policy asks no questions about answers; then no exchange holds one.
    /// - Parameter handOver: called instead if the answer is to become a file, and told whether the cache has it.
    func asking(
        of record: TaskRecord, _ run: TransferRun, _ policy: EffectivePolicy,
        orElse handOver: (@Sendable (Bool) -> Void)? = nil
    ) -> RunRecorder.Asking? {
        guard policy.asks.contains(.response) else { return nil }
        return { [self, retry = policy.retry] head, proceed in
            ask(about: .begun(head), of: record, run, retry: retry) { action in
                guard action == .becomeDownload, let handOver else { return proceed() }
                handOver(head.cachedAge != nil)
            }
        }
    }

    /// - Parameters:
    ///   - retry: used if the question cannot be stored. Then no body is fetched without consent, and the attempt
    ///   fails.
    ///   - proceed: called once with the decision, on any thread; nil means the default. It is never called if the run
    ///   stops first.
    func ask(
        about held: HeldAnswer, of record: TaskRecord, _ run: TransferRun, retry: RetryPolicy,
        proceed: @escaping @Sendable (DecisionAction?) -> Void
    ) {
        let (transitions, id) = (transitions, record.id)
        // Set before the question is published, because its answer may come at once.
        run.decides(proceed)
        checkpoints.store { [self] in
            do {
                let question = try await patience.persistently { [time] transaction in
                    let question = try transitions.question(about: held, of: id, in: transaction)
                    // The commit publishes the question, and then the phase must say so.
                    if case .open(let open) = question { run.decides(open, at: time.reading()) }
                    return question
                }
                switch question {
                case .settled(let action): run.isDecided(action)
                case .open: asked(record.session)
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

/// Applies the default answers of questions about held answers.
struct HeldAnswers: Sendable {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions

    /// - Returns: milliseconds until the next default applies; nil if none is pending.
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

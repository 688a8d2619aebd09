import TransferCore

/// Tells whether a run may still be stopped, and what happens to its task then.
struct RunLife: Sendable {
    /// What happens to a task that is still `running` in the store after its run has stopped.
    enum StopPlan: Sendable {
        case transition(TaskEvent)
        /// The caller who requested the stop stores it (`RunStops`).
        case leftToCaller
    }

    enum State: Sendable {
        case active
        case stopping(StopPlan)
        /// From here to its end, nothing stops the run.
        case committing
        /// The run has stopped or failed, and the fate of its task is decided.
        case decided(StopPlan?)
        /// - Parameter wasDecided: a stop's plan was carried out, or no stop was requested.
        case ended(wasDecided: Bool)
    }

    enum Event: Sendable {
        case stopRequested(StopPlan)
        /// The file is about to get its name.
        case commitRequested
        /// The run has stopped or failed.
        case planRequested
        /// The caller who requested the stop does not wait any longer.
        case stopAbandoned
        case ended
    }

    enum Action: Sendable {
        /// Stop the work.
        case stop
        case commit
        case refuseCommit
        case follow(StopPlan?)
        /// Queue the task again when the run has stopped.
        case requeueLater
        /// The run has stopped, and the caller must still store its task's change.
        case tooLate
    }

    private(set) var state = State.active

    var isCommitting: Bool { if case .committing = state { true } else { false } }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .stopRequested(let plan): stopRequested(plan)
        case .commitRequested: commitRequested()
        case .planRequested: planRequested()
        case .stopAbandoned: stopAbandoned()
        case .ended: ended()
        }
    }

    private mutating func stopRequested(_ plan: StopPlan) -> [Action] {
        switch state {
        case .active, .stopping(.transition):
            state = .stopping(plan)
            return [.stop]
        case .stopping(.leftToCaller): return [.stop]
        case .committing, .decided, .ended: return []
        }
    }

    private mutating func commitRequested() -> [Action] {
        switch state {
        case .active, .committing:
            state = .committing
            return [.commit]
        case .stopping, .decided, .ended: return [.refuseCommit]
        }
    }

    private mutating func planRequested() -> [Action] {
        switch state {
        case .active, .committing: state = .decided(nil)
        case .stopping(let plan): state = .decided(plan)
        case .decided(let plan): return [.follow(plan)]
        case .ended: return [.follow(nil)]
        }
        guard case .decided(let plan) = state else { return [] }
        return [.follow(plan)]
    }

    private mutating func stopAbandoned() -> [Action] {
        switch state {
        case .stopping:
            state = .stopping(.transition(.preempted()))
            return [.requeueLater]
        case .active, .committing, .ended(wasDecided: false): return [.requeueLater]
        case .decided, .ended(wasDecided: true): return [.tooLate]
        }
    }

    private mutating func ended() -> [Action] {
        switch state {
        case .decided, .ended(wasDecided: true): state = .ended(wasDecided: true)
        case .active, .stopping, .committing, .ended(wasDecided: false): state = .ended(wasDecided: false)
        }
        return []
    }
}

extension [RunLife.Action] {
    var stops: Bool { contains { if case .stop = $0 { true } else { false } } }
    var commits: Bool { contains { if case .commit = $0 { true } else { false } } }
    var requeuesLater: Bool { contains { if case .requeueLater = $0 { true } else { false } } }
}

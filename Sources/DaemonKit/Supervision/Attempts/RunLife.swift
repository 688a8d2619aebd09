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

    private(set) var state = State.active

    var isCommitting: Bool { if case .committing = state { true } else { false } }

    /// A stop was requested while the run could still be stopped.
    var isStopping: Bool {
        switch state {
        case .stopping: true
        case .decided(let plan): plan != nil
        case .active, .committing, .ended: false
        }
    }

    /// - Returns: whether the work must stop.
    mutating func requestStop(_ plan: StopPlan) -> Bool {
        switch state {
        case .active, .stopping(.transition): state = .stopping(plan)
        case .stopping(.leftToCaller): break
        case .committing, .decided, .ended: return false
        }
        return true
    }

    /// The file is about to get its name.
    /// - Returns: false if it must not get it, because a stop was requested before.
    mutating func commit() -> Bool {
        switch state {
        case .active, .committing: state = .committing
        case .stopping, .decided, .ended: return false
        }
        return true
    }

    /// Returns what happens to the task now that the run has stopped or failed.
    mutating func takePlan() -> StopPlan? {
        switch state {
        case .active, .committing: state = .decided(nil)
        case .stopping(let plan): state = .decided(plan)
        case .decided: break
        case .ended: return nil
        }
        guard case .decided(let plan) = state else { return nil }
        return plan
    }

    /// The caller who requested the stop does not wait any longer.
    /// - Returns: true if the task is queued again when the run has stopped; false if it has stopped, and the caller
    ///   must still store the task's change.
    mutating func abandonStop() -> Bool {
        switch state {
        case .stopping: state = .stopping(.transition(.preempted()))
        case .active, .committing, .ended(wasDecided: false): break
        case .decided, .ended(wasDecided: true): return false
        }
        return true
    }

    mutating func end() {
        switch state {
        case .decided, .ended(wasDecided: true): state = .ended(wasDecided: true)
        case .active, .stopping, .committing, .ended(wasDecided: false): state = .ended(wasDecided: false)
        }
    }
}

import TransferModel

/// Decides what each event does to a task: a new status, and the effects that carry it out.
///
/// A test checks the table in docs/states.md against it for every state and event.
package struct TaskMachine: Sendable {
    package private(set) var status: TaskStatus

    package init(_ status: TaskStatus) {
        self.status = status
    }

    /// If a task never received a byte and its host name did not resolve for this long, the name is taken for a typing
    /// error.
    package static let unresolvedLimit: Seconds = 300
    /// The most restarts because of a wrong digest, regardless of the number of mirrors.
    package static let integrityRestartLimit = 8
    /// The longest delay before a task that waits for disk or network tries again, if nothing reports that they are
    /// back.
    package static let recheckDelay: Seconds = 60

    /// Status of a new task, and the effects of adding it.
    package static func added(
        startPaused: Bool, earliestBeginAt: Timestamp?, at now: ClockReading
    ) -> (TaskStatus, [TaskEffect]) {
        var status = TaskStatus(state: .queued, createdAt: now.wall)
        var effects: [TaskEffect] = [.persist]
        if startPaused {
            status.state = .paused
            effects += [.publish(.taskAdded, ["state": "paused"]), .publish(.taskPaused, [:])]
        } else if let earliestBeginAt, earliestBeginAt > now.wall {
            status.state = .waiting
            status.reason = .schedule
            status.nextAttemptAt = earliestBeginAt
            effects.append(.publish(.taskAdded, ["state": "waiting"]))
            effects.append(.publish(.taskWaiting, .waiting(status)))
        } else {
            status.startBudget(at: now)
            effects.append(.publish(.taskAdded, ["state": "queued"]))
        }
        return (status, effects)
    }

    /// - Throws: `task.wrong_state` if the state does not allow the event; the status is then unchanged.
    package mutating func handle(_ event: TaskEvent, at now: ClockReading) throws(TransferError) -> [TaskEffect] {
        switch event {
        case .claimed: return try claimed(event, now)
        case .attemptFailed(let failure, let policy, let jitter):
            try require([.running], event)
            return attemptFailed(failure, policy, jitter: jitter, now)
        case .integrityFailed(let error, let places):
            try require([.running], event)
            return integrityFailed(error, places: places, now)
        case .completed(let result, let duration, let mirrors):
            try require([.running], event)
            return completed(result, duration, mirrors, now)
        case .pause: return try pause(event, now)
        case .resume(let begin):
            try require([.paused], event)
            if let begin, begin > now.wall { return wait(for: .schedule, nil, until: begin) }
            return enqueue(now)
        case .cancel(let keepPartial): return try cancel(event, keepPartial: keepPartial, now)
        case .retry: return try retry(event, now)
        case .retargeted: return try retargeted(event, now)
        case .preempted(let cause):
            try require([.running], event)
            return enqueue(now, because: cause)
        case .daemonRestarted: return try daemonRestarted(event, now)
        case .conditionCleared:
            try require([.waiting], event)
            return enqueue(now)
        case .blocked(let reason, let error, let next):
            try require([.queued, .running], event)
            return wait(for: reason, error, until: next)
        case .asked(let reason, let error, let deadline, let payload):
            try require([.queued, .running], event)
            return wait(for: reason, error, until: deadline) + [.publish(.taskDecision, payload)]
        case .deadlinePassed:
            try require([.queued, .running, .waiting, .paused], event)
            return deadlinePassed(
                "The task's deadline has passed; set a later deadlineAt with task.update, then task.retry.",
                now)
        case .resourceTimeoutPassed:
            // Paused time does not count, so this cannot happen to a paused task.
            try require([.queued, .running, .waiting], event)
            // Nobody has decided to trust the server.
            if status.reason == .authentication, let cause = status.error, cause.code == .tlsUntrusted {
                return fail(cause, now)
            }
            return deadlinePassed(
                "The task took longer than its timeoutIntervalForResource; task.retry gives it the whole time again.",
                now)
        }
    }
}

// MARK: - One function per event that does more than move

extension TaskMachine {
    private func require(_ states: [TaskState], _ event: TaskEvent) throws(TransferError) {
        guard states.contains(status.state) else {
            throw TransferError(
                .taskWrongState, "The task is \(status.state.rawValue); \(event.name) is not possible in that state.",
                details: ["state": .string(status.state.rawValue), "event": .string(event.name)])
        }
    }

    private mutating func claimed(_ event: TaskEvent, _ now: ClockReading) throws(TransferError) -> [TaskEffect] {
        try require([.queued], event)
        status.state = .running
        status.attempts += 1
        status.startedAt = status.startedAt ?? now.wall
        status.startBudget(at: now)
        return [.persist, .publish(.taskStarted, .started(attempt: status.attempts))]
    }

    private mutating func attemptFailed(
        _ failure: AttemptFailure, _ policy: RetryPolicy, jitter: Double, _ now: ClockReading
    ) -> [TaskEffect] {
        if failure.progressed, failure.held > status.shortBody?.furthest ?? .zero { status.failuresInRow = 0 }
        status.shortBody = ShortBody(failure, after: status.shortBody)
        if !policy.waitsForConnectivity, failure.isUnconnected { return fail(failure.error, now) }
        if let end = failure.shortEnd, status.shortBody?.times ?? 0 >= end.proof, case .transient = failure.disposition
        {
            return fail(end.error, now, then: [.discardPart])
        }
        if failure.isOfBody, case .transient = failure.disposition {
            guard status.integrityRestarts == 0 else { return fail(failure.error.final, now) }
            status.integrityRestarts += 1
        }
        let unresolvedSince = status.unresolvedSince
        status.unresolvedSince = nil
        // After a body with another length or digest than announced, no later answer may be appended to its bytes.
        let isWrong = failure.error.code == .integrityLength || failure.error.code == .integrityChecksum
        let drop: [TaskEffect] = isWrong ? [.discardPart] : []
        switch failure.disposition {
        case .permanent:
            return fail(failure.error, now, then: drop)
        case .disk, .network:
            let reason: WaitReason = failure.disposition == .disk ? .disk : .network
            let latest = now.wall.advanced(by: min(Self.recheckDelay, policy.longestDelay))
            return wait(for: reason, failure.error, until: latest, then: drop)
        case .transient(let after):
            status.failuresInRow += 1
            if policy.attempts > 0, status.failuresInRow >= policy.attempts {
                return fail(failure.error, now, then: drop)
            }
            if failure.isUnresolvedName {
                let used = status.budgetUsed(at: now)
                let since = min(unresolvedSince ?? used, used)
                if used.rawValue - since.rawValue >= Self.unresolvedLimit.rawValue {
                    return fail(failure.error.unresolved, now)
                }
                status.unresolvedSince = since
            }
            // A server may demand a longer delay than the task's own, but not a shorter one.
            let delay = max(
                policy.delay(failuresInRow: status.failuresInRow, jitter: jitter), after.map(RetryAfter.clamp) ?? 0)
            return wait(for: .retry, failure.error, until: now.wall.advanced(by: delay), then: drop)
        }
    }

    private mutating func integrityFailed(
        _ error: TransferError, places: Int, _ now: ClockReading
    ) -> [TaskEffect] {
        guard status.integrityRestarts < min(max(places, 1), Self.integrityRestartLimit) else {
            return fail(error.final, now, then: [.discardPart])
        }
        status.integrityRestarts += 1
        let restarted = TaskEffect.publish(.taskRestarted, ["code": .string(error.code.rawValue)])
        return enqueue(now, then: [.discardPart, restarted])
    }

    private mutating func completed(
        _ result: TaskResult, _ duration: Seconds, _ mirrors: [String], _ now: ClockReading
    ) -> [TaskEffect] {
        end(.completed, nil, now)
        return [.persist, .publish(.taskCompleted, .completed(result, duration: duration, mirrors))]
    }

    private mutating func pause(_ event: TaskEvent, _ now: ClockReading) throws(TransferError) -> [TaskEffect] {
        try require([.queued, .running, .waiting], event)
        status.state = .paused
        clearWait()
        status.stopBudget(at: now)
        return [.persist, .publish(.taskPaused, [:])]
    }

    private mutating func cancel(
        _ event: TaskEvent, keepPartial: Bool, _ now: ClockReading
    ) throws(TransferError) -> [TaskEffect] {
        try require([.queued, .running, .waiting, .paused], event)
        end(.cancelled, nil, now)
        return [.persist] + (keepPartial ? [] : [.discardPart]) + [.publish(.taskCancelled, [:])]
    }

    private mutating func retry(_ event: TaskEvent, _ now: ClockReading) throws(TransferError) -> [TaskEffect] {
        try require([.waiting, .failed, .cancelled], event)
        if status.state.isFinal {
            forgetFailures()
            status.finishedAt = nil
            status.budgetUsed = 0
            status.budgetMark = nil
        }
        return enqueue(now)
    }

    /// A wait for a time that the client requested continues; every other wait was for the previous request.
    private mutating func retargeted(_ event: TaskEvent, _ now: ClockReading) throws(TransferError) -> [TaskEffect] {
        try require([.queued, .running, .waiting, .paused], event)
        forgetFailures()
        switch status.state {
        case .running: return enqueue(now)
        case .waiting where status.reason != .schedule: return enqueue(now)
        case .queued, .waiting, .paused, .completed, .failed, .cancelled: return [.persist]
        }
    }

    private mutating func daemonRestarted(
        _ event: TaskEvent, _ now: ClockReading
    ) throws(TransferError) -> [TaskEffect] {
        try require([.queued, .running, .waiting], event)
        status.remarkBudget(at: now)
        return status.state == .running ? enqueue(now, because: .crash) : [.persist]
    }

    private mutating func deadlinePassed(_ sentence: String, _ now: ClockReading) -> [TaskEffect] {
        var error = TransferError(.deadlineExceeded, sentence)
        // The cause of the wait says why the time was not enough.
        if let cause = status.error {
            let isWait = status.reason?.isOfMachine == true
            error.message += (isWait ? " " : " The last attempt failed: ") + cause.message
            error.details["cause"] = .string(cause.code.rawValue)
        }
        return fail(error, now)
    }
}

// MARK: - Moves that several events share

extension TaskMachine {
    private mutating func forgetFailures() {
        (status.failuresInRow, status.integrityRestarts) = (0, 0)
        (status.unresolvedSince, status.shortBody) = (nil, nil)
    }

    private mutating func clearWait() {
        status.reason = nil
        status.nextAttemptAt = nil
        status.error = nil
    }

    private mutating func enqueue(
        _ now: ClockReading, because cause: Displacement? = nil, then others: [TaskEffect] = []
    ) -> [TaskEffect] {
        status.state = .queued
        clearWait()
        status.startBudget(at: now)
        return [.persist] + others + [.publish(.taskQueued, cause.map(JSONMembers.queued) ?? [:])]
    }

    private mutating func wait(
        for reason: WaitReason, _ error: TransferError?, until next: Timestamp?,
        then others: [TaskEffect] = []
    ) -> [TaskEffect] {
        status.state = .waiting
        status.reason = reason
        status.error = error
        status.nextAttemptAt = next
        return [.persist] + others + [.publish(.taskWaiting, .waiting(status))]
    }

    private mutating func fail(
        _ error: TransferError, _ now: ClockReading, then others: [TaskEffect] = []
    ) -> [TaskEffect] {
        end(.failed, error, now)
        return [.persist] + others + [.publish(.taskFailed, .failed(error))]
    }

    private mutating func end(_ state: TaskState, _ error: TransferError?, _ now: ClockReading) {
        status.state = state
        clearWait()
        status.error = error
        status.finishedAt = now.wall
        status.stopBudget(at: now)
    }
}

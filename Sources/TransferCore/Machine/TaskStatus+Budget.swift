import TransferModel

/// The clock of `timeoutIntervalForResource`: it runs from the first queueing, and stops while the task is paused or
/// final.
extension TaskStatus {
    /// Time used up to now. If the mark is from an earlier boot, only the time that this boot's clock proves is
    /// counted, so that a task never fails too early.
    package func budgetUsed(at now: ClockReading) -> Seconds {
        guard let budgetMark else { return budgetUsed }
        let elapsed = now.boot >= budgetMark ? now.boot - budgetMark : max(0, now.boot)
        return Seconds(budgetUsed.rawValue + Double(elapsed) / 1000)
    }

    /// Time left of `limit`, at least zero; nil while the clock is stopped.
    package func budgetLeft(of limit: Seconds, at now: ClockReading) -> Seconds? {
        guard budgetMark != nil else { return nil }
        return Seconds(max(0, limit.rawValue - budgetUsed(at: now).rawValue))
    }

    mutating func startBudget(at now: ClockReading) {
        if budgetMark == nil { budgetMark = now.boot }
    }

    mutating func stopBudget(at now: ClockReading) {
        budgetUsed = budgetUsed(at: now)
        budgetMark = nil
    }

    /// Adds the time since the old mark, and sets a new mark on the clock of this boot.
    mutating func remarkBudget(at now: ClockReading) {
        guard budgetMark != nil else { return }
        budgetUsed = budgetUsed(at: now)
        budgetMark = now.boot
    }
}

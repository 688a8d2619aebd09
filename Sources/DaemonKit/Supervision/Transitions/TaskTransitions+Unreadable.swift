import TransferCore
import TransferModel
import TransferStore

/// Tasks whose rows cannot be read. Each is set aside when it is found, so that the others continue.
extension TaskTransitions {
    /// Returns the task; nil if there is none, or if it cannot be read and was set aside.
    func readable(_ id: TaskID, in transaction: StoreTransaction) throws -> TaskRecord? {
        do {
            return try transaction.task(id)
        } catch let error as TransferError where error.code == .internal {
            try setAside(id, because: error, in: transaction)
            return nil
        }
    }

    private func setAside(_ id: TaskID, because cause: TransferError, in transaction: StoreTransaction) throws {
        let now = time.reading().wall
        let error = TransferError(
            .internal,
            "What was stored of this task cannot be read, so it was set aside; look for damage to the state folder's disk, "
                + "then remove the task and add it again. (\(cause.message))")
        guard let task = try transaction.setAside(id, because: error, at: now) else { return }
        unreadable(id, cause)
        guard !task.state.isFinal else { return }
        var payload = EventPayload.failed(error)
        if !task.url.isEmpty { payload.add("url", URLRules.inEvents(task.url)) }
        _ = try transaction.append(
            EventRecord(time: now, type: .taskFailed, session: task.session, task: id, payload: payload))
        try sessionMayHaveDrained(task.session, at: now, in: transaction)
    }
}

import TransferModel

extension StoreTransaction {
    /// Stores a question in place of the task's last one.
    /// - Returns: its id, which no other question ever had or gets.
    package func ask(
        _ question: Question, of task: TaskID, at now: Timestamp, settled: SettledDecisions
    ) throws -> DecisionID {
        try execute("DELETE FROM decision WHERE task = ?", task.rawValue)
        try execute(
            "INSERT INTO decision (task, state, question, asked_at, settled) VALUES (?, 'open', ?, ?, ?)",
            task.rawValue, try JSONColumn.encode(question), now.rawValue, try JSONColumn.encode(settled))
        return DecisionID(connection.lastInsertedRow)
    }

    /// Stores the answer to an open question, and what it settles.
    package func answer(_ id: DecisionID, _ answer: DecisionAnswer, settled: SettledDecisions) throws {
        try execute(
            "UPDATE decision SET state = 'answered', answer = ?, settled = ? WHERE id = ? AND state = 'open'",
            try JSONColumn.encode(answer), try JSONColumn.encode(settled), id.rawValue)
    }

    /// The task goes another way: nobody can answer its question any more.
    package func closeDecision(of task: TaskID) throws {
        try execute("UPDATE decision SET state = 'closed' WHERE task = ? AND state = 'open'", task.rawValue)
    }

    /// The task begins anew, or asks for something else: nothing is settled.
    package func forgetDecisions(of task: TaskID) throws {
        try execute("DELETE FROM decision WHERE task = ?", task.rawValue)
    }
}

import TransferModel

extension StoreSnapshot {
    /// The metrics of the exchanges of the task's earlier runs; empty if none are stored or they cannot be read.
    package func metrics(of id: TaskID) throws -> TaskMetrics { try storedMetrics(of: id)?.metrics ?? TaskMetrics() }

    func storedMetrics(of id: TaskID) throws -> StoredMetrics? {
        try rows("SELECT metrics FROM task WHERE id = ?", id.rawValue).next()
            .flatMap { $0[0] as [UInt8]? }.map { StoredMetrics(bytes: $0) }
    }
}

extension StoreTransaction {
    /// Appends the metrics of a run's exchanges, if the run's end is stored separately.
    package func add(_ metrics: StoredMetrics, to id: TaskID) throws {
        let all = metrics.appended(to: try storedMetrics(of: id))
        try execute("UPDATE task SET metrics = ? WHERE id = ?", all.bytes, id.rawValue)
    }
}

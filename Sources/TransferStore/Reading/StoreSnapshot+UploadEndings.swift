import TransferModel

extension StoreSnapshot {
    /// The uploads to end at their servers, the first due first.
    package func uploadEndings(limit: Int) throws -> [UploadEnding] {
        return try rows(
            """
            SELECT id, task, owner, session, spec, progress, failures, recorded_at, next_attempt_at \
            FROM upload_ending ORDER BY next_attempt_at, id LIMIT ?
            """, limit
        ).map { row in
            UploadEnding(
                id: row[0], task: TaskID(row[1] as Int64),
                session: SessionKey(owner: UserID(row[2] as UInt32), identifier: row[3]),
                spec: try JSONColumn.decode(row[4]), progress: try JSONColumn.decode(row[5]), failures: row[6],
                recordedAt: Timestamp(milliseconds: row[7]), nextAttemptAt: Timestamp(milliseconds: row[8]))
        }
    }
}

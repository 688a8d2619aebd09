import TransferModel

/// An upload that was begun at a server and is no longer wanted: what is needed to tell the server, even if the task is
/// gone.
package struct UploadEnding: Hashable, Sendable {
    package var id: Int64
    /// The task that began it; it may have been removed since.
    package var task: TaskID
    package var session: SessionKey
    /// How to reach the server: the task's spec as it was.
    package var spec: TaskSpec
    package var progress: UploadProgress
    /// Tries that got no answer, or an answer that asks to try again.
    package var failures: Int
    package var recordedAt: Timestamp
    package var nextAttemptAt: Timestamp
}

extension StoreSnapshot {
    /// The uploads to end at their servers, the first due first.
    package func uploadEndings(limit: Int) throws -> [UploadEnding] {
        try rows(
            """
            SELECT id, task, owner, session, spec, progress, failures, recorded_at, next_attempt_at \
            FROM upload_ending ORDER BY next_attempt_at, id LIMIT ?
            """, limit
        ).map { row in
            UploadEnding(
                id: row[0], task: row[1], session: row[2], spec: try row.document(4), progress: try row.document(5),
                failures: row[6], recordedAt: row[7], nextAttemptAt: row[8])
        }
    }
}

extension StoreTransaction {
    /// Notes that the server must be told, in the transaction that makes the upload unwanted; the task forgets the
    /// upload. Does nothing if none was begun.
    package func endUpload(of record: TaskRecord, at now: Timestamp) throws {
        guard let progress = record.upload, progress.resourceURL != nil || record.canAbortS3 else { return }
        try setUpload(record.id, nil)
        try execute(
            """
            INSERT INTO upload_ending (task, owner, session, spec, progress, recorded_at, next_attempt_at) \
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            record.id, record.session.owner, record.session.identifier, record.spec, progress, now, now)
    }

    /// The server could not be told; it is tried again at `time`.
    package func postpone(_ ending: UploadEnding, failures: Int, until time: Timestamp) throws {
        try execute(
            "UPDATE upload_ending SET failures = ?, next_attempt_at = ? WHERE id = ?",
            failures, time, ending.id)
    }

    /// The server knows, or is no longer told.
    package func remove(_ ending: UploadEnding) throws {
        try execute("DELETE FROM upload_ending WHERE id = ?", ending.id)
    }
}

extension TaskRecord {
    /// Its client has said how the multipart upload ends.
    fileprivate var canAbortS3: Bool { upload?.uploadProtocol == .s3Multipart && spec.s3?.abortURL != nil }
}

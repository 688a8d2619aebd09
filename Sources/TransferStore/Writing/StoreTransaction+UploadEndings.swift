import TransferModel

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
            record.id.rawValue, record.session.owner.rawValue, record.session.identifier,
            try JSONColumn.encode(record.spec), try JSONColumn.encode(progress), now.rawValue, now.rawValue)
    }

    /// The server could not be told; it is tried again at `time`.
    package func postpone(_ ending: UploadEnding, failures: Int, until time: Timestamp) throws {
        try execute(
            "UPDATE upload_ending SET failures = ?, next_attempt_at = ? WHERE id = ?",
            failures, time.rawValue, ending.id)
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

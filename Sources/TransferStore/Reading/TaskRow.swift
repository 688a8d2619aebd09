import TransferModel

/// Reads a task with its session, checkpoint, response and upload from one row, by column position: finding a column by
/// name needs a search.
enum TaskRow {
    static let columns = """
        task.id, session.owner, session.identifier, task.spec, task.state, task.reason, task.next_attempt_at, \
        task.error, task.attempts, task.failures_in_row, task.integrity_restarts, task.created_at, task.started_at, \
        task.finished_at, task.budget_used, task.budget_mark, task.unresolved_since, lane.host, task.position, \
        task.destination_device, task.result_file, task.result_bytes, task.result_sha256, task.result_verified, \
        checkpoint.part_offset, checkpoint.total, checkpoint.etag, checkpoint.last_modified, \
        checkpoint.response_date, checkpoint.content_coding, checkpoint.part_path, checkpoint.device, \
        checkpoint.inode, checkpoint.server_digests, response.document, \
        upload.progress, source.device, source.inode, source.size, source.modified_ns, checkpoint.ranges, \
        checkpoint.origin, task.kind, task.short_body, task.result_inode, task.result_changed_ns, task.result_crc32c, \
        task.expires_at, task.session, task.lane, \
        CASE task.kind WHEN 'data' THEN (SELECT body.content FROM body WHERE body.task = task.id \
        AND body.role = 'response' AND body.is_shown = 1) END
        """

    static let joins = """
        JOIN session ON session.id = task.session \
        JOIN lane ON lane.id = task.lane \
        LEFT JOIN checkpoint ON checkpoint.task = task.id \
        LEFT JOIN response ON response.task = task.id \
        LEFT JOIN upload ON upload.task = task.id \
        LEFT JOIN source ON source.task = task.id
        """

    static func record(_ row: Row) throws -> TaskRecord {
        var record = try record(row, spec: Boxed(wrappedValue: try JSONColumn.decode(row[3])))
        record.response = try (row[34] as String?).map { try JSONColumn.decode($0) }
        if let body = shownBody(row) { record.response?.body = body }
        return record
    }

    /// The body of the answer, if its document does not have it.
    private static func shownBody(_ row: Row) -> ResponseBody? {
        (row[50] as [UInt8]?).map { ResponseBody(showing: $0, isTruncated: false) }
    }

    /// What only the store itself needs: when the resource timeout runs out, and how long the spec's text is.
    static func expiry(_ row: Row) -> Timestamp? { timestamp(row[47]) }
    static func place(_ row: Row) -> Tallies.Place { Tallies.Place(session: row[48], lane: row[49]) }
    static func specLength(_ row: Row) -> Int { row.length(3) }

    /// The task with its spec and its answer as text.
    static func listed(_ row: Row) throws -> ListedTask {
        let record = try record(row, spec: ListedTask.spec(try JSONColumn.word(row[42])))
        return ListedTask(record: record, specText: row[3], responseText: try responseText(row))
    }

    private static func responseText(_ row: Row) throws -> String? {
        guard let text = row[34] as String?, text.hasSuffix("}"), let body = shownBody(row) else { return row[34] }
        return String(decoding: StoredDocument.adding(body, to: Array(text.utf8)), as: UTF8.self)
    }

    private static func record(_ row: Row, spec: Boxed<TaskSpec>) throws -> TaskRecord {
        let position: Double = row[18]
        var record = TaskRecord(
            id: TaskID(row[0] as Int64),
            session: SessionKey(owner: UserID(row[1] as UInt32), identifier: row[2]),
            spec: spec, status: Boxed(wrappedValue: try status(row, from: 4, shortBody: 43)), host: row[17],
            position: position)
        record.destinationDevice = (row[19] as Int64?).map { UInt64(bitPattern: $0) }
        record.result = (row[21] as Int64?).map { bytes in
            TaskResult(file: row[20], bytes: ByteCount(bytes), sha256: row[22], verified: row[23], mark: mark(row))
        }
        record.checkpoint = try checkpoint(row)
        record.upload = try (row[35] as String?).map { try JSONColumn.decode($0) }
        record.source = source(row)
        return record
    }

    /// What `status` reads.
    static let statusColumns = """
        task.state, task.reason, task.next_attempt_at, task.error, task.attempts, task.failures_in_row, \
        task.integrity_restarts, task.created_at, task.started_at, task.finished_at, task.budget_used, \
        task.budget_mark, task.unresolved_since, task.short_body
        """

    /// - Parameters:
    ///   - first: index of the first of `statusColumns`.
    ///   - shortBody: index of the last of them, if it does not follow the others.
    static func status(_ row: Row, from first: Int, shortBody: Int? = nil) throws -> TaskStatus {
        var status = TaskStatus(
            state: try JSONColumn.word(row[first]), createdAt: Timestamp(milliseconds: row[first + 7]))
        status.reason = try (row[first + 1] as String?).map { try JSONColumn.word($0) }
        status.nextAttemptAt = timestamp(row[first + 2])
        status.error = try (row[first + 3] as String?).map { try JSONColumn.decode($0) }
        status.attempts = row[first + 4]
        status.failuresInRow = row[first + 5]
        status.integrityRestarts = row[first + 6]
        status.startedAt = timestamp(row[first + 8])
        status.finishedAt = timestamp(row[first + 9])
        status.budgetUsed = Seconds(row[first + 10] as Double)
        status.budgetMark = row[first + 11]
        status.unresolvedSince = (row[first + 12] as Int64?).map { Seconds(Double($0) / 1000) }
        status.shortBody = try (row[shortBody ?? first + 13] as String?).map { try JSONColumn.decode($0) }
        return status
    }

    private static func checkpoint(_ row: Row) throws -> Checkpoint? {
        guard let offset = row[24] as Int64? else { return nil }
        return Checkpoint(
            offset: ByteCount(offset), total: (row[25] as Int64?).map { ByteCount($0) },
            validators: Validators(etag: row[26], lastModified: row[27], date: row[28]), contentCoding: row[29],
            partPath: row[30], device: UInt64(bitPattern: row[31]), inode: UInt64(bitPattern: row[32]),
            serverDigests: try (row[33] as String?).map { try JSONColumn.decode($0) } ?? [:],
            ranges: try (row[40] as String?).map { try JSONColumn.decode($0) } ?? [], origin: row[41])
    }

    private static func mark(_ row: Row) -> FileMark? {
        (row[44] as Int64?).map { inode in
            FileMark(
                inode: UInt64(bitPattern: inode), changed: row[45],
                checksum: (row[46] as Int64?).map { UInt32(truncatingIfNeeded: $0) })
        }
    }

    private static func source(_ row: Row) -> SourceIdentity? {
        guard let device = row[36] as Int64? else { return nil }
        return SourceIdentity(
            device: UInt64(bitPattern: device), inode: UInt64(bitPattern: row[37]), size: ByteCount(row[38] as Int64),
            modified: row[39])
    }

    private static func timestamp(_ value: Int64?) -> Timestamp? {
        value.map { Timestamp(milliseconds: $0) }
    }
}

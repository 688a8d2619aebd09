import TransferModel

/// Reads a task with its session, checkpoint, response and upload from one row, by column position: finding a column by
/// name needs a search.
enum TaskRow {
    static let columns = """
        task.id, session.owner, session.identifier, task.spec, \(statusColumns), lane.host, task.position, \
        task.destination_device, task.result_file, task.result_bytes, task.result_sha256, task.result_verified, \
        checkpoint.part_offset, checkpoint.total, checkpoint.etag, checkpoint.last_modified, \
        checkpoint.response_date, checkpoint.content_coding, checkpoint.part_path, checkpoint.device, \
        checkpoint.inode, checkpoint.server_digests, response.document, \
        upload.progress, source.device, source.inode, source.size, source.modified_ns, checkpoint.ranges, \
        checkpoint.origin, task.kind, task.result_inode, task.result_changed_ns, task.result_crc32c, \
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
        var record = try record(row, spec: Boxed(wrappedValue: try row.document(3)))
        record.response = try row.document(35)
        if let body = shownBody(row) { record.response?.body = body }
        return record
    }

    /// The body of the answer, if its document does not have it.
    private static func shownBody(_ row: Row) -> ResponseBody? {
        (row[50] as [UInt8]?).map { ResponseBody(showing: $0, isTruncated: false) }
    }

    /// What only the store itself needs: when the resource timeout runs out, and how long the spec's text is.
    static func expiry(_ row: Row) -> Timestamp? { row[47] }
    static func place(_ row: Row) -> Tallies.Place { Tallies.Place(session: row[48], lane: row[49]) }
    static func specLength(_ row: Row) -> Int { row.length(3) }

    /// The task with its spec and its answer as text.
    static func listed(_ row: Row) throws -> ListedTask {
        let record = try record(row, spec: ListedTask.spec(try row.word(43)))
        return ListedTask(record: record, specText: row[3], responseText: responseText(row))
    }

    private static func responseText(_ row: Row) -> String? {
        guard let text = row[35] as String?, text.hasSuffix("}"), let body = shownBody(row) else { return row[35] }
        return String(decoding: StoredDocument.adding(body, to: Array(text.utf8)), as: UTF8.self)
    }

    private static func record(_ row: Row, spec: Boxed<TaskSpec>) throws -> TaskRecord {
        let position: Double = row[19]
        var record = TaskRecord(
            id: row[0], session: row[1], spec: spec, status: Boxed(wrappedValue: try status(row, from: 4)),
            host: row[18], position: position)
        record.destinationDevice = row[20]
        record.result = (row[22] as ByteCount?).map { bytes in
            TaskResult(file: row[21], bytes: bytes, sha256: row[23], verified: row[24], mark: mark(row))
        }
        record.checkpoint = try checkpoint(row)
        record.upload = try row.document(36)
        record.source = (row[37] as UInt64?).map { device in
            SourceIdentity(device: device, inode: row[38], size: row[39], modified: row[40])
        }
        return record
    }

    /// What `status` reads.
    static let statusColumns = (["created_at"] + StatusColumn.all.map(\.name)).map { "task.\($0)" }
        .joined(separator: ", ")

    /// - Parameter first: index of the first of `statusColumns`.
    static func status(_ row: Row, from first: Int) throws -> TaskStatus {
        var status = TaskStatus(state: .queued, createdAt: row[first])
        for (index, column) in StatusColumn.all.enumerated() { try column.read(row, first + 1 + index, &status) }
        return status
    }

    private static func checkpoint(_ row: Row) throws -> Checkpoint? {
        guard let offset = row[25] as ByteCount? else { return nil }
        return Checkpoint(
            offset: offset, total: row[26], validators: Validators(etag: row[27], lastModified: row[28], date: row[29]),
            contentCoding: row[30], partPath: row[31], device: row[32], inode: row[33],
            serverDigests: try row.document(34) ?? [:], ranges: try row.document(41) ?? [], mirror: row[42])
    }

    private static func mark(_ row: Row) -> FileMark? {
        (row[44] as UInt64?).map { inode in
            FileMark(
                inode: inode, changed: row[45], checksum: (row[46] as Int64?).map { UInt32(truncatingIfNeeded: $0) })
        }
    }
}

/// A column of a task's status, with all that the store does with it.
struct StatusColumn: Sendable {
    let name: String
    let differs: @Sendable (_ a: Boxed<TaskStatus>, _ b: Boxed<TaskStatus>) -> Bool
    let bind: @Sendable (_ status: Boxed<TaskStatus>, _ statement: Statement, _ index: Int32) -> Void
    let read: @Sendable (_ row: Row, _ column: Int, _ status: inout TaskStatus) throws -> Void

    /// - Parameter value: takes the box, because a copy of the status costs more than its member.
    @inline(__always)
    private init<Value: Bindable & Equatable & Sendable>(
        _ name: String, _ value: @escaping @Sendable (Boxed<TaskStatus>) -> Value,
        _ read: @escaping @Sendable (Row, Int, inout TaskStatus) throws -> Void
    ) {
        self.name = name
        differs = { value($0) != value($1) }
        bind = { value($0).bind(to: $1, at: $2) }
        self.read = read
    }

    /// All but `created_at`, which never changes; the state first.
    static let all = [
        StatusColumn("state", { $0.wrappedValue.state }) { $2.state = try $0.word($1) },
        StatusColumn("reason", { $0.wrappedValue.reason }) { $2.reason = try $0.word($1) },
        StatusColumn("next_attempt_at", { $0.wrappedValue.nextAttemptAt }) { $2.nextAttemptAt = $0[$1] },
        StatusColumn("error", { $0.wrappedValue.error }) { $2.error = try $0.document($1) },
        StatusColumn("attempts", { $0.wrappedValue.attempts }) { $2.attempts = $0[$1] },
        StatusColumn("failures_in_row", { $0.wrappedValue.failuresInRow }) { $2.failuresInRow = $0[$1] },
        StatusColumn("integrity_restarts", { $0.wrappedValue.integrityRestarts }) { $2.integrityRestarts = $0[$1] },
        StatusColumn("started_at", { $0.wrappedValue.startedAt }) { $2.startedAt = $0[$1] },
        StatusColumn("finished_at", { $0.wrappedValue.finishedAt }) { $2.finishedAt = $0[$1] },
        StatusColumn("budget_used", { $0.wrappedValue.budgetUsed }) { $2.budgetUsed = Seconds($0[$1] as Double) },
        StatusColumn("budget_mark", { $0.wrappedValue.budgetMark }) { $2.budgetMark = $0[$1] },
        StatusColumn("unresolved_since", { $0.wrappedValue.unresolvedSince?.milliseconds }) {
            $2.unresolvedSince = ($0[$1] as Int64?).map { Seconds(Double($0) / 1000) }
        },
        StatusColumn("short_body", { $0.wrappedValue.shortBody }) { $2.shortBody = try $0.document($1) },
    ]
}

import FileKit
import TransferCore
import TransferModel
import TransferStore

/// Tells clients about their tasks, and changes nothing.
struct TaskReader: TaskReading {
    let store: TransferStore
    let runs: RunTable
    let transitions: TaskTransitions
    let conditions: Conditions
    let disks: DiskWaits
    let reason: QueueingReason

    func queueing(of record: TaskRecord) async -> Queueing? { await reason.queueing(of: record) }

    /// Asks the store and the disk of a running task that makes no progress.
    func trouble(of record: TaskRecord) async -> String? {
        if runs[record.id]?.counters.waitsForAnother == true {
            return "The output of its helper waits for another task, which takes no bytes. Let that task continue, or "
                + "cancel it."
        }
        guard let live = live(record.id), live.rate == 0 else { return nil }
        if let trouble = store.trouble { return "Its changes may not be stored. \(trouble.message)" }
        guard let need = disks.need(of: record), await !conditions.disk.answers(need) else { return nil }
        return "The disk of \(need.plan.folder) does not answer. Check its device or network mount; the task "
            + "continues when it answers."
    }

    func record(_ id: TaskID, for peer: Peer) async throws -> TaskRecord {
        let record: TaskRecord?
        do {
            record = try await store.read { try $0.task(id) }
        } catch let error as TransferError where error.code == .internal {
            record = try await store.write { [transitions] transaction in
                try transitions.readable(id, in: transaction) ?? transaction.task(id)
            }
        }
        guard let record, peer.isAdmin || record.session.owner == peer.uid else { throw TransferError.noTask(id) }
        return record
    }

    func live(_ id: TaskID) -> LiveFigures? { runs[id]?.figures() }
    func segments(_ id: TaskID) -> [SegmentView] { runs[id]?.segments ?? [] }

    func wholeHead(of id: TaskID) async throws -> WholeHead? { try await store.read { try $0.wholeHead(of: id) } }

    func metrics(of record: TaskRecord) async throws -> TaskMetrics {
        // Read first: once the run's end is stored, the store has the metrics.
        let live = runs[record.id]?.metrics
        let (status, stored) = try await store.read {
            (try $0.status(of: record.id), try $0.metrics(of: record.id))
        }
        guard let live, status?.state == .running, status?.attempts == record.status.attempts else { return stored }
        var all = stored
        all.add(live)
        return all
    }

    func exchange(of id: TaskID) async throws -> KeptExchange {
        try await store.read { snapshot in
            let limit = ByteCount(Int64(Bounds.shownBody))
            return KeptExchange(
                head: try snapshot.wholeHead(of: id), request: try snapshot.body(of: id, .request, showing: limit),
                response: try snapshot.body(of: id, .response, showing: limit),
                standing: try snapshot.decision(of: id)?.settled.standing)
        }
    }

    func progressSnapshot() -> [ProgressFigures] {
        runs.all.map { ProgressFigures(task: $0.task, session: $0.session, live: $0.figures()) }
    }

    func throughput() -> Throughput { runs.throughput }

    func body(
        _ id: TaskID, from offset: ByteCount, atMost length: ByteCount, for peer: Peer
    ) async throws -> (bytes: [UInt8], isLast: Bool) {
        let record = try await record(id, for: peer)
        let piece = try await store.read { snapshot -> (bytes: [UInt8], isLast: Bool)? in
            guard let whole = try snapshot.bodyLength(of: id, .response),
                let bytes = try snapshot.body(of: id, .response, from: offset, atMost: length)
            else { return nil }
            return (bytes, offset + ByteCount(Int64(bytes.count)) >= whole)
        }
        guard let piece else {
            throw TransferError(
                .taskWrongState,
                "Task \(id) keeps no body: its kind is \(record.spec.kind.rawValue), its state "
                    + "\(record.status.state.rawValue).")
        }
        return piece
    }
}

extension TransferError {
    static func noTask(_ id: TaskID) -> TransferError {
        TransferError(.taskNotFound, "There is no task \(id).", details: ["task": .integer(id.rawValue)])
    }
}

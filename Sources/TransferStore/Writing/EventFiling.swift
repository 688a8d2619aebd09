import TransferModel

extension StoreTransaction {
    /// Files the oldest events that are not in `event_task` yet, up to `count` sequence numbers.
    /// - Returns: how many sequence numbers are not filed yet.
    func fileEvents(atMost count: Int64) throws -> Int64 {
        let head = try eventHead().rawValue
        let kept = try integer("SELECT min(sequence) FROM event") ?? head
        let first = max(try filedEvents().rawValue, kept - 1)
        let last = min(head, first + count)
        guard last > first else { return 0 }
        try execute(
            "UPDATE event SET filed = 1 WHERE sequence > ? AND sequence <= ? AND task IS NOT NULL", first, last)
        try setMeta("events_filed", String(last))
        return head - last
    }
}

extension TransferStore {
    /// Events that may be searched for those of one task: some milliseconds of a reading thread.
    static let unfiledEvents: Int64 = 10_000
    /// Events that are filed in one transaction: some milliseconds of the writing thread.
    private static let filingStep: Int64 = 2000

    /// A page of the log, its head, and the number from which on all events of the query's owner are kept, read in one
    /// snapshot. Files older events first if the query is about one task.
    package func eventPage(
        _ query: EventQuery
    ) async throws -> (events: [EventRecord], isCut: Bool, head: SequenceNumber, first: SequenceNumber) {
        if query.onlyTask != nil { await fileEvents() }
        return try await read { snapshot in
            let page = try snapshot.eventPage(query)
            return (page.events, page.isCut, try snapshot.eventHead(), try snapshot.firstEventKept(of: query.owner))
        }
    }

    /// If the store cannot be written now, more events are searched.
    private func fileEvents() async {
        let waiting = try? await read { try $0.eventHead().rawValue - $0.filedEvents().rawValue }
        guard waiting ?? 0 > Self.unfiledEvents else { return }
        while let rest = try? await write({ try $0.fileEvents(atMost: Self.filingStep) }), rest > Self.unfiledEvents {}
    }
}

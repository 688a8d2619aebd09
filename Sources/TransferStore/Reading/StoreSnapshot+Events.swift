import TransferModel

extension StoreSnapshot {
    /// Events after `query.after` that match, in order, up to `query.limit` and `query.bytes`.
    package func events(_ query: EventQuery) throws -> [EventRecord] { try eventPage(query).events }

    /// The same events, and whether the limit or the bytes cut the page: more may follow.
    package func eventPage(_ query: EventQuery) throws -> (events: [EventRecord], isCut: Bool) {
        let (sql, arguments) = Self.eventSQL(query, filed: query.onlyTask == nil ? .zero : try filedEvents())
        let rows = try rows(sql, list: arguments)
        var events: [EventRecord] = []
        var length = 0
        while let row = try rows.next() {
            let payload = row[6] as String?
            length += payload?.utf8.count ?? 0
            if length > query.bytes, !events.isEmpty { return (events, true) }
            events.append(try Self.event(row, payload))
        }
        return (events, events.count == query.limit)
    }

    /// `event_task` contains the events up to this one.
    func filedEvents() throws -> SequenceNumber {
        SequenceNumber(try integer("SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'events_filed'") ?? 0)
    }

    /// Number of the last event ever stored; zero before the first.
    package func eventHead() throws -> SequenceNumber {
        if let recent { return SequenceNumber(try recent.tallies.last(.event, in: connection)) }
        return SequenceNumber(try integer("SELECT value FROM counter WHERE name = 'event'") ?? 0)
    }

    /// The number from which retention has removed no event of `owner`, or of any owner.
    package func firstEventKept(of owner: UserID? = nil) throws -> SequenceNumber {
        let expired = try integer(
            "SELECT max(expired) FROM event_owner WHERE ?1 IS NULL OR owner = ?1", owner?.rawValue)
        return SequenceNumber((expired ?? 0) + 1)
    }

    /// What the durable subscriber acknowledged last; nil if no subscriber has this name.
    package func subscriber(_ name: String, owner: UserID) throws -> SequenceNumber? {
        try integer("SELECT sequence FROM subscriber WHERE owner = ? AND name = ?", owner.rawValue, name)
            .map { SequenceNumber($0) }
    }

    /// What `settings.set` stored, by name.
    package func settings() throws -> [String: JSONValue] {
        let rows = try rows("SELECT name, value FROM setting")
        var settings: [String: JSONValue] = [:]
        while let row = try rows.next() { settings[row[0]] = try JSONColumn.decode(row[1], as: JSONValue.self) }
        return settings
    }

    /// `event_task` finds the events of one task that are filed; later events are searched, as all are for other
    /// queries. `+` prevents the planner from using other indexes, whose order is not the log's.
    static func eventSQL(_ query: EventQuery, filed: SequenceNumber) -> (sql: String, arguments: [any Bindable]) {
        var (conditions, values): ([String], [any Bindable]) = ([], [])
        if let owner = query.owner {
            conditions.append("+owner = ?")
            values.append(owner.rawValue)
        }
        func oneOf(_ column: String, _ words: [any Bindable]) {
            conditions.append("+\(column) IN (\(placeholders(words.count)))")
            values.append(contentsOf: words)
        }
        if let sessions = query.sessions { oneOf("session", sessions.sorted()) }
        if let types = query.types { oneOf("type", types.map(\.rawValue).sorted()) }
        if query.onlyTask == nil, let tasks = query.tasks { oneOf("task", tasks.sorted().map(\.rawValue)) }
        func stretch(_ place: String) -> String {
            """
            SELECT sequence, time, type, owner, session, task, payload FROM event \
            WHERE \(([place] + conditions).joined(separator: " AND "))
            """
        }
        let ordering = " ORDER BY sequence LIMIT ?"
        guard let task = query.onlyTask?.rawValue else {
            return (stretch("sequence > ?") + ordering, [query.after.rawValue] + values + [query.limit])
        }
        let sql =
            stretch("task = ? AND filed = 1 AND sequence > ?") + " UNION ALL " + stretch("sequence > ? AND +task = ?")
        let before: [any Bindable] = [task, query.after.rawValue]
        let behind: [any Bindable] = [max(query.after, filed).rawValue, task]
        return (sql + ordering, before + values + behind + values + [query.limit])
    }

    private static func event(_ row: Row, _ payload: String?) throws -> EventRecord {
        EventRecord(
            sequence: SequenceNumber(row[0] as Int64), time: Timestamp(milliseconds: row[1]),
            type: try JSONColumn.word(row[2]),
            session: SessionKey(owner: UserID(row[3] as UInt32), identifier: row[4]),
            task: (row[5] as Int64?).map { TaskID($0) },
            payload: try payload.map { try JSONColumn.members($0) } ?? [:])
    }
}

/// `?,?,?` for `count` arguments.
func placeholders(_ count: Int) -> String {
    repeatElement("?", count: count).joined(separator: ",")
}

extension EventQuery {
    /// The only task whose events are wanted; nil if there are several, or none is named.
    var onlyTask: TaskID? { tasks.flatMap { $0.count == 1 ? $0.first : nil } }
}

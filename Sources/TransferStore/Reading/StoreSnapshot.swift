import TransferModel

/// One consistent view of the store; valid only inside the closure that received it.
package class StoreSnapshot {
    let connection: Connection
    /// Sessions that this view was asked for: tasks that are looked at together share them.
    var knownSessions: [SessionKey: SessionRecord] = [:]

    /// What was read or written recently; nil on a connection that only reads.
    let recent: RecentRecords?

    init(_ connection: Connection, recent: RecentRecords? = nil) {
        self.connection = connection
        self.recent = recent
    }

    /// Called before rows are read, so that deferred changes are in them.
    func writeDeferred() throws {}

    func rows<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, repeat each values)
    }

    func rows<each Value: Bindable>(_ sql: SQL, _ values: repeat each Value) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, repeat each values)
    }

    func rows(_ sql: String, list values: [any Bindable]) throws -> Rows {
        try writeDeferred()
        return try connection.rows(sql, list: values)
    }

    func integer<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> Int64? {
        try writeDeferred()
        return try connection.integer(sql, repeat each values)
    }

    func text<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> String? {
        try writeDeferred()
        return try connection.text(sql, repeat each values)
    }

    func taskIDs<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws -> [TaskID] {
        try rows(sql, repeat each values).map { $0[0] }
    }

    /// A value of the store itself.
    func meta(_ name: String) throws -> String? { try text("SELECT value FROM meta WHERE name = ?", name) }
}

// MARK: - Bodies

/// A body that the store keeps.
package struct KeptBody: Hashable, Sendable {
    package var size: ByteCount
    /// nil if it is too long to show.
    package var content: [UInt8]?

    package init(size: ByteCount, content: [UInt8]? = nil) {
        self.size = size
        self.content = content
    }
}

extension StoreSnapshot {
    /// The header of the last answer; nil if all of it is shown elsewhere, or none arrived.
    package func wholeHead(of id: TaskID) throws -> WholeHead? {
        try text("SELECT head FROM response WHERE task = ?", id).map { try JSONColumn.decode($0) }
    }

    /// A kept body of at most `limit` bytes; of a longer one only its length; nil if there is none.
    package func body(of id: TaskID, _ role: BodyRole, showing limit: ByteCount) throws -> KeptBody? {
        guard let size = try bodyLength(of: id, role) else { return nil }
        return KeptBody(size: size, content: size > limit ? nil : try body(of: id, role))
    }

    /// Length of a kept body; nil if there is none.
    package func bodyLength(of id: TaskID, _ role: BodyRole) throws -> ByteCount? {
        try integer("SELECT length(content) FROM body WHERE task = ? AND role = ?", id, role).map { ByteCount($0) }
    }

    /// A part of a kept body, shorter at its end; nil if there is no body.
    package func body(
        of id: TaskID, _ role: BodyRole, from offset: ByteCount = .zero, atMost length: ByteCount? = nil
    ) throws -> [UInt8]? {
        try rows(
            // For an empty BLOB, substr returns NULL.
            "SELECT ifnull(substr(content, ?, ?), x'') FROM body WHERE task = ? AND role = ?",
            // SQLite counts from 1, and no BLOB reaches 2 GiB; SQLite cuts a length beyond the end.
            min(offset.rawValue, Int64(Int32.max)) + 1, length?.rawValue ?? Int64(Int32.max), id, role
        ).next().flatMap { $0[0] as [UInt8]? }
    }
}

// MARK: - Events

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
        SequenceNumber(try meta("events_filed").flatMap { Int64($0) } ?? 0)
    }

    /// Number of the last event ever stored; zero before the first.
    package func eventHead() throws -> SequenceNumber {
        if let recent { return SequenceNumber(try recent.tallies.last(.event, in: connection)) }
        return SequenceNumber(try integer("SELECT value FROM counter WHERE name = 'event'") ?? 0)
    }

    /// The number from which retention has removed no event of `owner`, or of any owner.
    package func firstEventKept(of owner: UserID? = nil) throws -> SequenceNumber {
        let expired = try integer("SELECT max(expired) FROM event_owner WHERE ?1 IS NULL OR owner = ?1", owner)
        return SequenceNumber((expired ?? 0) + 1)
    }

    /// What the durable subscriber acknowledged last; nil if no subscriber has this name.
    package func subscriber(_ name: String, owner: UserID) throws -> SequenceNumber? {
        try integer("SELECT sequence FROM subscriber WHERE owner = ? AND name = ?", owner, name)
            .map { SequenceNumber($0) }
    }

    /// What `settings.set` stored, by name.
    package func settings() throws -> [String: JSONValue] {
        let settings = try rows("SELECT name, value FROM setting").map {
            ($0[0] as String, try $0.document(1) as JSONValue)
        }
        return Dictionary(settings) { $1 }
    }

    /// `event_task` finds the events of one task that are filed; later events are searched, as all are for other
    /// queries. `+` prevents the planner from using other indexes, whose order is not the log's.
    static func eventSQL(_ query: EventQuery, filed: SequenceNumber) -> (sql: String, arguments: [any Bindable]) {
        var (conditions, values): ([String], [any Bindable]) = ([], [])
        if let owner = query.owner {
            conditions.append("+owner = ?")
            values.append(owner)
        }
        func oneOf(_ column: String, _ words: [any Bindable]) {
            conditions.append("+\(column) IN (\(placeholders(words.count)))")
            values.append(contentsOf: words)
        }
        if let sessions = query.sessions { oneOf("session", sessions.sorted()) }
        if let types = query.types { oneOf("type", types.map(\.rawValue).sorted()) }
        if query.onlyTask == nil, let tasks = query.tasks { oneOf("task", tasks.sorted()) }
        func stretch(_ place: String) -> String {
            """
            SELECT sequence, time, type, owner, session, task, payload FROM event \
            WHERE \(([place] + conditions).joined(separator: " AND "))
            """
        }
        let ordering = " ORDER BY sequence LIMIT ?"
        guard let task = query.onlyTask else {
            return (stretch("sequence > ?") + ordering, [query.after] + values + [query.limit])
        }
        let sql =
            stretch("task = ? AND filed = 1 AND sequence > ?") + " UNION ALL " + stretch("sequence > ? AND +task = ?")
        let before: [any Bindable] = [task, query.after]
        let behind: [any Bindable] = [max(query.after, filed), task]
        return (sql + ordering, before + values + behind + values + [query.limit])
    }

    private static func event(_ row: Row, _ payload: String?) throws -> EventRecord {
        EventRecord(
            sequence: row[0], time: row[1], type: try row.word(2), session: row[3],
            task: (row[5] as Int64?).map { TaskID($0) }, payload: try payload.map { try JSONColumn.members($0) } ?? [:])
    }
}

extension EventQuery {
    /// The only task whose events are wanted; nil if there are several, or none is named.
    var onlyTask: TaskID? { tasks.flatMap { $0.count == 1 ? $0.first : nil } }
}

// MARK: - Selection

/// Pages of tasks that are named by ids, tags or client tokens: an index finds them, however many others there are.
extension StoreSnapshot {
    /// Tasks from which one page is taken; more are for the next page, as with a text search.
    static let mostSelected = 4096

    /// Like `page`, for a query with ids, tags or client tokens.
    /// - Parameters:
    ///   - start: the page begins after this id.
    ///   - skip: tasks to skip; those that are still to be skipped after the page.
    func selectedPage(
        _ query: TaskQuery, after start: TaskID?, skipping skip: inout Int
    ) throws -> (ids: [TaskID], last: TaskID?) {
        let candidates = try candidates(query, after: start)
        var found = try matching(query, among: candidates)
        let passed = min(skip, found.count)
        found.removeFirst(passed)
        skip -= passed
        if found.count > query.limit {
            found.removeLast(found.count - query.limit)
            return (found, found.last)
        }
        return (found, candidates.count == Self.mostSelected ? candidates.last : nil)
    }

    /// Tasks on all pages of a query with ids, tags or client tokens.
    func selectedCount(_ query: TaskQuery) throws -> Int {
        var (count, start) = (0, nil as TaskID?)
        while true {
            let candidates = try candidates(query, after: start)
            count += try matching(query, among: candidates).count
            guard candidates.count == Self.mostSelected else { return count }
            start = candidates.last
        }
    }

    /// Tasks that one of the query's lists names, in its order, after `start`.
    private func candidates(_ query: TaskQuery, after start: TaskID?) throws -> [TaskID] {
        let isRising = query.order != .newest
        var found: Set<TaskID> = []
        if let ids = query.ids {
            found = Set(ids).filter { id in start.map { isRising ? id > $0 : id < $0 } ?? true }
        } else {
            let (table, column, labels) =
                query.clientTokens.map { ("client_token", "token", $0) }
                ?? ("task_tag", "tag", Array((query.tags ?? []).prefix(1)))
            let sql = Self.labelledSQL(table, column, isRising: isRising)
            let first = start?.rawValue ?? (isRising ? .min : .max)
            for owner in try owners(query) {
                for label in Set(labels) { found.formUnion(try taskIDs(sql, owner, label, first, Self.mostSelected)) }
            }
        }
        return Array(found.sorted { isRising ? $0 < $1 : $0 > $1 }.prefix(Self.mostSelected))
    }

    private func owners(_ query: TaskQuery) throws -> [UserID] {
        try query.owner.map { [$0] } ?? rows("SELECT DISTINCT owner FROM session").map { $0[0] }
    }

    static func labelledSQL(_ table: String, _ column: String, isRising: Bool) -> String {
        """
        SELECT task FROM \(table) WHERE owner = ? AND \(column) = ? AND task \(isRising ? ">" : "<") ? \
        ORDER BY task \(isRising ? "" : "DESC") LIMIT ?
        """
    }

    /// Those of the tasks that satisfy all of the query's conditions, in its order.
    private func matching(_ query: TaskQuery, among ids: [TaskID]) throws -> [TaskID] {
        var conditions: [String] = []
        var arguments: [any Bindable] = [Self.list(ids)]
        func require(_ condition: String, _ value: (any Bindable)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments.append(value)
        }
        func require(_ column: String, in words: [String]?) {
            require("\(column) IN (SELECT value FROM json_each(?))", words.map { JSONColumn.encode($0) })
        }
        require("session.owner = ?", query.owner)
        require("session.identifier = ?", query.session)
        require("session.identifier", in: query.sessions)
        require("task.state", in: query.states?.map(\.rawValue))
        require("task.kind", in: query.kinds?.map(\.rawValue))
        for tag in query.tags ?? [] {
            require(
                "EXISTS (SELECT 1 FROM task_tag WHERE owner = session.owner AND tag = ? AND task_tag.task = task.id)",
                tag)
        }
        require(
            """
            EXISTS (SELECT 1 FROM client_token WHERE client_token.task = task.id \
            AND token IN (SELECT value FROM json_each(?)))
            """, query.clientTokens.map { JSONColumn.encode($0) })
        if let pattern = query.match.flatMap(TaskListing.pattern) {
            conditions.append("(\(TaskListing.textSQL))")
            arguments += TaskListing.textArguments(pattern)
        }
        let narrowed = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        return try rows(
            """
            SELECT task.id FROM json_each(?) AS wanted CROSS JOIN task ON task.id = wanted.value \
            JOIN session ON session.id = task.session \(narrowed) ORDER BY wanted.key
            """, list: arguments
        ).map { $0[0] }
    }
}

// MARK: - List

extension StoreSnapshot {
    /// One page of tasks, and the cursor of the next. If no index answers the query, a page ends after `mostSearched`
    /// tasks, even if it is empty. It also ends at `query.bytes`.
    /// - Throws: `request.bad_field` if the cursor is not from this store and this order.
    package func page(_ query: TaskQuery) throws -> TaskPage {
        let store = try meta("store_id") ?? ""
        let start = try query.cursor.map { try PageCursor($0, order: query.order, store: store) }
        var skip = start?.skip ?? query.offset
        if query.namesTasks {
            let total = query.countsAll ? try selectedCount(query) : nil
            guard query.limit > 0 else { return TaskPage(tasks: [], total: total) }
            let (ids, last) = try selectedPage(query, after: start?.key.id, skipping: &skip)
            let places = ids.map { PageCursor(order: query.order, key: ListKey(id: $0)) }
            let next = last.map { PageCursor(order: query.order, key: ListKey(id: $0), skip: skip) }
            return try page(query, of: places, next: next, total: total, unskipped: skip, store)
        }
        let (cells, count) = try cells(query)
        let stages = query.order.stages
        // A condition that no index serves is searched for.
        let isSought = query.range != nil && !stages.allSatisfy(\.order.isByID)
        let searches = query.match.map { !$0.isEmpty } ?? false || isSought
        let isCounted = !searches && query.kinds == nil && query.range == nil
        let total = isCounted ? count : query.countsAll ? try self.count(query, in: cells) : nil
        guard query.limit > 0 else { return TaskPage(tasks: [], total: total) }
        var found: [PageCursor] = []
        var last: PageCursor?
        var seen = 0
        for (number, stage) in stages.enumerated() where number >= start?.stage ?? 0 {
            let key = number == start?.stage ? start?.key : nil
            var listing = TaskListing(
                self, cells: cells.filter { stage.states.contains($0.state) }, order: stage.order, after: key,
                within: query.range, match: query.match, limit: query.limit - found.count)
            if !searches, skip > 0 { skip -= try listing.skip(skip) }
            while let (key, matches) = try listing.next() {
                if found.count == query.limit || (searches && seen == Self.mostSearched) {
                    return try page(query, of: found, next: last, total: total, store)
                }
                seen += 1
                let isFound = matches && query.range?.contains(key.id) ?? true
                let isSkipped = isFound && skip > 0
                if isSkipped { skip -= 1 }
                let place = PageCursor(order: query.order, stage: number, key: key, skip: skip)
                last = place
                if isFound, !isSkipped { found.append(place) }
            }
        }
        return try page(query, of: found, next: nil, total: total, unskipped: skip, store)
    }

    /// - Parameter next: where the next page begins if this one holds all of `places`; nil if there is none.
    private func page(
        _ query: TaskQuery, of places: [PageCursor], next: PageCursor?, total: Int?, unskipped: Int = 0,
        _ store: String
    ) throws -> TaskPage {
        let (tasks, count) = try listed(places.map(\.key.id), bytes: query.bytes)
        let end = count < places.count ? places[count - 1] : next
        return TaskPage(tasks: tasks, total: total, nextCursor: end?.text(store: store), unskipped: unskipped)
    }

    /// Counts the tasks of the query one by one. A text is looked for in every row, which takes some seconds for a million.
    func count(_ query: TaskQuery, in cells: [TaskListing.Cell]) throws -> Int {
        var (condition, text) = ("", [any Bindable]())
        if let pattern = query.match.flatMap(TaskListing.pattern) {
            condition = " AND (\(TaskListing.textSQL))"
            text = TaskListing.textArguments(pattern)
        }
        let sql = """
            SELECT count(*) FROM task INDEXED BY task_by_id \
            WHERE session = ? AND state = ? AND kind = ? AND id BETWEEN ? AND ?\(condition)
            """
        let range: [any Bindable] = [
            query.range?.lowerBound.rawValue ?? .min, query.range?.upperBound.rawValue ?? .max,
        ]
        return try cells.reduce(0) { sum, cell in
            sum + (try rows(sql, list: cell.values + range + text).next().map { $0[0] } ?? 0)
        }
    }

    /// Tasks that one page searches without an index: bounds how long a call takes.
    static let mostSearched = 4096

    /// Ids of the tasks that satisfy the owner, the session and the states of `query`, and its ids or its range;
    /// ascending from `after` (exclusive).
    package func select(_ query: TaskQuery, after: TaskID? = nil, limit: Int) throws -> [TaskID] {
        if let ids = query.ids {
            let open = Set(ids).filter { $0 > after ?? TaskID(0) }.sorted()
            return Array(try matching(query, among: open).prefix(limit))
        }
        var listing = TaskListing(
            self, cells: try cells(query).cells, order: .oldest, after: after.map { ListKey(id: $0) },
            within: query.range, limit: limit)
        var found: [TaskID] = []
        while found.count < limit, let (key, _) = try listing.next() { found.append(key.id) }
        return found
    }

    /// Which sessions, states and kinds can hold tasks of this query, and how many tasks these sessions have in these
    /// states.
    func cells(_ query: TaskQuery) throws -> (cells: [TaskListing.Cell], count: Int) {
        let rows = try rows(
            """
            SELECT session.id, task_count.state, count FROM session JOIN task_count ON task_count.session = session.id \
            WHERE count > 0 AND (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR identifier = ?2) \
            AND (?3 IS NULL OR identifier IN (SELECT value FROM json_each(?3)))
            """, query.owner, query.session, query.sessions.map { JSONColumn.encode($0) })
        var cells: [TaskListing.Cell] = []
        var count = 0
        while let row = try rows.next() {
            let state: TaskState = try row.word(1)
            guard query.states?.contains(state) ?? true else { continue }
            count += row[2]
            for kind in TaskKind.allCases where query.kinds?.contains(kind) ?? true {
                cells.append(TaskListing.Cell(session: row[0], state: state, kind: kind))
            }
        }
        return (cells, count)
    }
}

/// Where the next page begins: the sort key of the last record, as text that clients return unchanged.
package struct PageCursor: Hashable {
    package var order: TaskOrder
    /// Place in `TaskOrder.stages`.
    var stage = 0
    var key: ListKey
    /// Tasks that are still to be skipped behind the place.
    var skip = 0
}

extension PageCursor {
    /// - Throws: `TransferError` `request.bad_field` if the text is not a cursor this store made for `order`.
    package init(_ text: String, order: TaskOrder, store: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard (6...7).contains(parts.count), parts[0] == order.rawValue, let major = UInt64(parts[1], radix: 36),
            let minor = UInt64(parts[2], radix: 36), let id = Int64(parts[3], radix: 36),
            let stage = Int(parts[4]), order.stages.indices.contains(stage),
            let skip = parts.count == 7 ? Int(parts[5]) : 0, skip >= 0,
            parts.last == Self.seal(parts.dropLast(), store)
        else {
            throw TransferError.bad("cursor", "pass `nextCursor` of the page before unchanged, with the same order.")
        }
        let key = ListKey(id: TaskID(id), major: Double(bitPattern: major), minor: Double(bitPattern: minor))
        self.init(order: order, stage: stage, key: key, skip: skip)
    }

    package func text(store: String) -> String {
        let parts =
            [
                order.rawValue, String(key.major.bitPattern, radix: 36), String(key.minor.bitPattern, radix: 36),
                String(key.id.rawValue, radix: 36), String(stage),
            ] + (skip > 0 ? [String(skip)] : [])
        return (parts + [Self.seal(parts[...], store)]).joined(separator: ".")
    }

    /// FNV-1a detects mistakes, not attacks. A forged cursor shows a client nothing that it could not list anyway.
    package static func seal(_ parts: ArraySlice<String>, _ store: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in (parts.joined(separator: ".") + store).utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 36)
    }
}

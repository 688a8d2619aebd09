import TransferModel

extension StoreSnapshot {
    /// One page of tasks, and the cursor of the next. If no index answers the query, a page ends after `mostSearched`
    /// tasks, even if it is empty. It also ends at `query.bytes`.
    /// - Throws: `request.bad_field` if the cursor is not from this store and this order.
    package func page(_ query: TaskQuery) throws -> TaskPage {
        let store = try storeIdentifier()
        let start = try query.cursor.map { try PageCursor($0, order: query.order, store: store) }
        if query.namesTasks {
            guard query.limit > 0 else { return TaskPage(tasks: []) }
            let (ids, last) = try selectedPage(query, after: start?.key.id)
            let places = ids.map { PageCursor(order: query.order, key: ListKey(id: $0)) }
            let next = last.map { PageCursor(order: query.order, key: ListKey(id: $0)) }
            return try page(query, of: places, next: next, total: nil, store)
        }
        let (cells, count) = try cells(query)
        let stages = query.order.stages
        // A condition that no index serves is searched for.
        let isSought = query.range != nil && !stages.allSatisfy(\.order.isByID)
        let searches = query.match.map { !$0.isEmpty } ?? false || isSought
        let total = searches || query.kinds != nil || query.range != nil ? nil : count
        guard query.limit > 0 else { return TaskPage(tasks: [], total: total) }
        var found: [PageCursor] = []
        var last: PageCursor?
        var seen = 0
        for (number, stage) in stages.enumerated() where number >= start?.stage ?? 0 {
            let key = number == start?.stage ? start?.key : nil
            var listing = TaskListing(
                self, cells: cells.filter { stage.states.contains($0.state) }, order: stage.order,
                after: key ?? query.range.flatMap { ListKey(before: $0, in: stage.order) }, match: query.match,
                limit: query.limit - found.count)
            while let (key, matches) = try listing.next() {
                if let range = query.range, stage.order.isPast(key.id, range) { break }
                if found.count == query.limit || (searches && seen == Self.mostSearched) {
                    return try page(query, of: found, next: last, total: total, store)
                }
                seen += 1
                let place = PageCursor(order: query.order, stage: number, key: key)
                last = place
                if matches, query.range?.contains(key.id) ?? true { found.append(place) }
            }
        }
        return try page(query, of: found, next: nil, total: total, store)
    }

    /// - Parameter next: where the next page begins if this one holds all of `places`; nil if there is none.
    private func page(
        _ query: TaskQuery, of places: [PageCursor], next: PageCursor?, total: Int?, _ store: String
    ) throws -> TaskPage {
        let (tasks, count) = try listed(places.map(\.key.id), bytes: query.bytes)
        let end = count < places.count ? places[count - 1] : next
        return TaskPage(tasks: tasks, total: total, nextCursor: end?.text(store: store))
    }

    /// Tasks that one page searches without an index: bounds how long a call takes.
    static let mostSearched = 4096

    /// Ids of the selected tasks, ascending from `after` (exclusive).
    package func select(_ selector: TaskSelector, after: TaskID? = nil, limit: Int) throws -> [TaskID] {
        if let ids = selector.ids {
            let open = Set(ids).filter { $0 > after ?? TaskID(0) }.sorted()
            return Array(try open.filter { try matches($0, selector) }.prefix(limit))
        }
        var query = TaskQuery(owner: selector.owner, session: selector.session, states: selector.states)
        query.limit = limit
        var listing = TaskListing(
            self, cells: try cells(query).cells, order: .oldest,
            after: after.map { ListKey(id: $0) } ?? selector.range.flatMap { ListKey(before: $0, in: .oldest) },
            limit: limit)
        var found: [TaskID] = []
        while found.count < limit, let (key, _) = try listing.next() {
            if let range = selector.range, KeyOrder.oldest.isPast(key.id, range) { break }
            found.append(key.id)
        }
        return found
    }

    private func matches(_ id: TaskID, _ selector: TaskSelector) throws -> Bool {
        let row = try rows(
            """
            SELECT session.owner, session.identifier, task.state FROM task \
            JOIN session ON session.id = task.session WHERE task.id = ?
            """, id.rawValue
        ).next()
        guard let row else { return false }
        let state: TaskState = try JSONColumn.word(row[2])
        return (selector.owner.map { $0.rawValue == row[0] as UInt32 } ?? true)
            && (selector.session.map { $0 == row[1] as String } ?? true)
            && (selector.states.map { $0.contains(state) } ?? true)
    }

    /// Which sessions, states and kinds can hold tasks of this query, and how many tasks these sessions have in these
    /// states.
    private func cells(_ query: TaskQuery) throws -> (cells: [TaskListing.Cell], count: Int) {
        let rows = try rows(
            """
            SELECT session.id, task_count.state, count FROM session JOIN task_count ON task_count.session = session.id \
            WHERE count > 0 AND (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR identifier = ?2) \
            AND (?3 IS NULL OR identifier IN (SELECT value FROM json_each(?3)))
            """, query.owner?.rawValue, query.session, query.sessions.map { JSONColumn.encode($0) })
        var cells: [TaskListing.Cell] = []
        var count = 0
        while let row = try rows.next() {
            let state: TaskState = try JSONColumn.word(row[1])
            guard query.states?.contains(state) ?? true else { continue }
            count += row[2]
            for kind in TaskKind.allCases where query.kinds?.contains(kind) ?? true {
                cells.append(TaskListing.Cell(session: row[0], state: state, kind: kind))
            }
        }
        return (cells, count)
    }

    private func storeIdentifier() throws -> String {
        try text("SELECT value FROM meta WHERE name = 'store_id'") ?? ""
    }
}

/// Where the next page begins: the sort key of the last record, as text that clients return unchanged.
package struct PageCursor: Hashable {
    package var order: TaskOrder
    /// Place in `TaskOrder.stages`.
    var stage: Int
    var key: ListKey

    init(order: TaskOrder, stage: Int = 0, key: ListKey) {
        self.order = order
        self.stage = stage
        self.key = key
    }

    /// - Throws: `TransferError` `request.bad_field` if the text is not a cursor this store made for `order`.
    package init(_ text: String, order: TaskOrder, store: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, parts[0] == order.rawValue, let major = UInt64(parts[1], radix: 36),
            let minor = UInt64(parts[2], radix: 36), let id = Int64(parts[3], radix: 36),
            let stage = Int(parts[4]), order.stages.indices.contains(stage),
            parts[5] == Self.seal(parts[0..<5], store)
        else {
            throw TransferError.bad("cursor", "pass `nextCursor` of the page before unchanged, with the same order.")
        }
        self.order = order
        self.stage = stage
        key = ListKey(id: TaskID(id), major: Double(bitPattern: major), minor: Double(bitPattern: minor))
    }

    package func text(store: String) -> String {
        let parts = [
            order.rawValue, String(key.major.bitPattern, radix: 36), String(key.minor.bitPattern, radix: 36),
            String(key.id.rawValue, radix: 36), String(stage),
        ]
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

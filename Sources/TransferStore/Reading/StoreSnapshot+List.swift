import GRDB
import TransferModel

extension StoreSnapshot {
    /// One page of tasks.
    /// - Throws: `request.bad_field` where the cursor is not one of this store for this order.
    package func list(_ query: TaskQuery) throws -> [TaskRecord] {
        try page(query).records
    }

    /// One page of tasks, and the cursor of the next.
    /// - Throws: `request.bad_field` where the cursor is not one of this store for this order.
    package func page(_ query: TaskQuery) throws -> TaskPage {
        let store = try storeIdentifier()
        let cursor = try query.cursor.map { try PageCursor($0, order: query.order, store: store) }
        let cells = try cells(owner: query.owner, session: query.session, states: query.states)
        guard !cells.isEmpty, query.limit > 0 else { return TaskPage(records: []) }
        let (sql, arguments) = TaskListing(cells: cells, query: query, cursor: cursor).sql()
        var ids = try Int64.fetchAll(database, sql: sql, arguments: StatementArguments(arguments))
        let hasMore = ids.count > query.limit
        if hasMore { ids.removeLast() }
        let records = try tasks(ids.map { TaskID($0) })
        let next = hasMore ? records.last.map { PageCursor(order: query.order, after: $0).text(store: store) } : nil
        return TaskPage(records: records, nextCursor: next)
    }

    /// Ids of the tasks that the selector means, ascending from `after` (exclusive).
    package func select(_ selector: TaskSelector, after: TaskID? = nil, limit: Int) throws -> [TaskID] {
        if let ids = selector.ids {
            let open = Set(ids).filter { $0 > after ?? TaskID(0) }.sorted()
            return Array(try open.filter { try matches($0, selector) }.prefix(limit))
        }
        let cells = try cells(owner: selector.owner, session: selector.session, states: selector.states)
        guard !cells.isEmpty, limit > 0 else { return [] }
        var query = TaskQuery()
        query.limit = limit
        let (sql, arguments) = TaskListing(cells: cells, query: query, start: after).sql()
        let found = try Int64.fetchAll(database, sql: sql, arguments: StatementArguments(arguments))
        return found.prefix(limit).map { TaskID($0) }
    }

    private func matches(_ id: TaskID, _ selector: TaskSelector) throws -> Bool {
        let row = try Row.fetchOne(
            try statement(
                """
                SELECT session.owner, session.identifier, task.state FROM task \
                JOIN session ON session.id = task.session WHERE task.id = ?
                """), arguments: [id.rawValue])
        guard let row else { return false }
        let state: TaskState = try JSONColumn.word(row[2])
        return (selector.owner.map { $0.rawValue == row[0] as UInt32 } ?? true)
            && (selector.session.map { $0 == row[1] as String } ?? true)
            && (selector.states.map { $0.contains(state) } ?? true)
    }

    /// Which (session, state) pairs hold tasks of this filter.
    private func cells(
        owner: UserID?, session: String?, states: Set<TaskState>?
    ) throws -> [(session: Int64, state: String)] {
        let rows = try Row.fetchCursor(
            try statement(
                """
                SELECT session.id, task_count.state FROM session JOIN task_count ON task_count.session = session.id \
                WHERE count > 0 AND (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR identifier = ?2)
                """), arguments: [owner?.rawValue, session])
        var cells: [(session: Int64, state: String)] = []
        while let row = try rows.next() {
            let state: TaskState = try JSONColumn.word(row[1])
            if states?.contains(state) ?? true { cells.append((row[0], state.rawValue)) }
        }
        return cells
    }

    private func storeIdentifier() throws -> String {
        try String.fetchOne(try statement("SELECT value FROM meta WHERE name = 'store_id'")) ?? ""
    }
}

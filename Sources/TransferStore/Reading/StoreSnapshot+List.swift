import GRDB
import TransferModel

extension StoreSnapshot {
    /// One page of tasks, and the cursor of the next. Where text is searched for, a page ends after `mostSearched`
    /// tasks, be it empty.
    /// - Throws: `request.bad_field` where the cursor is not one of this store for this order.
    package func page(_ query: TaskQuery) throws -> TaskPage {
        let store = try storeIdentifier()
        let start = try query.cursor.map { try PageCursor($0, order: query.order, store: store).key }
        guard query.limit > 0 else { return TaskPage(tasks: []) }
        let searches = query.match.map { !$0.isEmpty } ?? false
        var listing = TaskListing(
            self, cells: try cells(query), order: query.order, after: start, match: query.match, limit: query.limit)
        var found: [TaskID] = []
        var last: ListKey?
        var seen = 0
        while let (key, matches) = try listing.next() {
            if found.count == query.limit || (searches && seen == Self.mostSearched) {
                return TaskPage(
                    tasks: try listed(found),
                    nextCursor: last.map { PageCursor(order: query.order, key: $0).text(store: store) })
            }
            seen += 1
            last = key
            if matches { found.append(key.id) }
        }
        return TaskPage(tasks: try listed(found))
    }

    /// Tasks that one page looks at for a text, which no index finds: bounds how long a call takes.
    static let mostSearched = 4096

    /// Ids of the tasks that the selector means, ascending from `after` (exclusive).
    package func select(_ selector: TaskSelector, after: TaskID? = nil, limit: Int) throws -> [TaskID] {
        if let ids = selector.ids {
            let open = Set(ids).filter { $0 > after ?? TaskID(0) }.sorted()
            return Array(try open.filter { try matches($0, selector) }.prefix(limit))
        }
        var query = TaskQuery(owner: selector.owner, session: selector.session, states: selector.states)
        query.limit = limit
        var listing = TaskListing(
            self, cells: try cells(query), order: .oldest, after: after.map { ListKey(id: $0) }, limit: limit)
        var found: [TaskID] = []
        while found.count < limit, let (key, _) = try listing.next() { found.append(key.id) }
        return found
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

    /// Which sessions, states and kinds can hold tasks of this filter.
    private func cells(_ query: TaskQuery) throws -> [TaskListing.Cell] {
        let rows = try Row.fetchCursor(
            try statement(
                """
                SELECT session.id, task_count.state FROM session JOIN task_count ON task_count.session = session.id \
                WHERE count > 0 AND (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR identifier = ?2)
                """), arguments: [query.owner?.rawValue, query.session])
        var cells: [TaskListing.Cell] = []
        while let row = try rows.next() {
            let state: TaskState = try JSONColumn.word(row[1])
            guard query.states?.contains(state) ?? true else { continue }
            for kind in TaskKind.allCases where query.kinds?.contains(kind) ?? true {
                cells.append(TaskListing.Cell(session: row[0], state: state, kind: kind))
            }
        }
        return cells
    }

    private func storeIdentifier() throws -> String {
        try String.fetchOne(try statement("SELECT value FROM meta WHERE name = 'store_id'")) ?? ""
    }
}

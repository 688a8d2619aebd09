import TransferModel

/// Pages of tasks that are named by ids, tags or client tokens: an index finds them, however many others there are.
extension StoreSnapshot {
    /// Tasks from which one page is taken; more are for the next page, as with a text search.
    static let mostSelected = 4096

    /// Like `page`, for a query with ids, tags or client tokens.
    /// - Parameter start: the page begins after this id.
    func selectedPage(_ query: TaskQuery, after start: TaskID?) throws -> (ids: [TaskID], last: TaskID?) {
        let candidates = try candidates(query, after: start)
        var found = try matching(query, among: candidates)
        if found.count > query.limit {
            found.removeLast(found.count - query.limit)
            return (found, found.last)
        }
        return (found, candidates.count == Self.mostSelected ? candidates.last : nil)
    }

    /// Tasks that one of the query's lists names, in its order, after `start`.
    private func candidates(_ query: TaskQuery, after start: TaskID?) throws -> [TaskID] {
        let isRising = query.order != .newest
        if let ids = query.ids {
            let wanted = Set(ids).filter { id in start.map { isRising ? id > $0 : id < $0 } ?? true }
            return Array(wanted.sorted { isRising ? $0 < $1 : $0 > $1 }.prefix(Self.mostSelected))
        }
        var found: Set<TaskID> = []
        for owner in try owners(query) {
            if let tokens = query.clientTokens {
                found.formUnion(try labelled("client_token", "token", tokens, owner, isRising, after: start))
            } else if let tag = query.tags?.first {
                found.formUnion(try labelled("task_tag", "tag", [tag], owner, isRising, after: start))
            }
        }
        return Array(found.sorted { isRising ? $0 < $1 : $0 > $1 }.prefix(Self.mostSelected))
    }

    private func owners(_ query: TaskQuery) throws -> [UserID] {
        if let owner = query.owner { return [owner] }
        let rows = try rows("SELECT DISTINCT owner FROM session")
        var owners: [UserID] = []
        while let row = try rows.next() { owners.append(UserID(row[0] as UInt32)) }
        return owners
    }

    private func labelled(
        _ table: String, _ column: String, _ labels: [String], _ owner: UserID, _ isRising: Bool, after start: TaskID?
    ) throws -> [TaskID] {
        let sql = Self.labelledSQL(table, column, isRising: isRising)
        var found: [TaskID] = []
        for label in Set(labels) {
            found += try taskIDs(
                sql,
                owner.rawValue, label, start?.rawValue ?? (isRising ? .min : .max), Self.mostSelected)
        }
        return found
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
        func require(_ condition: String, _ values: any Bindable...) {
            conditions.append(condition)
            arguments += values
        }
        if let owner = query.owner { require("session.owner = ?", owner.rawValue) }
        if let session = query.session { require("session.identifier = ?", session) }
        if let sessions = query.sessions {
            require("session.identifier IN (SELECT value FROM json_each(?))", JSONColumn.encode(sessions))
        }
        if let states = query.states {
            require("task.state IN (SELECT value FROM json_each(?))", JSONColumn.encode(states.map(\.rawValue)))
        }
        if let kinds = query.kinds {
            require("task.kind IN (SELECT value FROM json_each(?))", JSONColumn.encode(kinds.map(\.rawValue)))
        }
        for tag in query.tags ?? [] {
            require(
                "EXISTS (SELECT 1 FROM task_tag WHERE owner = session.owner AND tag = ? AND task_tag.task = task.id)",
                tag)
        }
        if let tokens = query.clientTokens {
            require(
                """
                EXISTS (SELECT 1 FROM client_token WHERE client_token.task = task.id \
                AND token IN (SELECT value FROM json_each(?)))
                """, JSONColumn.encode(tokens))
        }
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
        ).map { TaskID($0[0] as Int64) }
    }
}

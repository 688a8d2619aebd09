import GRDB
import TransferModel

/// Composes the SQL of one page: finds ids by keyset, the caller then reads those records whole.
struct TaskListing {
    typealias Argument = (any DatabaseValueConvertible)?

    /// Non-empty combinations of session row and state that can hold a match; from the counters.
    var cells: [(session: Int64, state: String)]
    var query: TaskQuery
    var cursor: PageCursor?
    /// Only ids after this one.
    var start: TaskID?

    /// Up to this many cells each is walked through its own stretch of the index and the stretches are merged; with
    /// more, a walk along the whole table is the cheaper plan.
    static let mostMergedCells = 64

    func sql() -> (String, [Argument]) {
        switch query.order {
        case .oldest, .newest:
            cells.count <= Self.mostMergedCells ? merged() : scanned()
        case .queue, .finished:
            scanned()
        }
    }

    private func merged() -> (String, [Argument]) {
        let (filter, filterArguments) = filters()
        var parts: [String] = []
        var arguments: [Argument] = []
        for cell in cells {
            parts.append(
                """
                SELECT * FROM (SELECT id FROM task INDEXED BY task_by_state WHERE session = ? AND state = ?\(filter) \
                ORDER BY \(ordering) LIMIT ?)
                """)
            arguments += [cell.session, cell.state] + filterArguments + [query.limit + 1]
        }
        let sql = "SELECT id FROM (\(parts.joined(separator: " UNION ALL "))) ORDER BY \(ordering) LIMIT ?"
        return (sql, arguments + [query.limit + 1])
    }

    private func scanned() -> (String, [Argument]) {
        let (filter, arguments) = filters()
        let sessions = Set(cells.map(\.session)).sorted()
        let states = Set(cells.map(\.state)).sorted()
        let list = sessions.map(String.init).joined(separator: ",")
        let sql = """
            SELECT id FROM task WHERE +session IN (\(list)) AND +state IN (\(placeholders(states.count)))\(filter) \
            ORDER BY \(ordering) LIMIT ?
            """
        return (sql, states + arguments + [query.limit + 1])
    }

    private var ordering: String {
        switch query.order {
        case .oldest: "id"
        case .newest: "id DESC"
        case .queue: "priority DESC, position, id"
        case .finished: "coalesce(finished_at, -1) DESC, id DESC"
        }
    }

    private func filters() -> (String, [Argument]) {
        var sql = ""
        var arguments: [Argument] = []
        if let cursor {
            let (condition, values) = keyset(cursor)
            sql += " AND " + condition
            arguments += values
        }
        if let start {
            sql += " AND id > ?"
            arguments.append(start.rawValue)
        }
        if let kinds = query.kinds {
            sql += " AND kind IN (\(placeholders(kinds.count)))"
            arguments += kinds.map(\.rawValue).sorted()
        }
        if let match = query.match, !match.isEmpty {
            let pattern = "%" + Self.escaped(match) + "%"
            sql += " AND (url LIKE ? ESCAPE '\\' OR description LIKE ? ESCAPE '\\' OR result_file LIKE ? ESCAPE '\\')"
            arguments += [pattern, pattern, pattern]
        }
        return (sql, arguments)
    }

    private func keyset(_ cursor: PageCursor) -> (String, [Argument]) {
        let id = cursor.id.rawValue
        switch query.order {
        case .oldest: return ("id > ?", [id])
        case .newest: return ("id < ?", [id])
        case .queue:
            return (
                "(priority < ? OR (priority = ? AND (position, id) > (?, ?)))",
                [cursor.major, cursor.major, cursor.minor, id]
            )
        case .finished:
            let time = Int64(cursor.major)
            return (
                "(coalesce(finished_at, -1) < ? OR (coalesce(finished_at, -1) = ? AND id < ?))", [time, time, id]
            )
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\%_".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}

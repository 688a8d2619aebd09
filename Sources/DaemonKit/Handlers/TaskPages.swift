import TransferModel
import TransferStore

/// Pages of a listing of both stores. Each store is read in its own order. The volatile tasks come last in every order
/// except `newest`, in which they come first, because they have the highest ids.
struct TaskPages {
    private struct Part {
        var store: TransferStore
        var query: TaskQuery
        /// The text with which its cursors begin.
        var prefix = ""
        /// The cursor of its first page.
        var start: String
    }

    private let parts: [Part]
    private let limit: Int
    private let bytes: Int
    /// The part in which the page begins, and the place within it.
    private let first: Int
    private let place: String?

    /// - Parameter sessions: the volatile sessions whose tasks are listed; all belong to `owner`.
    init(
        _ query: TaskQuery, durable: TransferStore, volatile: TransferStore, sessions: [String], of owner: UserID
    ) {
        (limit, bytes) = (query.limit, query.bytes)
        var own = query
        own.owner = owner
        own.sessions = sessions
        let isInOwn = query.cursor?.hasPrefix(Self.volatile) ?? false
        var parts = [Part(store: durable, query: query, start: Self.durable)]
        if isInOwn || !sessions.isEmpty {
            parts.append(Part(store: volatile, query: own, prefix: Self.volatile, start: Self.volatile))
        }
        if query.order == .newest { parts.reverse() }
        self.parts = parts
        let prefix = isInOwn ? Self.volatile : ""
        first = query.cursor == nil ? 0 : parts.firstIndex { $0.prefix == prefix } ?? 0
        let rest = query.cursor.map { String($0.dropFirst(prefix.count)) }
        place = rest == Self.durable || isInOwn && rest == "" ? nil : rest
    }

    private static let volatile = "v."
    private static let durable = "d."

    /// - Throws: `request.bad_field` for a bad cursor.
    func page() async throws -> (tasks: [ListedTask], total: Int?, nextCursor: String?) {
        var tasks: [ListedTask] = []
        var total: Int? = 0
        var next: String?
        var room = bytes
        var skip = parts[first].query.offset
        for (index, part) in parts.enumerated() {
            let isDue = index >= first && next == nil
            let isFull = tasks.count >= limit || room <= 0
            var query = part.query
            query.cursor = index == first ? place : nil
            query.offset = skip
            // A full page needs to know only whether there is more.
            query.limit = isDue ? max(1, limit - tasks.count) : 0
            query.bytes = max(1, room)
            let found = try await part.store.read { [query] in try $0.page(query) }
            total = found.total.flatMap { count in total.map { $0 + count } }
            guard isDue else { continue }
            if isFull {
                if !found.tasks.isEmpty || found.nextCursor != nil { next = part.start }
            } else {
                tasks += found.tasks
                room -= found.tasks.reduce(0) { $0 + $1.length }
                next = found.nextCursor.map { part.prefix + $0 }
            }
            skip = found.unskipped
        }
        return (tasks, total, next)
    }
}

import TransferModel

/// A record's place in a listing: the keys that a page is sorted by.
struct ListKey: Hashable {
    var id: TaskID
    /// First sort key (priority, or time of the end), if the order has one.
    var major = 0.0
    /// Second sort key (position).
    var minor = 0.0
}

extension ListKey {
    /// Whether a key of `queue` is that of a task that has ended: it has no turn, and the minor key is its end,
    /// negated.
    var isOfEnded: Bool { major < 0 }

    func precedes(_ other: ListKey, in order: KeyOrder) -> Bool {
        switch order {
        case .oldest: id < other.id
        case .newest: id > other.id
        case .queue:
            major == other.major
                ? (minor == other.minor ? (isOfEnded ? id > other.id : id < other.id) : minor < other.minor)
                : major > other.major
        case .finished: major == other.major ? id > other.id : major > other.major
        }
    }
}

extension KeyOrder {
    var isByID: Bool {
        switch self {
        case .oldest, .newest: true
        case .queue, .finished: false
        }
    }
}

/// Reads the tasks of a query in their order, no matter how many there are. It reads one section of an index for each
/// session, state and kind that can have a match, in small pieces, and merges the sections.
struct TaskListing {
    struct Cell: Hashable {
        var session: Int64
        var state: TaskState
        var kind: TaskKind

        /// The arguments that name it in `sql`.
        var values: [any Bindable] { [session, state, kind] }
    }

    private struct Stretch {
        let cell: Cell
        var keys: ArraySlice<(key: ListKey, matches: Bool)> = []
        /// Where reading stopped; nil at the beginning.
        var last: ListKey?
        var size: Int
        var isAtEnd = false
    }

    private let snapshot: StoreSnapshot
    private let order: KeyOrder
    private let range: ClosedRange<TaskID>?
    private let pattern: String?
    private let largestPiece: Int
    private var stretches: [Stretch]

    /// - Parameters:
    ///   - start: the walk begins after this place.
    ///   - range: only these, if the order is by id.
    ///   - limit: about how many tasks will be requested.
    init(
        _ snapshot: StoreSnapshot, cells: [Cell], order: KeyOrder, after start: ListKey? = nil,
        within range: ClosedRange<TaskID>? = nil, match: String? = nil, limit: Int
    ) {
        self.snapshot = snapshot
        self.order = order
        self.range = range
        pattern = match.flatMap(Self.pattern)
        largestPiece = min(256, limit + 1)
        // If there are many sections, most add nothing to a page: only their first tasks are needed.
        let first = cells.count > 8 ? 1 : largestPiece
        stretches = cells.map { Stretch(cell: $0, last: start, size: first) }
    }

    /// The next task, and whether it contains the text; nil at the end.
    mutating func next() throws -> (key: ListKey, matches: Bool)? {
        var best: Int?
        for index in stretches.indices {
            if stretches[index].keys.isEmpty, !stretches[index].isAtEnd { try fill(index) }
            guard let head = stretches[index].keys.first?.key else { continue }
            if let known = best.flatMap({ stretches[$0].keys.first?.key }), !head.precedes(known, in: order) {
                continue
            }
            best = index
        }
        return best.flatMap { stretches[$0].keys.popFirst() }
    }

    /// Passes over the next tasks, whether they match or not; called before `next`. Sections are passed in strides, which
    /// SQLite counts in an index: a jump to the middle of 100,000 tasks takes some ten milliseconds.
    /// - Returns: how many there were; fewer than `count` at the end.
    mutating func skip(_ count: Int) throws -> Int {
        var left = count
        var open = try stretches.indices.filter { try key(after: 1, in: stretches[$0]) != nil }
        while !open.isEmpty, left >= open.count {
            // So small that half of what is left is passed before it is chosen anew: the ends of all strides are then read
            // again.
            let stride = max(1, left / (2 * open.count))
            var ends: [Int: ListKey] = [:]
            for index in open { ends[index] = try key(after: stride, in: stretches[index]) }
            // Before the first end lie at most a stride of its section and less than one of each other.
            while left >= open.count * stride,
                let first = ends.min(by: { $0.value.precedes($1.value, in: order) })
            {
                stretches[first.key].last = first.value
                left -= stride
                ends[first.key] = try key(after: stride, in: stretches[first.key])
            }
            if ends.isEmpty, left >= open.count * stride {
                for index in open {
                    left -= try rest(of: stretches[index])
                    stretches[index].isAtEnd = true
                }
                open = []
            }
        }
        while left > 0, try next() != nil { left -= 1 }
        return count - left
    }

    /// The place of the task that comes so many tasks later in its section.
    private func key(after count: Int, in stretch: Stretch) throws -> ListKey? {
        var before = count - 1
        for (condition, arguments) in Self.ranges(order, of: stretch.cell, after: stretch.last, within: range) {
            let sql = Self.sql(order, of: stretch.cell.state, condition, matches: false) + " OFFSET ?"
            let found = try snapshot.rows(sql, list: stretch.cell.values + arguments + [1, before]).next()
            if let row = found { return ListKey(id: row[0], major: row[1], minor: row[2]) }
            before -= try self.count(stretch.cell, condition, arguments)
        }
        return nil
    }

    /// How many tasks of a section are not read yet.
    private func rest(of stretch: Stretch) throws -> Int {
        try Self.ranges(order, of: stretch.cell, after: stretch.last, within: range)
            .reduce(0) { try $0 + count(stretch.cell, $1.condition, $1.arguments) }
    }

    private func count(_ cell: Cell, _ condition: String, _ arguments: [any Bindable]) throws -> Int {
        let sql = "SELECT count(*) FROM (\(Self.sql(order, of: cell.state, condition, matches: false)))"
        return try snapshot.rows(sql, list: cell.values + arguments + [-1]).next().map { $0[0] } ?? 0
    }

    private mutating func fill(_ index: Int) throws {
        let stretch = stretches[index]
        var keys: [(key: ListKey, matches: Bool)] = []
        for (condition, arguments) in Self.ranges(order, of: stretch.cell, after: stretch.last, within: range)
        where keys.count < stretch.size {
            keys += try read(stretch.cell, condition, arguments, limit: stretch.size - keys.count)
        }
        stretches[index].isAtEnd = keys.count < stretch.size
        stretches[index].last = keys.last?.key ?? stretch.last
        stretches[index].keys = keys[...]
        stretches[index].size = min(largestPiece, stretch.size * 4)
    }

    private func read(
        _ cell: Cell, _ condition: String, _ arguments: [any Bindable], limit: Int
    ) throws -> [(key: ListKey, matches: Bool)] {
        var values: [any Bindable] = []
        if let pattern { values = Self.textArguments(pattern) }
        values += cell.values
        let sql = Self.sql(order, of: cell.state, condition, matches: pattern != nil)
        return try snapshot.rows(sql, list: values + arguments + [limit]).map { row in
            (ListKey(id: row[0], major: row[1], minor: row[2]), row[3])
        }
    }

    /// The statement that reads one piece; `condition` says from where.
    static func sql(_ order: KeyOrder, of state: TaskState, _ condition: String, matches: Bool) -> String {
        let rank = rankIndex(of: state)
        let (index, keys, ordering) =
            switch order {
            case .oldest: ("task_by_id", "0.0, 0.0", "id")
            case .newest: ("task_by_id", "0.0, 0.0", "id DESC")
            case .queue where state.isFinal: ("task_by_end", "-1.0, -finished_at", "finished_at DESC, id DESC")
            case .queue: (rank.index, "priority, position", "priority DESC, position, id")
            case .finished where state.isFinal: ("task_by_end", "finished_at, 0.0", "finished_at DESC, id DESC")
            case .finished: ("task_by_id", "-1.0, 0.0", "id DESC")
            }
        let found = matches ? textSQL : "1"
        let partial = order == .queue && !state.isFinal ? rank.condition : ""
        return """
            SELECT id, \(keys), \(found) FROM task INDEXED BY \(index) \
            WHERE session = ? AND state = ? AND kind = ?\(partial)\(condition) \
            ORDER BY \(ordering) LIMIT ?
            """
    }

    /// Written as in the index. For a list of states, SQLite would make a table for each row that changes.
    private static let ranked =
        "state <> 'running' AND state <> 'completed' AND state <> 'failed' AND state <> 'cancelled'"

    /// The index that sorts tasks of a state by rank, and the condition it needs. Running tasks are in no such index:
    /// there are no more of them than slots, and every claim would have to change it.
    static func rankIndex(of state: TaskState) -> (index: String, condition: String) {
        state == .running ? ("task_by_id", "") : ("task_by_rank", " AND " + ranked)
    }

    /// The ranges of a cell's index after a key, in order. There are two if one condition would not be one range of the
    /// index.
    /// - Parameter bounds: ids, in an order by id.
    static func ranges(
        _ order: KeyOrder, of cell: Cell, after key: ListKey?, within bounds: ClosedRange<TaskID>? = nil
    ) -> [(condition: String, arguments: [any Bindable])] {
        switch order {
        case .oldest, .newest:
            var (first, last) = (bounds?.lowerBound.rawValue ?? .min, bounds?.upperBound.rawValue ?? .max)
            if let id = key?.id.rawValue {
                guard order == .oldest ? id < last : id > first else { return [] }
                if order == .oldest { first = max(first, id + 1) } else { last = min(last, id - 1) }
            }
            return [(" AND id BETWEEN ? AND ?", [first, last])]
        case .queue where cell.state.isFinal:
            let last = key.flatMap { $0.isOfEnded ? $0 : nil }
            return [ended(before: last.map { -$0.minor }, last?.id)]
        case .queue:
            guard let key else { return [(" AND priority < ?", [2.0])] }
            // Tasks that have ended come after all tasks that have a turn.
            if key.isOfEnded { return [] }
            return [
                (" AND priority = ? AND (position, id) > (?, ?)", [key.major, key.minor, key.id.rawValue]),
                (" AND priority < ?", [key.major]),
            ]
        case .finished:
            // After all that have ended come those that have not, by id.
            let isBeyondTheEnded = key.map { $0.major < 0 } ?? false
            if cell.state.isFinal {
                return isBeyondTheEnded ? [] : [ended(before: key?.major, key?.id)]
            }
            return [(" AND id < ?", [isBeyondTheEnded ? key?.id.rawValue ?? .max : .max])]
        }
    }

    /// The range of tasks that ended before a task: all of them if there is none.
    private static func ended(
        before time: Double?, _ id: TaskID?
    ) -> (condition: String, arguments: [any Bindable]) {
        let time = time.flatMap { Int64(exactly: $0.rounded()) } ?? .max
        return (" AND finished_at IS NOT NULL AND (finished_at, id) < (?, ?)", [time, id?.rawValue ?? .max])
    }

    /// Whether a text occurs in the URL, the description, the delivered file, or the path that the destination gives. A
    /// specification that cannot be read has no destination, and in a very long one nobody looks: other users' readers
    /// would have to wait.
    static let textSQL = texts.map { "(\($0)) LIKE ? ESCAPE '\\'" }.joined(separator: " OR ")

    private static let texts = [
        shownURL, "description", "result_file",
        """
        CASE WHEN length(spec) < 8192 AND json_valid(spec) THEN coalesce(json_extract(spec, '$.destination.path'), \
        json_extract(spec, '$.destination.directory') || '/' \
        || coalesce(json_extract(spec, '$.destination.filename'), '')) END
        """,
    ]

    /// The URL without user info, as it is shown: a search must not tell others a password letter by letter. The text
    /// behind the last `@` of the authority is what `rtrim` leaves over.
    private static let shownURL: String = {
        let rest = "substr(url, instr(url, '://') + 3)"
        let authority = "substr(\(rest), 1, instr(\(rest) || '/', '/') - 1)"
        let host = "replace(\(authority), rtrim(\(authority), replace(\(authority), '@', '')), '')"
        return """
            CASE WHEN instr(url, '@') = 0 THEN url ELSE \
            substr(url, 1, instr(url, '://') + 2) || \(host) || substr(\(rest), instr(\(rest) || '/', '/')) END
            """
    }()

    /// The arguments of `textSQL`.
    static func textArguments(_ pattern: String) -> [any Bindable] { texts.map { _ in pattern } }

    /// nil if everything matches.
    static func pattern(_ text: String) -> String? { text.isEmpty ? nil : "%" + escaped(text) + "%" }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "\\%_".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }
}

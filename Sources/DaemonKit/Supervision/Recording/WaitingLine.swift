/// What came while somebody was busy: whoever adds the first thing begins to take, and takes until nothing is left. Many
/// small writes become few that way.
struct WaitingLine<Item> {
    private var items: [Item] = []
    private var isServed = false

    /// - Returns: whether the caller is to begin to take.
    mutating func add(_ item: Item) -> Bool {
        items.append(item)
        defer { isServed = true }
        return !isServed
    }

    /// The next ones, `limit` at most, in the order they came; nil if nothing is left, and the taker is done.
    mutating func take(atMost limit: Int) -> [Item]? {
        guard !items.isEmpty else {
            isServed = false
            return nil
        }
        let taken = Array(items.prefix(limit))
        items.removeFirst(taken.count)
        return taken
    }
}

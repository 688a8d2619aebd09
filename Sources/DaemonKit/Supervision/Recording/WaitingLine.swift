/// Batches items. The caller that adds the first item becomes the taker, and takes until no item is left. This turns
/// many small writes into a few.
struct WaitingLine<Item> {
    private var items: [Item] = []
    private var isServed = false

    /// - Returns: whether the caller must begin to take.
    mutating func add(_ item: Item) -> Bool {
        items.append(item)
        defer { isServed = true }
        return !isServed
    }

    /// The next items in order, at most `limit`; nil if nothing is left and the taker is done.
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

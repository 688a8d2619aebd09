import HeapModule

/// Items in the order of their times, earliest first; adding and removing cost O(log n).
struct TimeQueue<Item: Sendable>: Sendable {
    private struct Entry: Comparable {
        var time: Int64
        var item: Item

        static func == (left: Self, right: Self) -> Bool { left.time == right.time }
        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }

    private var entries = Heap<Entry>()

    var count: Int { entries.count }
    var first: (time: Int64, item: Item)? { entries.min.map { ($0.time, $0.item) } }

    mutating func insert(_ item: Item, at time: Int64) { entries.insert(Entry(time: time, item: item)) }

    @discardableResult
    mutating func popFirst() -> (time: Int64, item: Item)? { entries.popMin().map { ($0.time, $0.item) } }
}

/// Things in the order of their times, earliest first; adding and taking cost O(log n).
struct TimeQueue<Item: Sendable>: Sendable {
    /// A binary heap: neither child of a place is earlier.
    private var heap: [(time: Int64, item: Item)] = []

    var first: (time: Int64, item: Item)? { heap.first }

    mutating func insert(_ item: Item, at time: Int64) {
        heap.append((time, item))
        var place = heap.count - 1
        while place > 0, heap[place].time < heap[(place - 1) / 2].time {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard heap.count > 1 else { return heap.removeAll() }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while let child = earlierChild(of: place), heap[child].time < heap[place].time {
            heap.swapAt(place, child)
            place = child
        }
    }

    private func earlierChild(of place: Int) -> Int? {
        let left = 2 * place + 1
        guard left < heap.count else { return nil }
        return left + 1 < heap.count && heap[left + 1].time < heap[left].time ? left + 1 : left
    }
}

import Testing

@testable import TransferCore

struct TimeQueueTests {
    @Test func givesTheEarliestFirst() {
        var generator = SeededGenerator(state: 5)
        var queue = TimeQueue<Int>()
        var times: [Int64] = []
        var last: [Int64] = []
        for number in 0..<2000 {
            if Int.random(in: 0..<3, using: &generator) < 2 {
                let time = Int64.random(in: 0..<500, using: &generator)
                queue.insert(number, at: time)
                times.append(time)
            } else if let first = queue.first {
                last.append(first.time)
                #expect(first.time == times.min())
                times.remove(at: times.firstIndex(of: first.time) ?? 0)
                queue.popFirst()
            }
        }
        #expect(last.count > 100)
        while let first = queue.first {
            #expect(first.time == times.min())
            times.remove(at: times.firstIndex(of: first.time) ?? 0)
            queue.popFirst()
        }
        #expect(times.isEmpty)
        queue.popFirst()
        #expect(queue.first == nil)
    }
}

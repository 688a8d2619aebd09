import Testing
import TransferModel

@testable import DaemonKit

struct EventTailTests {
    private func events(_ range: ClosedRange<Int64>) -> [EventRecord] {
        range.map {
            EventRecord(sequence: SequenceNumber($0), time: Sample.time, type: .taskAdded, session: Sample.session)
        }
    }

    private func numbers(_ page: [TailEvent]?) -> [Int64]? { page?.map { $0.record.sequence?.rawValue ?? 0 } }

    @Test func answersWhatItHoldsAndNothingElse() {
        var tail = EventTail(head: SequenceNumber(10), limit: 5)
        #expect(numbers(tail.page(after: SequenceNumber(10), count: 9)) == [])
        #expect(tail.page(after: SequenceNumber(9), count: 9) == nil)
        tail.append(events(11...13))
        #expect(numbers(tail.page(after: SequenceNumber(10), count: 9)) == [11, 12, 13])
        #expect(numbers(tail.page(after: SequenceNumber(11), count: 1)) == [12])
        #expect(tail.page(after: SequenceNumber(9), count: 9) == nil)
        tail.append(events(14...17))
        #expect(tail.head == SequenceNumber(17))
        #expect(numbers(tail.page(after: SequenceNumber(12), count: 9)) == [13, 14, 15, 16, 17])
        #expect(tail.page(after: SequenceNumber(11), count: 9) == nil)
    }

    @Test func forgetsWhatIsBeforeAHole() {
        var tail = EventTail(head: .zero, limit: 10)
        tail.append(events(1...3))
        tail.append(events(5...6))
        #expect(tail.page(after: SequenceNumber(2), count: 9) == nil)
        #expect(tail.page(after: SequenceNumber(3), count: 9) == nil)
        #expect(numbers(tail.page(after: SequenceNumber(4), count: 9)) == [5, 6])
    }

    @Test func largeEventsAreKeptInMemoryOnlySoFar() {
        var tail = EventTail(head: .zero, limit: 10, byteLimit: 50_000)
        var large = events(1...6)
        for index in large.indices { large[index].payload.add("text", String(repeating: "x", count: 8000)) }
        tail.append(large)
        #expect(tail.page(after: SequenceNumber(2), count: 9) == nil)
        #expect(numbers(tail.page(after: SequenceNumber(4), count: 9)) == [5, 6])
        var huge = events(7...7)
        huge[0].payload.add("text", String(repeating: "x", count: 80_000))
        tail.append(huge)
        #expect(numbers(tail.page(after: SequenceNumber(6), count: 9)) == [7])
    }

    @Test func takesNoEventTwice() {
        var tail = EventTail(head: .zero, limit: 10)
        tail.append(events(1...3))
        tail.append(events(2...4))
        #expect(numbers(tail.page(after: .zero, count: 9)) == [1, 2, 3, 4])
        tail.begin(at: SequenceNumber(2))
        #expect(tail.head == SequenceNumber(4))
    }
}

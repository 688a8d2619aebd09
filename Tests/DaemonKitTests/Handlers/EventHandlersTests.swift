import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct EventHandlersTests {
    @Test func subscribesReplaysAndFollows() async throws {
        let bench = try await Bench()
        _ = try await bench.add(3)
        let sink = FakeSink()
        let result = try await bench.call(Subscribe.self, .init(after: .start), on: sink)
        #expect(result.head == SequenceNumber(3) && result.after == .zero)
        _ = try await bench.add(2)
        let events = await sink.events(5)
        #expect(events.map { $0.sequence?.rawValue } == [1, 2, 3, 4, 5])
        #expect(events.allSatisfy { $0.subscription == result.subscription })
        _ = try await bench.call(Unsubscribe.self, .init(subscription: result.subscription), on: sink)
        #expect(bench.feed.subscriptionCount == 0)
    }

    @Test func showsNobodyElsesEvents() async throws {
        let bench = try await Bench()
        let sink = FakeSink()
        _ = try await bench.call(Subscribe.self, .init(after: .start), on: sink)
        _ = try await bench.add(2, as: Bench.other)
        _ = try await bench.add(1)
        #expect(await sink.events(1).map(\.owner) == [Bench.user.uid])
        let list = try await bench.call(ListEvents.self, .init(after: .start))
        #expect(list.events.map { $0.sequence?.rawValue } == [3] && list.head == SequenceNumber(3))
        #expect(await bench.refusal(Subscribe.self, .init(owner: .everyone))?.code == .permissionDenied)
        #expect(await bench.refusal(ListEvents.self, .init(after: .start, owner: .everyone))?.code == .permissionDenied)
        let all = try await bench.call(ListEvents.self, .init(after: .start, owner: .everyone), as: Bench.root)
        #expect(all.events.count == 3)
    }

    @Test func listsPages() async throws {
        let bench = try await Bench()
        _ = try await bench.add(250)
        let first = try await bench.call(ListEvents.self, .init(after: .start))
        #expect(first.events.count == 100 && first.first == SequenceNumber(1) && first.head == SequenceNumber(250))
        let after = try #require(first.events.last?.sequence)
        let second = try await bench.call(ListEvents.self, .init(after: .after(after), limit: 1000))
        #expect(second.events.map { $0.sequence?.rawValue } == (101...250).map { $0 })
        #expect(try await bench.call(ListEvents.self, .init(after: .now)).events.isEmpty)
        let typed = try await bench.call(ListEvents.self, .init(after: .start, tasks: [TaskID(7)], types: [.taskAdded]))
        #expect(typed.events.map(\.task) == [TaskID(7)])
    }

    /// Events of others that retention removed leave no gap in one's own log.
    @Test func saysFromWhereTheOwnLogIsWhole() async throws {
        let bench = try await Bench()
        _ = try await bench.add(1)
        _ = try await bench.add(2, as: Bench.other)
        try await bench.store.write { try $0.expireEvents([SequenceNumber(2)], of: Bench.other.uid) }
        #expect(try await bench.call(ListEvents.self, .init(after: .start)).first == SequenceNumber(1))
        let all = try await bench.call(ListEvents.self, .init(after: .start, owner: .everyone), as: Bench.root)
        #expect(all.first == SequenceNumber(3))
    }

    @Test func acknowledgesAndForgets() async throws {
        let bench = try await Bench()
        _ = try await bench.add(5)
        let ack = AcknowledgeEvents.Parameters(subscriber: "app", sequence: SequenceNumber(4))
        _ = try await bench.call(Subscribe.self, .init(after: .start, subscriber: "app"))
        _ = try await bench.call(AcknowledgeEvents.self, ack)
        _ = try await bench.call(AcknowledgeEvents.self, .init(subscriber: "app", sequence: SequenceNumber(2)))
        let beyond = AcknowledgeEvents.Parameters(subscriber: "app", sequence: SequenceNumber(6))
        #expect(await bench.refusal(AcknowledgeEvents.self, beyond)?.code == .badField)
        let bad = AcknowledgeEvents.Parameters(subscriber: "", sequence: SequenceNumber(1))
        #expect(await bench.refusal(AcknowledgeEvents.self, bad)?.details["field"] == "subscriber")
        let sink = FakeSink(id: 9)
        let again = try await bench.call(Subscribe.self, .init(subscriber: "app"), on: sink)
        #expect(again.after == SequenceNumber(4))
        #expect(await sink.events(1).map { $0.sequence?.rawValue } == [5])
        let new = try await bench.call(Subscribe.self, .init(subscriber: "new"))
        #expect(new.after == SequenceNumber(5))
        #expect(
            await bench.refusal(ForgetSubscriber.self, .init(subscriber: "app"), as: Bench.other)?.code == .badField)
        _ = try await bench.call(ForgetSubscriber.self, .init(subscriber: "app"))
        #expect(await bench.refusal(ForgetSubscriber.self, .init(subscriber: "app"))?.code == .badField)
    }

    @Test func anotherOwnersNameIsAnotherName() async throws {
        let bench = try await Bench()
        _ = try await bench.add(5)
        _ = try await bench.call(AcknowledgeEvents.self, .init(subscriber: "app", sequence: SequenceNumber(2)))
        let other = AcknowledgeEvents.Parameters(subscriber: "app", sequence: SequenceNumber(5))
        _ = try await bench.call(AcknowledgeEvents.self, other, as: Bench.other)
        let sink = FakeSink()
        _ = try await bench.call(Subscribe.self, .init(subscriber: "app"), on: sink)
        #expect(await sink.events(3).map { $0.sequence?.rawValue } == [3, 4, 5])
    }

    @Test func refusesBadRequests() async throws {
        let bench = try await Bench()
        #expect(await bench.refusal(Subscribe.self, .init(subscriber: ""))?.details["field"] == "subscriber")
        #expect(
            await bench.refusal(Subscribe.self, .init(progressInterval: -1))?.details["field"] == "progressInterval")
        let many = Subscribe.Parameters(tasks: (0...10_000).map { TaskID($0) })
        #expect(await bench.refusal(Subscribe.self, many)?.code == .tooLarge)
        let beyond = Subscribe.Parameters(after: .after(SequenceNumber(1)))
        #expect(await bench.refusal(Subscribe.self, beyond)?.details["field"] == "after")
        #expect(await bench.refusal(Unsubscribe.self, .init(subscription: "s9"))?.code == .badField)
    }
}

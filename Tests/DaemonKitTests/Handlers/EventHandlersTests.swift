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
        let result = try await bench.call(Methods.subscribe, .init(after: .start), on: sink)
        #expect(result.head == SequenceNumber(3) && result.after == .zero)
        _ = try await bench.add(2)
        let events = await sink.events(5)
        #expect(events.map { $0.sequence?.rawValue } == [1, 2, 3, 4, 5])
        #expect(events.allSatisfy { $0.subscription == result.subscription })
        _ = try await bench.call(Methods.unsubscribe, .init(subscription: result.subscription), on: sink)
        #expect(bench.feed.subscriptionCount == 0)
    }

    @Test func showsNobodyElsesEvents() async throws {
        let bench = try await Bench()
        let sink = FakeSink()
        _ = try await bench.call(Methods.subscribe, .init(after: .start), on: sink)
        _ = try await bench.add(2, as: Bench.other)
        _ = try await bench.add(1)
        #expect(await sink.events(1).map(\.owner) == [Bench.user.uid])
        let list = try await bench.call(Methods.listEvents, .init(after: .start))
        #expect(list.events.map { $0.sequence?.rawValue } == [3] && list.head == SequenceNumber(3))
        #expect(await bench.refusal(Methods.subscribe, .init(owner: .everyone))?.code == .permissionDenied)
        #expect(
            await bench.refusal(Methods.listEvents, .init(after: .start, owner: .everyone))?.code == .permissionDenied)
        let all = try await bench.call(Methods.listEvents, .init(after: .start, owner: .everyone), as: Bench.root)
        #expect(all.events.count == 3)
    }

    @Test func listsPages() async throws {
        let bench = try await Bench()
        _ = try await bench.add(250)
        let first = try await bench.call(Methods.listEvents, .init(after: .start))
        #expect(first.events.count == 100 && first.first == SequenceNumber(1) && first.head == SequenceNumber(250))
        let after = try #require(first.events.last?.sequence)
        let second = try await bench.call(Methods.listEvents, .init(after: .after(after), limit: 1000))
        #expect(second.events.map { $0.sequence?.rawValue } == (101...250).map { $0 })
        #expect(try await bench.call(Methods.listEvents, .init(after: .now)).events.isEmpty)
        let typed = try await bench.call(
            Methods.listEvents, .init(after: .start, tasks: [TaskID(7)], types: [.taskAdded]))
        #expect(typed.events.map(\.task) == [TaskID(7)])
    }

    /// Events of others that retention removed leave no gap in one's own log.
    @Test func saysFromWhereTheOwnLogIsWhole() async throws {
        let bench = try await Bench()
        _ = try await bench.add(1)
        _ = try await bench.add(2, as: Bench.other)
        try await bench.store.write { try $0.expireEvents([SequenceNumber(2)], of: Bench.other.uid) }
        #expect(try await bench.call(Methods.listEvents, .init(after: .start)).first == SequenceNumber(1))
        let all = try await bench.call(Methods.listEvents, .init(after: .start, owner: .everyone), as: Bench.root)
        #expect(all.first == SequenceNumber(3))
    }

    @Test func acknowledgesAndForgets() async throws {
        let bench = try await Bench()
        _ = try await bench.add(5)
        let ack = AcknowledgeEvents(subscriber: "app", sequence: SequenceNumber(4))
        _ = try await bench.call(Methods.subscribe, .init(after: .start, subscriber: "app"))
        _ = try await bench.call(Methods.acknowledgeEvents, ack)
        _ = try await bench.call(Methods.acknowledgeEvents, .init(subscriber: "app", sequence: SequenceNumber(2)))
        let beyond = AcknowledgeEvents(subscriber: "app", sequence: SequenceNumber(6))
        #expect(await bench.refusal(Methods.acknowledgeEvents, beyond)?.code == .badField)
        let bad = AcknowledgeEvents(subscriber: "", sequence: SequenceNumber(1))
        #expect(await bench.refusal(Methods.acknowledgeEvents, bad)?.details["field"] == "subscriber")
        let sink = FakeSink(id: 9)
        let again = try await bench.call(Methods.subscribe, .init(subscriber: "app"), on: sink)
        #expect(again.after == SequenceNumber(4))
        #expect(await sink.events(1).map { $0.sequence?.rawValue } == [5])
        let new = try await bench.call(Methods.subscribe, .init(subscriber: "new"))
        #expect(new.after == SequenceNumber(5))
        #expect(
            await bench.refusal(Methods.forgetSubscriber, .init(subscriber: "app"), as: Bench.other)?.code == .badField)
        _ = try await bench.call(Methods.forgetSubscriber, .init(subscriber: "app"))
        #expect(await bench.refusal(Methods.forgetSubscriber, .init(subscriber: "app"))?.code == .badField)
    }

    @Test func anotherOwnersNameIsAnotherName() async throws {
        let bench = try await Bench()
        _ = try await bench.add(5)
        _ = try await bench.call(Methods.acknowledgeEvents, .init(subscriber: "app", sequence: SequenceNumber(2)))
        let other = AcknowledgeEvents(subscriber: "app", sequence: SequenceNumber(5))
        _ = try await bench.call(Methods.acknowledgeEvents, other, as: Bench.other)
        let sink = FakeSink()
        _ = try await bench.call(Methods.subscribe, .init(subscriber: "app"), on: sink)
        #expect(await sink.events(3).map { $0.sequence?.rawValue } == [3, 4, 5])
    }

    @Test func refusesBadRequests() async throws {
        let bench = try await Bench()
        #expect(await bench.refusal(Methods.subscribe, .init(subscriber: ""))?.details["field"] == "subscriber")
        #expect(
            await bench.refusal(Methods.subscribe, .init(progressInterval: -1))?.details["field"] == "progressInterval")
        let many = Subscribe(tasks: (0...10_000).map { TaskID($0) })
        #expect(await bench.refusal(Methods.subscribe, many)?.code == .tooLarge)
        let beyond = Subscribe(after: .after(SequenceNumber(1)))
        #expect(await bench.refusal(Methods.subscribe, beyond)?.details["field"] == "after")
        #expect(await bench.refusal(Methods.unsubscribe, .init(subscription: "s9"))?.code == .badField)
    }
}

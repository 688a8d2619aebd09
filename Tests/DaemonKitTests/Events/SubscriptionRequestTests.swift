import DaemonKit
import Testing
import TransferModel
import TransferRPC

@Suite(.timeLimit(.minutes(4)))
struct SubscriptionRequestTests {
    @Test func aDurableNameGoesOnAfterWhatItAcknowledged() async throws {
        let log = FakeLog()
        log.commit(10)
        try await log.acknowledge("app", owner: Sample.user, SequenceNumber(7))
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        _ = try await feed.follow(sink, subscriber: "app")
        #expect(await sink.events(3).map { $0.sequence?.rawValue } == [8, 9, 10])
        feed.stop()
    }

    @Test func aNewDurableNameBeginsAtTheHeadAndIsKept() async throws {
        let log = FakeLog()
        log.commit(10)
        let feed = try await makeFeed(log)
        _ = try await feed.follow(FakeSink(id: 1), subscriber: "app")
        #expect(try await log.acknowledged("app", owner: Sample.user) == SequenceNumber(10))
        feed.closed(1)
        log.commit(5)
        let sink = FakeSink(id: 2)
        _ = try await feed.follow(sink, subscriber: "app")
        #expect(await sink.events(5).map { $0.sequence?.rawValue } == [11, 12, 13, 14, 15])
        feed.stop()
    }

    @Test func aPlaceGivenIsStrongerThanTheAcknowledgedOne() async throws {
        let log = FakeLog()
        log.commit(10)
        try await log.acknowledge("app", owner: Sample.user, SequenceNumber(7))
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        _ = try await feed.follow(sink, after: .after(SequenceNumber(4)), subscriber: "app")
        #expect(await sink.events(6).first?.sequence?.rawValue == 5)
        #expect(try await log.acknowledged("app", owner: Sample.user) == SequenceNumber(7))
        feed.stop()
    }

    @Test func namesAreOfTheirOwners() async throws {
        let log = FakeLog()
        log.commit(3)
        try await log.acknowledge("app", owner: UserID(2), SequenceNumber(1))
        let feed = try await makeFeed(log)
        _ = try await feed.follow(FakeSink(), subscriber: "app")
        #expect(try await log.acknowledged("app", owner: Sample.user) == SequenceNumber(3))
        #expect(try await log.acknowledged("app", owner: UserID(2)) == SequenceNumber(1))
        feed.stop()
    }

    @Test func refusesANumberBeyondTheHead() async throws {
        let log = FakeLog()
        log.commit(3)
        let feed = try await makeFeed(log)
        let error = await #expect(throws: TransferError.self) {
            try await feed.follow(FakeSink(), after: .after(SequenceNumber(4)))
        }
        #expect(error?.code == .badField && error?.details["head"] == 3)
        _ = try await feed.follow(FakeSink(), after: .after(SequenceNumber(3)))
        feed.stop()
    }
}

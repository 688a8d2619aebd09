import DaemonKit
import Testing
import TransferModel
import TransferRPC

@Suite(.timeLimit(.minutes(4)))
struct EventFeedTests {
    @Test func followsFromTheHead() async throws {
        let log = FakeLog()
        log.commit(3)
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        let ticket = try await feed.follow(sink)
        #expect(ticket.head == SequenceNumber(3))
        log.commit(2)
        let events = await sink.events(2)
        #expect(events.map(\.sequence) == [SequenceNumber(4), SequenceNumber(5)])
        #expect(events.allSatisfy { $0.subscription == ticket.name && $0.session == "work" && $0.owner == Sample.user })
        feed.stop()
    }

    @Test func replaysThenFollowsWithoutGapOrRepeat() async throws {
        let log = FakeLog()
        log.commit(2000)
        var limits = EventFeed.Limits()
        limits.tail = 50
        limits.page = 37
        limits.pacedBehind = 100
        let feed = try await makeFeed(log, limits: limits)
        let sinks = (1...4).map { FakeSink(id: $0) }
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<2 {
                group.addTask {
                    for _ in 0..<500 {
                        log.commit(1 + thread)
                        await Task.yield()
                    }
                }
            }
            for sink in sinks {
                group.addTask { _ = try? await feed.follow(sink, after: .start) }
            }
        }
        for sink in sinks {
            let events = await sink.events(3500)
            #expect(events.map { $0.sequence?.rawValue ?? 0 } == Array(1...3500))
        }
        feed.stop()
    }

    @Test func tellsHowFarTheSlowestIsBehind() async throws {
        let log = FakeLog()
        log.commit(500)
        let feed = try await makeFeed(log)
        #expect(feed.furthestLag == 0)
        let (stuck, quick) = (FakeSink(id: 1), FakeSink(id: 2))
        stuck.stick()
        stuck.send([0])
        _ = try await feed.follow(stuck, after: .start)
        _ = try await feed.follow(quick)
        log.commit(7)
        #expect(await quick.events(7).count == 7)
        #expect(feed.furthestLag == 507)
        stuck.loosen()
        #expect(await stuck.events(507).count == 507)
        #expect(await eventually { feed.furthestLag == 0 })
        feed.stop()
    }

    @Test func readsTheTailWithoutTheStore() async throws {
        let log = FakeLog()
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        _ = try await feed.follow(sink)
        log.commit(400)
        #expect(await sink.events(400).count == 400)
        #expect(log.reads == 0)
        feed.stop()
    }

    @Test func sendsOnlyWhatIsWantedAndMayBeSeen() async throws {
        let log = FakeLog()
        let feed = try await makeFeed(log)
        let other = SessionKey(owner: UserID(2), identifier: "work")
        let all = FakeSink(id: 1)
        let own = FakeSink(id: 2)
        let narrow = FakeSink(id: 3)
        _ = try await feed.follow(all, filter: EventFilter(owner: .everyone))
        _ = try await feed.follow(own)
        _ = try await feed.follow(
            narrow,
            filter: EventFilter(
                owner: .user(Sample.user), sessions: ["work"], tasks: [TaskID(7)], types: [.taskCompleted]))
        log.commit(session: other)
        log.commit(session: SessionKey(owner: Sample.user, identifier: "play"), task: TaskID(7))
        log.commit(type: .taskCompleted, task: TaskID(8))
        log.commit(type: .sessionDrained, task: nil)
        log.commit(type: .taskCompleted, task: TaskID(7))
        #expect(await all.events(5).count == 5)
        #expect(await own.events(4).map { $0.sequence?.rawValue } == [2, 3, 4, 5])
        #expect(await narrow.events(1).map { $0.sequence?.rawValue } == [5])
        feed.stop()
    }

    @Test func filtersAReplayToo() async throws {
        let log = FakeLog()
        for number in 0..<1000 { log.commit(type: number % 100 == 0 ? .taskFailed : .taskAdded) }
        var limits = EventFeed.Limits()
        limits.page = 3
        let feed = try await makeFeed(log, limits: limits)
        let sink = FakeSink()
        _ = try await feed.follow(
            sink, after: .start, filter: EventFilter(owner: .user(Sample.user), types: [.taskFailed]))
        #expect(await sink.events(10).map { $0.sequence?.rawValue } == (0..<10).map { $0 * 100 + 1 })
        log.commit(type: .taskFailed)
        #expect(await sink.events(11).last?.sequence?.rawValue == 1001)
        feed.stop()
    }

    @Test func saysWhereTheLogBeginsWhenEventsAreGone() async throws {
        let log = FakeLog()
        log.commit(100)
        log.expire(before: 41)
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        _ = try await feed.follow(
            sink, after: .after(SequenceNumber(10)),
            filter: EventFilter(owner: .user(Sample.user), types: [.taskAdded]))
        let events = await sink.events(61)
        #expect(events.first?.type == .eventsLagged && events.first?.sequence == nil)
        #expect(events.first?["firstSequence"] == 41)
        #expect(events.dropFirst().map { $0.sequence?.rawValue } == (41...100).map { $0 })
        feed.stop()
    }

    /// An administrator follows all users, and one user's events are dropped earlier than another's.
    @Test(arguments: [1, 2, 3, 100]) func eachGapIsToldInItsPlace(page: Int) async throws {
        let log = FakeLog()
        log.commit(5)
        log.commit(session: SessionKey(owner: UserID(2), identifier: "work"))
        log.commit(4)
        log.expire(before: 9, of: Sample.user)
        var limits = EventFeed.Limits()
        limits.page = page
        let feed = try await makeFeed(log, limits: limits)
        let sink = FakeSink()
        _ = try await feed.follow(sink, after: .after(SequenceNumber(2)), filter: EventFilter(owner: .everyone))
        let told = await sink.events(5).map { $0.sequence?.rawValue ?? -($0["firstSequence"]?.integerValue ?? 0) }
        #expect(told == [-6, 6, -9, 9, 10])
        feed.stop()
    }

    @Test func aReplayFromTheStartIsNotBehind() async throws {
        let log = FakeLog()
        log.commit(100)
        log.expire(before: 41)
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        _ = try await feed.follow(sink, after: .start)
        #expect(await sink.events(60).map { $0.sequence?.rawValue } == (41...100).map { $0 })
        feed.stop()
    }

    @Test func aStuckSubscriberDelaysNobody() async throws {
        let log = FakeLog()
        log.commit(5000)
        let feed = try await makeFeed(log)
        let stuck = FakeSink(id: 1)
        stuck.stick()
        let quick = FakeSink(id: 2)
        _ = try await feed.follow(stuck, after: .start)
        _ = try await feed.follow(quick, after: .start)
        #expect(await quick.events(5000).count == 5000)
        #expect(await eventually { stuck.isWaiting })
        #expect(stuck.count <= 1000)
        feed.stop()
        stuck.close()
    }

    @Test func dropsAClientThatTakesNothing() async throws {
        let log = FakeLog()
        var limits = EventFeed.Limits()
        limits.stall = .milliseconds(150)
        let feed = try await makeFeed(log, limits: limits)
        let stuck = FakeSink(id: 1)
        stuck.stick()
        _ = try await feed.follow(stuck, progress: 0.1)
        log.commit(3)
        #expect(await eventually { stuck.isClosed })
        feed.stop()
    }

    @Test func endsSubscriptionsOfAClosedClient() async throws {
        let log = FakeLog()
        let feed = try await makeFeed(log)
        let sink = FakeSink(id: 5)
        _ = try await feed.follow(sink, subscriber: "app")
        #expect(feed.isConnected("app", owner: Sample.user))
        #expect(!feed.isConnected("app", owner: UserID(2)) && !feed.isConnected("other", owner: Sample.user))
        sink.close()
        feed.closed(5)
        #expect(!feed.isConnected("app", owner: Sample.user))
        #expect(feed.subscriptionCount == 0)
        log.commit(2)
        #expect(sink.count == 0)
    }

    @Test func unsubscribesOnlyOnesOwn() async throws {
        let log = FakeLog()
        let feed = try await makeFeed(log)
        let sink = FakeSink(id: 1)
        let ticket = try await feed.follow(sink)
        #expect(throws: TransferError.self) { try feed.unsubscribe(ticket.name, of: 2) }
        try feed.unsubscribe(ticket.name, of: 1)
        #expect(throws: TransferError.self) { try feed.unsubscribe(ticket.name, of: 1) }
        log.commit()
        #expect(feed.subscriptionCount == 0 && sink.count == 0)
    }

    @Test func limitsSubscriptionsOfAClient() async throws {
        var limits = EventFeed.Limits()
        limits.subscriptionsPerClient = 2
        let feed = try await makeFeed(FakeLog(), limits: limits)
        let sink = FakeSink()
        _ = try await feed.follow(sink)
        _ = try await feed.follow(sink)
        let error = await #expect(throws: TransferError.self) { try await feed.follow(sink) }
        #expect(error?.code == .limitReached)
        _ = try await feed.follow(FakeSink(id: 2))
        feed.stop()
    }

    @Test func sendsNothingBeforeItBegins() async throws {
        let log = FakeLog()
        let feed = try await makeFeed(log)
        let sink = FakeSink()
        let request = SubscriptionRequest(filter: EventFilter(owner: .user(Sample.user)), peer: Sample.user)
        let ticket = try await feed.subscribe(request, for: sink)
        log.commit(3)
        #expect(sink.count == 0)
        feed.begin(ticket)
        #expect(await sink.events(3).count == 3)
        feed.stop()
    }
}

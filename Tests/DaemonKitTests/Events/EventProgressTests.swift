import DaemonKit
import Testing
import TransferModel
import TransferRPC

@Suite(.timeLimit(.minutes(4)))
struct EventProgressTests {
    @Test func sendsFiguresOnceUntilTheyChange() async throws {
        let log = FakeLog()
        let progress = FakeProgress()
        progress.set([Sample.figures(1, received: 10)])
        let feed = try await makeFeed(log, progress: progress)
        let sink = FakeSink()
        _ = try await feed.follow(sink, progress: nil)
        let first = await sink.events(1)
        #expect(first.first?.type == .taskProgress && first.first?.sequence == nil && first.first?.task == TaskID(1))
        #expect(first.first?["bytesReceived"] == 10 && first.first?["bytesExpected"] == -1)
        #expect(first.first?["phase"] == "transferring")
        #expect(await progress.isAskedAgain(3))
        #expect(sink.count == 1)
        progress.set([Sample.figures(1, received: 20)])
        #expect(await sink.events(2).last?["bytesReceived"] == 20)
        feed.stop()
    }

    @Test func nobodyIsAskedWhileNobodyWantsProgress() async throws {
        let progress = FakeProgress()
        progress.set([Sample.figures(1)])
        let feed = try await makeFeed(FakeLog(), progress: progress)
        let quiet = FakeSink(id: 1)
        let typed = FakeSink(id: 2)
        _ = try await feed.follow(quiet, progress: 0)
        _ = try await feed.follow(
            typed, filter: EventFilter(owner: .user(Sample.user), types: [.taskAdded]), progress: nil)
        let watcher = FakeSink(id: 3)
        _ = try await feed.follow(watcher, progress: 0.1)
        #expect(await watcher.events(1).count == 1)
        feed.closed(3)
        #expect(quiet.count == 0 && typed.count == 0)
        feed.stop()
    }

    @Test func sendsNoProgressOfATaskThatEnded() async throws {
        let log = FakeLog()
        let progress = FakeProgress()
        let feed = try await makeFeed(log, progress: progress)
        let sink = FakeSink()
        _ = try await feed.follow(sink, progress: 0.1)
        log.commit(type: .taskStarted, task: TaskID(1))
        log.commit(type: .taskCompleted, task: TaskID(1))
        progress.set([Sample.figures(1, received: 5), Sample.figures(2, received: 6)])
        let events = await sink.events(3)
        #expect(events.filter { $0.type == .taskProgress }.map(\.task) == [TaskID(2)])
        log.commit(type: .taskStarted, task: TaskID(1))
        let later = await sink.events(5)
        #expect(later.filter { $0.type == .taskProgress }.map(\.task) == [TaskID(2), TaskID(1)])
        feed.stop()
    }

    @Test func aCrowdedClientGetsNoProgress() async throws {
        let log = FakeLog()
        let progress = FakeProgress()
        let feed = try await makeFeed(log, progress: progress)
        let sink = FakeSink()
        sink.stick()
        _ = try await feed.follow(sink, progress: 0.1)
        // In pieces, because a client that is far behind gets nothing more before it reads.
        for piece in 1...12 {
            log.commit(50)
            #expect(await eventually { sink.count == piece * 50 })
        }
        #expect(sink.queuedBytes > 64 << 10)
        progress.set([Sample.figures(1, received: 5)])
        #expect(await progress.isAskedAgain(3))
        #expect(sink.count == 600)
        feed.stop()
    }

    /// Before that, the client does not know the subscription's name.
    @Test func sendsNothingBeforeTheSubscriptionBegins() async throws {
        let progress = FakeProgress()
        progress.set([Sample.figures(1)])
        let feed = try await makeFeed(FakeLog(), progress: progress)
        let early = FakeSink(id: 1)
        let request = SubscriptionRequest(
            filter: EventFilter(owner: .user(Sample.user)), peer: Sample.user, progressInterval: 0.1)
        let ticket = try await feed.subscribe(request, for: early)
        let watcher = FakeSink(id: 2)
        _ = try await feed.follow(watcher, progress: 0.1)
        #expect(await watcher.events(1).count == 1)
        #expect(await progress.isAskedAgain(1))
        #expect(early.count == 0)
        feed.begin(ticket)
        #expect(await early.events(1).map(\.task) == [TaskID(1)])
        feed.stop()
    }

    /// Each new subscription would otherwise postpone the tick that the watcher waits for.
    @Test func clientsThatComeAllTheTimeDelayNoProgress() async throws {
        let progress = FakeProgress()
        progress.set([Sample.figures(1)])
        let feed = try await makeFeed(FakeLog(), progress: progress)
        let watcher = FakeSink(id: 1)
        _ = try await feed.follow(watcher, progress: 0.5)
        let others = FakeSink(id: 2)
        var tries = 0
        while watcher.count == 0, tries < 3000 {
            tries += 1
            let ticket = try await feed.follow(others, progress: 0.5)
            try feed.unsubscribe(ticket.name, of: others.id)
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(await watcher.events(1).map(\.task) == [TaskID(1)])
        #expect(tries < 3000)
        feed.stop()
    }

    @Test func showsOnlyOnesOwnTasks() async throws {
        let progress = FakeProgress()
        var foreign = Sample.figures(1)
        foreign.session.owner = UserID(2)
        progress.set([foreign, Sample.figures(3)])
        let feed = try await makeFeed(FakeLog(), progress: progress)
        let sink = FakeSink()
        _ = try await feed.follow(sink, progress: 0.1)
        #expect(await sink.events(1).map(\.task) == [TaskID(3)])
        feed.stop()
    }
}

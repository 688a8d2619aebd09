import Testing
import TransferClient
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct FollowerTests {
    private func follower(_ plan: FollowPlan, then next: ScriptedDaemon? = nil) -> Follower {
        Follower(plan: plan, endsWhenOver: true, onInterrupt: {}, reconnect: { _ in next })
    }

    @Test func endsWhenAllAreOver() async throws {
        let daemon = ScriptedDaemon(head: 5)
        let lines = Recorder<String>()
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .queued)], after: SequenceNumber(5))
        let run = Task { try await follower(plan).run(daemon, display: RecordingDisplay(lines: lines)) }
        #expect(await lines.wait { $0.contains("1 f: queued") })
        while daemon.subscriptions.isEmpty { await Task.yield() }
        daemon.send(Sample.event(6, .taskStarted, 1))
        daemon.send(Sample.event(7, .taskCompleted, 1, ["bytes": 10, "duration": 1]))
        let state = try await run.value
        #expect(!state.hasFailure)
        #expect(lines.all == ["1 f: queued", "1 f: running", "1 f: completed, 10 B in 1.0s (10 B/s)", "finish"])
        #expect(daemon.subscriptions.first?.after == .after(SequenceNumber(5)))
        #expect(daemon.subscriptions.first?.tasks == [TaskID(1)])
    }

    @Test func survivesARestartAndGoesOnFromTheLastNumber() async throws {
        let first = ScriptedDaemon(head: 5)
        let second = ScriptedDaemon(tasks: [Sample.view(1)], head: 7)
        let lines = Recorder<String>()
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .queued)], after: SequenceNumber(5))
        let run = Task { try await follower(plan, then: second).run(first, display: RecordingDisplay(lines: lines)) }
        while first.subscriptions.isEmpty { await Task.yield() }
        first.send(Sample.event(6, .taskStarted, 1))
        #expect(await lines.wait { $0.contains("1 f: running") })
        first.crash()
        #expect(await lines.wait { $0.contains("the daemon is back") })
        #expect(lines.all.contains("waiting for the daemon"))
        #expect(second.subscriptions.first?.after == .after(SequenceNumber(6)))
        second.send(Sample.event(8, .taskFailed, 1, ["error": ["code": "http.status", "message": "404"]]))
        let state = try await run.value
        #expect(state.hasFailure)
        #expect(lines.all.suffix(2) == ["1 file-1.iso: failed (http.status): 404", "finish"])
    }

    @Test func anotherStoreIsNoticed() async throws {
        let first = ScriptedDaemon(head: 50)
        let second = ScriptedDaemon(head: 3)
        let lines = Recorder<String>()
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .running)], after: SequenceNumber(50))
        let run = Task { try await follower(plan, then: second).run(first, display: RecordingDisplay(lines: lines)) }
        while first.subscriptions.isEmpty { await Task.yield() }
        first.crash()
        // The new store does not have this task.
        let state = try await run.value
        #expect(state.hasFailure)
        #expect(second.subscriptions.map(\.after) == [.after(SequenceNumber(50)), .now])
        #expect(lines.all.contains("1 f: removed"))
    }

    @Test func aDaemonThatDoesNotComeBackEndsIt() async throws {
        let daemon = ScriptedDaemon(head: 5)
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1)], after: SequenceNumber(5))
        let failure = CommandFailure.noDaemon("it is gone")
        let follower = Follower(plan: plan, endsWhenOver: true, onInterrupt: {}) { outage in
            if outage.attempts == 2 { throw failure }
            return nil
        }
        let run = Task { try await follower.run(daemon, display: RecordingDisplay(lines: Recorder())) }
        while daemon.subscriptions.isEmpty { await Task.yield() }
        daemon.crash()
        await #expect(throws: failure) { try await run.value }
    }

    /// The daemon would accept a new connection too, so a retry would not help.
    @Test func aDaemonThatHangsEndsIt() async throws {
        let silence = ClientError.noAnswer(socket: "/s", method: "events.subscribe", seconds: 30)
        let daemon = ScriptedDaemon(silence: silence)
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1)], after: .zero)
        await #expect(throws: CommandFailure.noDaemon(silence.description)) {
            try await follower(plan).run(daemon, display: RecordingDisplay(lines: Recorder()))
        }
    }

    /// The event that ends a task has arrived, and the daemon dies before dlctl fetches the task for JSON.
    @Test func anEndThatCouldNotBeFetchedIsToldAgain() async throws {
        let first = ScriptedDaemon(head: 5)
        let second = ScriptedDaemon(tasks: [Sample.view(1, .completed)], head: 7)
        let lines = Recorder<String>()
        var plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .running)], after: SequenceNumber(5))
        plan.fetchesEnded = true
        let run = Task { [plan] in
            try await follower(plan, then: second).run(first, display: RecordingDisplay(lines: lines))
        }
        while first.subscriptions.isEmpty { await Task.yield() }
        first.dieAfterEvents()
        first.send(Sample.event(6, .taskCompleted, 1))
        _ = try await run.value
        #expect(second.subscriptions.first?.after == .after(SequenceNumber(5)))
        let ended = try #require(lines.all.firstIndex(of: "ended 1"))
        #expect(ended < (lines.all.firstIndex(of: "finish") ?? 0))
    }

    @Test func aRefusalEndsIt() async throws {
        let daemon = ScriptedDaemon(refusal: TransferError(.permissionDenied, "not yours"))
        let lines = Recorder<String>()
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1)], after: .zero)
        await #expect(throws: CommandFailure.refused(TransferError(.permissionDenied, "not yours"))) {
            try await follower(plan).run(daemon, display: RecordingDisplay(lines: lines))
        }
    }

    @Test func endedTasksAreFetchedWholeForJSON() async throws {
        let daemon = ScriptedDaemon(tasks: [Sample.view(1, .completed)], head: 5)
        let lines = Recorder<String>()
        var plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .running)], after: SequenceNumber(5))
        plan.fetchesEnded = true
        let run = Task { [plan] in try await follower(plan).run(daemon, display: RecordingDisplay(lines: lines)) }
        while daemon.subscriptions.isEmpty { await Task.yield() }
        daemon.send(Sample.event(7, .taskCompleted, 1))
        _ = try await run.value
        let ended = try #require(lines.all.firstIndex(of: "ended 1"))
        let finish = try #require(lines.all.firstIndex(of: "finish"))
        #expect(ended < finish)
    }

    /// A task that has ended counts even if the time limit has passed too.
    @Test func aLimitEndsItAndLeavesTheTasks() async throws {
        let daemon = ScriptedDaemon(head: 5)
        let known = [Sample.task(1, "f", .completed), Sample.task(2, "g", .running)]
        var waiting = follower(FollowPlan(tasks: known.map(\.id), known: known, after: SequenceNumber(5)))
        waiting.limit = FollowLimit(0)
        let limited = waiting
        await #expect(throws: CommandFailure.timedOut("1 task did not end within 0s; it continues in the daemon")) {
            try await limited.run(daemon, display: RecordingDisplay(lines: Recorder()))
        }
        waiting.plan = FollowPlan(tasks: [TaskID(1)], known: [known[0]], after: SequenceNumber(5))
        #expect(try await waiting.run(daemon, display: RecordingDisplay(lines: Recorder())).isOver)
    }

    @Test func tasksThatAreOverAlreadyEndItAtOnce() async throws {
        let daemon = ScriptedDaemon(head: 5)
        let plan = FollowPlan(tasks: [TaskID(1)], known: [Sample.task(1, "f", .completed)], after: SequenceNumber(5))
        let state = try await follower(plan).run(daemon, display: RecordingDisplay(lines: Recorder()))
        #expect(state.isOver)
    }
}

import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct DispatcherTests {
    @Test func startsNoMoreThanTheSlots() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: (0..<40).map { "h\($0)" })
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 7 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 7)
        #expect(try await fixture.store.read { try $0.counts(session: fixture.key)[.running] } == 7)
    }

    /// Only the commit of their ends is outstanding.
    @Test func runsThatGaveTheirSlotsBackMakeRoom() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["a", "a", "a"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 1 }
        await stage.dispatcher.fillSlots()
        let first = try #require(stage.runs[tasks[0].id])
        #expect(stage.runs.freeSlot(of: first))
        await stage.dispatcher.fillSlots(isChange: false)
        #expect(stage.startedIDs == [tasks[0].id, tasks[1].id])
    }

    /// Its end was not stored: the task is queued again while its run is still stopping.
    @Test func noTaskIsClaimedWhileARunOfItEnds() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["a"])
        let stage = DispatcherStage(fixture)
        await stage.dispatcher.fillSlots()
        let run = try #require(stage.runs[tasks[0].id])
        #expect(stage.runs.freeSlot(of: run))
        _ = try await fixture.apply(.preempted(), to: run.task)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [run.task])
        stage.runs.remove(run)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [run.task, run.task])
    }

    @Test func keepsTheLimitOfAHostAndServesTheOthers() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: Array(repeating: "slow", count: 20) + ["b", "c"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasksPerHost = 2 }
        await stage.dispatcher.fillSlots()
        let hosts = stage.started.withLock { $0.map(\.host) }
        #expect(hosts.filter { $0.contains("slow") }.count == 2)
        #expect(hosts.filter { !$0.contains("slow") }.count == 2)
    }

    /// The configuration's values, for sessions that set none.
    @Test func sessionsInheritTheConfigurationsLimits() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: ["a", "a", "a", "b", "c", "d"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { settings in
            settings.session.maximumConcurrentTasks = 3
            settings.session.httpMaximumConnectionsPerHost = 1
        }
        await stage.dispatcher.fillSlots()
        #expect(stage.started.withLock { Set($0.map(\.host)) } == ["https://a:443", "https://b:443", "https://c:443"])
        #expect(stage.startedIDs.count == 3)
    }

    @Test func theSessionsOwnLimitsComeBeforeTheConfigurations() async throws {
        let fixture = try SupervisionFixture()
        var own = SessionConfiguration()
        own.maximumConcurrentTasks = 5
        own.httpMaximumConnectionsPerHost = 2
        _ = try await fixture.add(hosts: ["a", "a", "a", "b", "c", "d"], configuration: own)
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { settings in
            settings.session.maximumConcurrentTasks = 1
            settings.session.httpMaximumConnectionsPerHost = 1
        }
        await stage.dispatcher.fillSlots()
        #expect(stage.started.withLock { $0.map(\.host) }.filter { $0.contains("//a:") }.count == 2)
        #expect(stage.startedIDs.count == 5)
    }

    @Test func hostsThatAreHeldBackStarveNobody() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "dead", count: 30) + ["alive"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 3 }
        for _ in 0..<3 {
            for task in tasks.prefix(2) { stage.report(.failed, host: task.host, task: task.id) }
        }
        for task in tasks.prefix(2) { _ = try await fixture.apply(.pause, to: task.id) }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [tasks[30].id])
    }

    /// The store shows which lanes it would read for the next claim.
    @Test func hostsThatAreHeldBackAreReadOnceUntilOneOfTheirTasksMayRun() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: (0..<40).map { "dead\($0)" } + ["alive", "alive"])
        let stage = DispatcherStage(fixture)
        for task in tasks.prefix(40) {
            for other in 1...5 {
                stage.report(.failed, host: task.host, task: TaskID(task.id.rawValue + Int64(other) * 1000))
            }
        }
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 3 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == tasks.suffix(2).map(\.id))
        let everything = CandidateQuery(perLane: 10, limit: 100)
        #expect(try await fixture.store.read { try $0.candidates(everything) }.tasks.isEmpty)
        // One host answers, and the next probe of the others is not due yet.
        stage.report(.answered, host: tasks[7].host, task: TaskID(9000))
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.last == tasks[7].id && stage.startedIDs.count == 3)
        // The probes become due.
        fixture.time.advance(5)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 100 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 42)
    }

    /// Leaves the lanes as a daemon does that died while their hosts were held.
    func holdAllLanes(_ fixture: SupervisionFixture) async throws {
        var query = CandidateQuery()
        query.access = { _, _ in .held }
        let lanes = try await fixture.store.read { [query] in try $0.candidates(query) }.heldLanes
        try await fixture.store.write { try $0.hold(lanes) }
    }

    @Test func marksOfADaemonBeforeThisOneMeanNothing() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        try await holdAllLanes(fixture)
        let stage = DispatcherStage(fixture)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [task.id])
    }

    /// A task that fails with a status waits only for itself.
    @Test func aTaskOfAHostThatRefusesOthersBeginsAtOnce() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["sick", "sick", "sick"])
        let stage = DispatcherStage(fixture)
        for count in 0..<20 { stage.report(.refused, host: tasks[0].host, task: tasks[count % 2].id) }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.contains(tasks[2].id))
    }

    @Test func aHostThatAskedForAPauseHoldsAllItsTasksAndThenLetsThemBeginOneByOne() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "busy", count: 3) + ["idle"])
        let stage = DispatcherStage(fixture)
        stage.report(.throttled(retryAfter: 2), host: tasks[0].host, task: TaskID(900))
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [tasks[3].id])
        #expect(stage.dispatcher.nextLook() == fixture.time.reading().boot + 2000)
        #expect(stage.hasNewLook)
        fixture.time.advance(2)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 2)
        #expect(stage.dispatcher.nextLook() == fixture.time.reading().boot + 1000)
        #expect(stage.hasNewLook, "the alarms hear of both times")
        fixture.time.advance(1)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 3)
    }

    /// After the best tasks of a full lane, no other could begin either, so a long lane is not read further.
    @Test func aLongLaneOfAFullHostIsReadOnce() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: Array(repeating: "full", count: 120) + ["paced"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasksPerHost = 1 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 2)
        for _ in 0..<3 { await stage.dispatcher.fillSlots() }
        #expect(stage.startedIDs.count == 2)
        var query = CandidateQuery(perLane: 1)
        query.excludedTasks = Set(stage.startedIDs)
        let found = try await fixture.store.read { [query] in try $0.candidates(query) }
        #expect(found.hasMore && !found.hasMoreLanes)
    }

    @Test func aTaskThatAClientWantsIsTheProbe() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "dead", count: 12))
        let stage = DispatcherStage(fixture)
        for task in tasks.prefix(5) { stage.report(.failed, host: task.host, task: TaskID(task.id.rawValue + 100)) }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.isEmpty)
        #expect(
            stage.gates.hold(host: tasks[0].host, owner: fixture.key.owner)
                == .silent(nextProbe: fixture.time.reading().boot + 5000))
        #expect(stage.gates.tryNow(tasks[10].id, host: tasks[10].host, owner: fixture.key.owner))
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [tasks[10].id])
        #expect(!stage.gates.tryNow(tasks[0].id, host: "https://other:443", owner: fixture.key.owner))
    }

    @Test func aHostThatSendsTakesAllItsTasks() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: Array(repeating: "back", count: 4))
        let stage = DispatcherStage(fixture)
        _ = try await stage.probe(tasks, fixture)
        stage.gates.hostSends(tasks[0].host)
        #expect(stage.isQueueChanged)
        await stage.dispatcher.fillSlots()
        #expect(Set(stage.startedIDs) == Set(tasks.map(\.id)))
    }

    @Test func anotherOwnersTaskGetsASlotAfterATurnHoweverLongTheQueue() async throws {
        let fixture = try SupervisionFixture()
        let greedy = try await fixture.add(hosts: (0..<300).map { "h\($0)" })
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 4 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 4)
        let other = SessionKey(owner: UserID(fixture.key.owner.rawValue + 1), identifier: "shared")
        let late = try await fixture.store.write { transaction in
            try transaction.insert(
                NewTask(
                    session: other, spec: greedy[0].spec,
                    status: TaskStatus(state: .queued, createdAt: fixture.time.reading().wall), host: "h7"))
        }
        fixture.time.advance(1)
        await stage.dispatcher.fillSlots()
        let stopping = stage.runs.all.filter(\.isAborting)
        let stopped = try #require(stopping.first)
        _ = try await fixture.apply(.preempted(), to: stopped.task)
        stage.runs.remove(stopped)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.last == late.id && stage.startedIDs.count == 5)
        #expect(stage.runs.all.filter(\.isAborting).isEmpty)
    }

    /// All slots of its host belong to another owner, whose queue is longer than one look. The daemon has free slots.
    @Test func anotherOwnersTaskGetsASlotOfAFullHostWhenATurnIsOver() async throws {
        let fixture = try SupervisionFixture()
        let hosts = ["full", "b", "c"].flatMap { Array(repeating: $0, count: 48) }
        let greedy = try await fixture.add(hosts: hosts)
        let stage = DispatcherStage(fixture)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 18)
        // They would start over, so none is stopped before it has had its turn.
        for run in stage.runs.all { run.sends(canResume: false) }
        try await fixture.store.write { transaction in
            _ = try transaction.insert(
                NewTask(
                    session: SessionKey(owner: UserID(fixture.key.owner.rawValue + 1), identifier: "shared"),
                    spec: greedy[0].spec,
                    status: TaskStatus(state: .queued, createdAt: fixture.time.reading().wall),
                    host: greedy[0].host))
        }
        fixture.time.advance(1)
        await stage.dispatcher.fillSlots()
        #expect(stage.runs.all.filter(\.isAborting).isEmpty)
        let next = try #require(stage.dispatcher.nextLook())
        let now = fixture.time.reading().boot
        #expect(next > now && next <= now + SchedulingPolicy().turn.milliseconds)
        fixture.time.advance(Seconds(Double(next - now) / 1000))
        await stage.dispatcher.fillSlots()
        #expect(stage.runs.all.filter(\.isAborting).map(\.host) == [greedy[0].host])
    }

    @Test func theLimitOfAUserHolds() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: (0..<9).map { "h\($0)" })
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasksPerUser = 3 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 3)
    }

    @Test func fullHostsStarveNobody() async throws {
        let fixture = try SupervisionFixture()
        let busy = (0..<6).flatMap { host in Array(repeating: "busy\(host)", count: 10) }
        let tasks = try await fixture.add(hosts: busy + ["free"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock {
            $0.global.maximumConcurrentTasks = 8
            $0.global.maximumConcurrentTasksPerHost = 1
        }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 7)
        #expect(stage.startedIDs.contains(tasks[60].id))
    }

    @Test func aFreedSlotGoesToTheNextTask() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["a", "b"])
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 1 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [tasks[0].id])
        let run = try #require(stage.runs[tasks[0].id])
        _ = try await fixture.apply(.cancel(keepPartial: false), to: tasks[0].id)
        stage.runs.remove(run)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [tasks[0].id, tasks[1].id])
    }

    /// The end of each small file rings. If nothing is free then, the tasks read ahead show that.
    @Test func whereNoSlotIsFreeTheStoreIsNotAsked() async throws {
        let fixture = try SupervisionFixture()
        _ = try await fixture.add(hosts: Array(repeating: "a", count: 20))
        let stage = DispatcherStage(fixture)
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 2 }
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.count == 2)
        fixture.store.close()
        await stage.dispatcher.fillSlots(isChange: false)
        #expect(stage.dispatcher.nextLook() == nil, "it would look again after a store that fails")
        await stage.dispatcher.fillSlots()
        #expect(stage.dispatcher.nextLook() != nil)
    }

    @Test func aTaskWhoseRunStillWindsDownIsNotStartedTwice() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        let stage = DispatcherStage(fixture)
        await stage.dispatcher.fillSlots()
        _ = try await fixture.apply(.preempted(), to: task.id)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [task.id])
    }

    @Test func aLoweredLimitStopsTheLeastImportant() async throws {
        let fixture = try SupervisionFixture()
        let tasks = try await fixture.add(hosts: ["a", "b", "c"])
        let stage = DispatcherStage(fixture)
        await stage.dispatcher.fillSlots()
        stage.settings.withLock { $0.global.maximumConcurrentTasks = 1 }
        await stage.dispatcher.fillSlots()
        #expect(stage.runs.all.filter(\.isAborting).map(\.task).sorted() == [tasks[1].id, tasks[2].id])
    }

    @Test func tasksOfAClosedScheduleWaitForItsOpening() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        let opening = fixture.time.reading().wall.advanced(by: 3600)
        let stage = DispatcherStage(fixture, closedUntil: opening)
        await stage.dispatcher.fillSlots()
        let status = try await fixture.store.read { try $0.task(task.id)?.status }
        #expect(status?.state == .waiting)
        #expect(status?.reason == .schedule)
        #expect(status?.nextAttemptAt == opening)
        #expect(stage.startedIDs.isEmpty)
    }

    /// However many and important they are: they take no slot and stop no run, and those behind them begin.
    @Test func whatTheMachineForbidsWaitsAndHoldsNobody() async throws {
        let fixture = try SupervisionFixture()
        let configuration = try ConfigurationFixture().loader.load()
        let machine = MachineState { configuration }
        var metered = MachineConditions()
        metered.isMetered = true
        _ = machine.set(metered)
        let tasks = try await fixture.add(hosts: Array(repeating: "one", count: 300) + ["two"])
        let (allowed, forbidden) = (tasks[300], Set(tasks.prefix(300).map(\.id)))
        let runs = DispatcherStage(fixture, machine: machine)
        runs.settings.withLock { $0.global.maximumConcurrentTasks = 1 }
        try await fixture.store.write { transaction in
            for task in tasks.prefix(300) {
                var spec = task.spec
                spec.allowsExpensiveNetworkAccess = false
                spec.priority = .high
                try transaction.setSpec(task.id, spec, host: task.host)
            }
        }
        await runs.dispatcher.fillSlots()
        #expect(runs.startedIDs == [allowed.id] && runs.runs.all.allSatisfy { !$0.isAborting })
        let waiting = try await fixture.store.read { try $0.waiting(reason: .metered, limit: 1000) }
        #expect(!waiting.isEmpty && forbidden.isSuperset(of: waiting.map(\.id)))
        #expect(waiting.allSatisfy { $0.status.attempts == 0 && $0.status.nextAttemptAt == nil })
    }

    @Test func nothingBeginsBeforeASleep() async throws {
        let fixture = try SupervisionFixture()
        let configuration = try ConfigurationFixture().loader.load()
        let machine = MachineState { configuration }
        let task = try await fixture.add(hosts: ["a"])[0]
        let stage = DispatcherStage(fixture, machine: machine)
        machine.fallAsleep()
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs.isEmpty)
        machine.wake(at: 0)
        await stage.dispatcher.fillSlots()
        #expect(stage.startedIDs == [task.id])
        #expect(machine.takeWoken() && !machine.takeWoken())
    }
}

import Testing
import TransferModel

@testable import dld_fleet

/// A machine with its inputs in order; the clock moves only by hand.
private struct Bench {
    var machine: NodeMachine
    var now = Duration.zero
    var lists = 0
    static let key = JobKey(1, 1)
    static let task = TaskID(5)

    init(_ change: (inout NodeSettings) -> Void = { _ in }) {
        var settings = NodeSettings()
        settings.name = "a"
        change(&settings)
        machine = NodeMachine(settings: settings, at: .zero)
    }

    /// Both connections are there, and the first comparison is done.
    static func connected(
        _ leases: [LeasedJob] = [], _ tasks: [LocalTask] = [], _ change: (inout NodeSettings) -> Void = { _ in }
    ) -> Self {
        var bench = Self(change)
        bench.send(.databaseCame)
        bench.send(.dldCame(tasks))
        bench.send(.leases(leases))
        bench.renewed([:])
        return bench
    }

    /// One job that runs.
    static func running(limited: Bool = false, marks: TaskMarks = [], _ change: (inout NodeSettings) -> Void = { _ in })
        -> Self
    {
        var bench = connected([], [], change)
        bench.send(.claimed([job(limited: limited)], sentAt: .zero))
        bench.send(.added(key, .task(task, .queued)))
        bench.state(.running)
        bench.send(.listed([LocalTask(id: task, key: key, marks: marks, state: .running)]))
        return bench
    }

    static func job(limited: Bool = false) -> LeasedJob {
        LeasedJob(key: key, pool: "default", spec: [:], limited: limited)
    }

    @discardableResult mutating func send(_ input: Input) -> [Effect] {
        machine.handle(input, at: now, random: 0.5).filter {
            switch $0 {
            case .log, .status, .ready: return false
            case .list:
                lists += 1
                return false
            default: return true
            }
        }
    }

    @discardableResult mutating func renewed(_ verdicts: [JobKey: Input.Verdict], drain: Input.Drain? = nil) -> [Effect]
    {
        send(.renewed(verdicts, drain: drain, sentAt: now))
    }

    @discardableResult mutating func state(_ state: TaskState, _ wait: Wait? = nil, sequence: Int64 = 1) -> [Effect] {
        send(.event(TaskEvent(sequence: sequence, task: Self.task, change: .state(state, wait))))
    }

    @discardableResult mutating func pass(_ seconds: Double) -> [Effect] {
        now += .milliseconds(Int(seconds * 1000))
        return send(.tick)
    }
}

@Suite struct NodeMachineTests {
    private let key = Bench.key
    private let task = Bench.task

    @Test func tellsBeforeItAcknowledgesAndForgets() throws {
        var bench = Bench.running()
        #expect(bench.state(.completed, sequence: 2) == [.inspect(key, task)])
        let report = EndReport(state: .completed, file: "/d/f", size: 3, sha256: "ab")
        let effects = bench.send(.inspected(key, report))
        guard case .finish(key, .done, let result, _)? = effects.first else { Issue.record("\(effects)"); return }
        #expect(result["path"] == "/d/f" && result["epoch"] == 1 && result["sha256"] == "ab" && result["node"] == "a")
        #expect(bench.send(.finished(key, state: "done")).contains(.discard(key, task, deleteFile: false)))
        #expect(bench.machine.works[key]?.isSettled == true)
        bench.send(.discarded(key))
        #expect(bench.machine.works.isEmpty)
    }

    @Test func removesTheFileOfARefusedEnd() {
        for (marks, deletes) in [([], true), ([.shared], true), ([.shared, .overwrites], false)] as [(TaskMarks, Bool)]
        {
            var bench = Bench.running(marks: marks)
            bench.state(.completed, sequence: 2)
            bench.send(.inspected(key, EndReport(state: .completed)))
            let effects = bench.send(.finished(key, state: nil))
            #expect(effects.contains(.acknowledge(2)) && effects.contains(.discard(key, task, deleteFile: deletes)))
        }
    }

    @Test func repeatsWhatGotNoAnswer() {
        var bench = Bench.running()
        bench.state(.failed, sequence: 2)
        #expect(bench.send(.unanswered(key)) == [])
        #expect(bench.pass(1).contains(.inspect(key, task)))
        bench.send(.dldWent)
        #expect(
            bench.send(.dldCame([LocalTask(id: task, key: key, marks: [], state: .failed)])).contains(
                .inspect(key, task)))
        let error = JobError("http.status", "", retryable: true)
        let first = bench.send(.inspected(key, EndReport(state: .failed, error: error, retryAfter: .seconds(77))))
        guard case .finish(key, .transient, _, .seconds(77))? = first.first else { Issue.record("\(first)"); return }
        bench.send(.databaseWent)
        #expect(bench.pass(60).isEmpty)
        #expect(bench.send(.databaseCame).contains(first[0]))
    }

    @Test func pausesLimitedHostsBeforeTheLeaseEnds() {
        for limited in [true, false] {
            var bench = Bench.running(limited: limited)
            bench.send(.databaseWent)
            #expect(bench.pass(56.9).isEmpty)
            #expect(bench.machine.wakesAt.map { $0 <= .seconds(57) } == limited)
            #expect(bench.pass(0.1) == (limited ? [.pause(key, task)] : []))
            bench.send(.controlled(key))
            #expect(bench.state(.paused).isEmpty)
            #expect(bench.pass(100).contains { if case .stop = $0 { true } else { false } } == !limited)
            guard limited else { continue }
            bench.send(.databaseCame)
            bench.send(.leases([Bench.job(limited: true)]))
            #expect(bench.renewed([key: .ok]).contains(.resume(key, task)))
        }
    }

    @Test func measuresFromBeforeTheRenewal() {
        var bench = Bench.running(limited: true)
        #expect(bench.pass(20).contains { if case .renew = $0 { true } else { false } })
        bench.now += .seconds(9)
        bench.send(.renewed([key: .ok], drain: nil, sentAt: .seconds(20)))
        bench.send(.databaseWent)
        bench.now = .seconds(76)
        #expect(bench.send(.tick).isEmpty)
        #expect(bench.pass(1) == [.pause(key, task)])
    }

    @Test func stopsRenewingWithoutDld() {
        var bench = Bench.running()
        bench.send(.dldWent)
        var renewals: [Duration] = []
        for _ in 0..<200 {
            let effects = bench.pass(1)
            #expect(!effects.contains { if case .claim = $0 { true } else { false } })
            guard effects.contains(where: { if case .renew = $0 { true } else { false } }) else { continue }
            renewals.append(bench.now)
            bench.renewed([key: .ok])
        }
        #expect(renewals == [.seconds(20), .seconds(40)])
    }

    @Test func lostLeaseEndsItsTask() {
        var bench = Bench.running()
        #expect(bench.renewed([key: .lost]) == [.discard(key, task, deleteFile: true)])
        bench = Bench.running()
        #expect(bench.renewed([JobKey(1, 2): .lost]).isEmpty)
        bench.state(.completed, sequence: 2)
        #expect(bench.renewed([key: .lost]).isEmpty, "the end has an answer of its own")
    }

    @Test func cancelStopsFirst() {
        var bench = Bench.running()
        #expect(bench.renewed([key: .cancel]) == [.stop(key, task)])
        let effects = bench.send(.stopped(key, hasEnded: false))
        #expect(effects == [.finish(key, .cancelled, detail: .null, delay: .zero)])
        bench = Bench.running()
        bench.renewed([key: .cancel])
        #expect(bench.send(.stopped(key, hasEnded: true)) == [.inspect(key, task)])
    }

    @Test(
        arguments: [
            ("network", "stop"), ("portal", "stop"), ("disk", "stop"), ("retry", nil),
            ("schedule", nil),
        ] as [(String, String?)]) func handsBackWhatWaits(reason: String, call: String?)
    {
        var bench = Bench.running()
        let error = JobError("network.connect", "", retryable: true)
        bench.state(.waiting, Wait(reason: reason, error: error), sequence: 2)
        bench.state(.running, nil, sequence: 3)
        bench.state(.waiting, Wait(reason: reason, error: error), sequence: 4)
        #expect(!bench.pass(59.9).contains(.stop(key, task)))
        #expect(bench.pass(0.1).contains(.stop(key, task)) == (call != nil))
        guard call != nil else { return }
        let effects = bench.send(.stopped(key, hasEnded: false))
        if reason == "disk" {
            #expect(effects == [.release(key, resume: nil)])
        } else {
            guard case .finish(key, .transient, let detail, _)? = effects.first else {
                Issue.record("\(effects)"); return
            }
            #expect(detail["code"] == "network.connect")
        }
    }

    /// dld lets one task try a host that does not answer, and keeps the others of that host in its queue.
    @Test(arguments: [
        ("h", TaskState.queued, true), ("h", .running, false), ("other", .queued, false),
    ])
    func whatIsQueuedForASilentHostLeavesToo(host: String, state: TaskState, leaves: Bool) {
        var bench = Bench.connected()
        let jobs = [1, 2, 3].map { id in
            LeasedJob(key: JobKey(id, 1), pool: "default", spec: [:], host: id == 1 ? "h" : host, attempt: Int(id))
        }
        bench.send(.claimed(jobs, sentAt: .zero))
        for job in jobs { bench.send(.added(job.key, .task(TaskID(job.key.id), .queued))) }
        bench.send(.event(TaskEvent(sequence: 1, task: TaskID(3), change: .state(state, nil))))
        // One that only tries the host has no bytes.
        bench.send(.event(TaskEvent(sequence: 1, task: TaskID(2), change: .state(.queued, nil))))
        if state == .running {
            bench.send(.event(TaskEvent(task: TaskID(3), change: .progress(bytes: 1, total: 9, rate: 1))))
        }
        let late = LeasedJob(key: JobKey(4, 1), pool: "default", spec: [:], host: "h")
        let wait = Wait(reason: "network", error: JobError("network.connect", "", retryable: true))
        bench.send(.event(TaskEvent(sequence: 2, task: TaskID(1), change: .state(.waiting, wait))))
        bench.now += .seconds(59)
        bench.send(.tick)
        bench.send(.claimed([late], sentAt: bench.now))
        bench.send(.added(late.key, .task(TaskID(4), .queued)))
        #expect(bench.machine.works[late.key]?.stage == .running, "it was not claimed")
        bench.now += .seconds(1)
        let stopped = bench.send(.tick).compactMap { if case .stop(let key, _) = $0 { key.id } else { nil } }
        #expect(stopped == (leaves ? [1, 2, 3] : [1]))
        guard leaves else { return }
        let end = bench.send(.stopped(JobKey(3, 1), hasEnded: false))
        guard case .finish(_, .transient, let detail, _)? = end.first else { Issue.record("\(end)"); return }
        #expect(detail["code"] == "network.connect" && detail["attempt"] == 3)
    }

    @Test func progressEndsTheWait() {
        var bench = Bench.running()
        bench.state(.waiting, Wait(reason: "network"), sequence: 2)
        bench.now += .seconds(50)
        bench.state(.running, nil, sequence: 3)
        bench.send(.event(TaskEvent(task: task, change: .progress(bytes: 1, total: 9, rate: 1))))
        let wait = Wait(reason: "network")
        bench.send(.event(TaskEvent(task: task, change: .progress(bytes: 2, total: 9, rate: 1))))
        bench.state(.waiting, wait, sequence: 4)
        #expect(!bench.pass(50).contains(.stop(key, task)))
    }

    @Test func storesProgressAtMostEveryInterval() {
        var bench = Bench.running()
        var stored: [Duration] = []
        for second in 1...60 {
            let change = TaskEvent.Change.progress(bytes: Int64(second), total: 60, rate: 1)
            bench.now = .seconds(second)
            for effect in bench.send(.event(TaskEvent(task: task, change: change))) {
                guard case .renew(let list, _) = effect else { continue }
                #expect(list.map(\.key) == [key])
                if list.first?.progress != nil { stored.append(bench.now) }
                bench.renewed([key: .ok])
            }
        }
        #expect(stored.count == 12)
        #expect(zip(stored, stored.dropFirst()).allSatisfy { $1 - $0 >= .seconds(5) })
    }

    @Test func othersEndTheTask() {
        for input in [TaskState.cancelled, .paused] {
            var bench = Bench.running()
            var effects = bench.state(input, nil, sequence: 2)
            if input == .paused {
                #expect(effects.isEmpty)
                #expect(bench.pass(60).contains(.stop(key, task)))
                effects = bench.send(.stopped(key, hasEnded: false))
            } else {
                #expect(effects == [.inspect(key, task)])
                effects = bench.send(.inspected(key, nil))
            }
            guard case .finish(key, .transient, let detail, _)? = effects.first else {
                Issue.record("\(effects)"); return
            }
            #expect(detail["code"] == "cancelled" && detail["retryable"] == true)
        }
        var bench = Bench.connected()
        bench.send(.claimed([Bench.job()], sentAt: .zero))
        guard case .finish(key, .transient, _, _)? = bench.send(.added(key, .removed)).first else {
            Issue.record(); return
        }
    }

    @Test(arguments: [
        ("request.bad_field", "failed"), ("policy.host", "failed"), ("destination.not_writable", "failed"),
        ("network.dns", "transient"), ("disk.full", "release"), ("limit.reached", "release"),
        ("session.not_found", "again"), ("daemon.shutting_down", "again"), ("request.token_reused", "list"),
    ]) func judgesARefusal(code: String, what: String) {
        var bench = Bench.connected()
        bench.send(.claimed([Bench.job()], sentAt: .zero))
        let error = JobError(code, "", retryable: code == "network.dns")
        let effects = bench.send(.added(key, .refused(error)))
        switch what {
        case "release": #expect(effects == [.release(key, resume: nil)])
        case "again":
            #expect(effects == [.openSession])
            #expect(bench.pass(1).contains(.add(Bench.job(), resuming: false)))
        case "list":
            bench.pass(1)
            #expect(bench.lists == 1)
            #expect(bench.send(.listed([])).contains(.add(Bench.job(), resuming: false)))
            guard case .finish(key, .transient, _, _)? = bench.send(.added(key, .refused(error))).first else {
                Issue.record()
                return
            }
        default:
            guard case .finish(key, let outcome, _, _)? = effects.first else { Issue.record("\(effects)"); return }
            #expect(outcome.rawValue == what)
        }
    }

    @Test func fallsBackToAFreshTask() {
        var job = Bench.job()
        job.resume = ["data": "blob"]
        var bench = Bench.connected()
        #expect(bench.send(.claimed([job], sentAt: .zero)).contains(.add(job, resuming: true)))
        let refusal = JobError("request.bad_field", "")
        #expect(bench.send(.added(key, .refused(refusal))) == [.add(job, resuming: false)])
        guard case .finish(key, .failed, _, _)? = bench.send(.added(key, .refused(refusal))).first else {
            Issue.record(); return
        }
    }

    @Test(arguments: [true, false]) func handsBackWhenItTerminates(isShared: Bool) {
        var bench = Bench.running(marks: isShared ? .shared : [])
        #expect(bench.send(.terminate).isEmpty)
        #expect(!bench.send(.notified(.jobs(pool: "default"))).contains(.claim(15)))
        #expect(bench.send(.terminate) == [isShared ? .collect(key, task) : .stop(key, task)])
        if isShared {
            #expect(bench.send(.collected(key, resume: ["data": "x"])) == [.release(key, resume: ["data": "x"])])
            #expect(bench.send(.released(key, state: "queued")) == [.exit], "the bytes stay")
        } else {
            #expect(bench.send(.stopped(key, hasEnded: false)) == [.release(key, resume: nil)])
            #expect(bench.send(.released(key, state: "queued")) == [.discard(key, task, deleteFile: true)])
            #expect(bench.send(.discarded(key)) == [.exit])
        }
        #expect(bench.machine.wakesAt == nil)
    }

    @Test func terminatesWithoutDatabaseToo() {
        var bench = Bench.running()
        bench.send(.terminate)
        bench.send(.databaseWent)
        #expect(bench.pass(300) == [.stop(key, task)])
        bench.send(.stopped(key, hasEnded: false))
        #expect(bench.pass(10) == [.exit])
    }

    @Test func drainsAndGoesOn() {
        var bench = Bench.running()
        bench.renewed([key: .ok], drain: Input.Drain(limit: .seconds(30)))
        #expect(!bench.pass(29).contains(.stop(key, task)))
        bench.renewed([key: .ok], drain: Input.Drain(limit: .seconds(30)))
        #expect(bench.pass(1).contains(.stop(key, task)))
        bench.send(.stopped(key, hasEnded: false))
        bench.send(.released(key, state: "queued"))
        bench.send(.discarded(key))
        // A drained node renews nothing, but hears of the end of the drain.
        #expect(bench.pass(20).contains { if case .renew([], _) = $0 { true } else { false } })
        #expect(bench.renewed([:]).contains(.claim(16)))
    }

    /// The newest limit counts, from the moment at which the drain began.
    @Test func aDrainMayBeShortened() {
        var bench = Bench.running()
        bench.renewed([key: .ok], drain: Input.Drain(limit: .seconds(300)))
        #expect(!bench.pass(5).contains(.stop(key, task)))
        #expect(bench.renewed([key: .ok], drain: Input.Drain(limit: .seconds(4))).contains(.stop(key, task)))
    }

    @Test func aPauseThatFailedIsMadeAgain() {
        var bench = Bench.running(limited: true)
        #expect(bench.pass(58).contains(.pause(key, task)))
        bench.send(.unanswered(key))
        #expect(bench.pass(1).contains(.pause(key, task)))
    }

    /// The table still has leases of the old length.
    @Test func aLongerLeaseIsToldAtOnce() {
        var bench = Bench.running()
        bench.pass(5)
        var settings = bench.machine.settings
        (settings.lease, settings.renew) = (.seconds(600), .seconds(200))
        let effects = bench.send(.settings(settings))
        #expect(effects.contains { if case .renew = $0 { true } else { false } }, "\(effects)")
    }

    @Test func judgesRedirects() {
        var bench = Bench.running { $0.policy.hosts = ["good.test"] }
        let ask = { (url: String) in
            Input.event(TaskEvent(sequence: 2, task: Bench.task, change: .redirect(decision: 9, url: url)))
        }
        #expect(bench.send(ask("https://good.test/")) == [.follow(decision: 9, sequence: 2)])
        #expect(bench.send(.answered(sequence: 2)) == [.acknowledge(2)])
        #expect(bench.send(ask("https://evil.test/")) == [.stop(key, task)])
        guard case .finish(key, .failed, let detail, _)? = bench.send(.stopped(key, hasEnded: false)).first else {
            Issue.record()
            return
        }
        #expect(detail["code"] == "policy.host")
    }

    @Test func readsItsSettingsAgain() {
        var bench = Bench.connected()
        var settings = NodeSettings()
        settings.name = "other"
        settings.capacity = 1
        #expect(bench.send(.settings(settings)) == [.register, .openSession])
        #expect(bench.machine.settings.name == "a" && bench.machine.settings.capacity == 1)
    }

    /// Lease and task in every combination, and either program first.
    @Test(arguments: [nil] + TaskState.allCases.map(Optional.some), [true, false])
    func comparesAfterARestart(state: TaskState?, isLeased: Bool) {
        for dldIsFirst in [true, false] {
            let tasks = state.map { [LocalTask(id: task, key: key, marks: [], state: $0)] } ?? []
            var bench = Bench()
            var effects = bench.send(dldIsFirst ? .dldCame(tasks) : .databaseCame)
            effects += bench.send(dldIsFirst ? .databaseCame : .leases(isLeased ? [Bench.job()] : []))
            effects += bench.send(dldIsFirst ? .leases(isLeased ? [Bench.job()] : []) : .dldCame(tasks))
            let expected: Effect? =
                switch Work.stage(isLeased: isLeased, task: state) {
                case .adding?: .add(Bench.job(), resuming: false)
                case .inspecting?: .inspect(key, task)
                case .discarding(let deletes)?: .discard(key, task, deleteFile: deletes)
                default: nil
                }
            let calls = effects.filter {
                switch $0 {
                case .add, .inspect, .discard, .stop, .finish, .release, .pause: true
                default: false
                }
            }
            #expect(calls == (expected.map { [$0] } ?? []), "dld first: \(dldIsFirst)")
        }
    }

    /// A lease that ended while `dld.leases` was under way is not taken up again.
    @Test func comparisonDoesNotReviveAnEnd() {
        var bench = Bench.running()
        bench.state(.completed, sequence: 2)
        bench.send(.inspected(key, EndReport(state: .completed)))
        bench.send(.databaseWent)
        bench.send(.databaseCame)
        bench.send(.finished(key, state: "done"))
        bench.send(.discarded(key))
        #expect(!bench.send(.leases([Bench.job()])).contains(.add(Bench.job(), resuming: false)))
        #expect(bench.machine.works.isEmpty)
    }
}

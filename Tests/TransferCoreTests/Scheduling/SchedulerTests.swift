import Testing
import TransferModel

@testable import TransferCore

struct SchedulerTests {
    func task(
        _ id: Int64, host: String = "a", owner: UInt32 = 1, session: String = "s", priority: Double = 0.5,
        position: Double? = nil, canResume: Bool = true, since: Double = 0,
        hold: Scheduler.Candidate.Hold = .held
    ) -> Scheduler.Candidate {
        Scheduler.Candidate(
            id: TaskID(id), session: SessionKey(owner: UserID(owner), identifier: session), host: host,
            priority: priority, position: position ?? Double(id), canResume: canResume, startedAt: reading(since).boot,
            hold: hold)
    }
    func key(_ name: String) -> SessionKey { SessionKey(owner: UserID(1), identifier: name) }

    func pick(
        _ candidates: [Scheduler.Candidate], running: [Scheduler.Candidate] = [], stopping: Set<Int64> = [],
        _ limits: SlotLimits = SlotLimits(global: 32, perHost: 6), gates: HostGates = HostGates(),
        turns: SlotTurns = SlotTurns(), at time: Double = 0
    ) -> (start: [Int64], preempt: [Int64]) {
        let decision = Scheduler.pick(
            candidates: candidates, running: running, stopping: Set(stopping.map { TaskID($0) }), limits: limits,
            gates: gates, turns: turns, at: reading(time))
        return (decision.start.map(\.rawValue), decision.preempt.map(\.rawValue))
    }

    @Test func fillsEveryLimit() {
        let many = (1...40).map { task($0, host: "h\($0 % 10)") }
        #expect(pick(many).start.count == 32)
        #expect(pick((1...40).map { task($0) }).start == [1, 2, 3, 4, 5, 6])
        let bySession = SlotLimits(global: 32, perHost: 6, perSession: [key("s"): 2])
        #expect(pick([task(1), task(2), task(3), task(4, session: "t")], bySession).start.sorted() == [1, 2, 4])
        let byBoth = SlotLimits(global: 32, perHost: 6, perHostOfSession: [key("s"): 1])
        #expect(pick([task(1), task(2), task(3, host: "b")], byBoth).start.sorted() == [1, 3])
        let wide = SlotLimits(global: 32, perHost: 2, perHostOfSession: [key("s"): 9])
        #expect(pick((1...5).map { task($0) }, wide).start.count == 2)
    }

    /// It is nobody's slot any more, but one of its session's tasks.
    @Test func whatLeftItsSlotCountsInItsSessionAlone() {
        let left = (1...6).map { task($0, hold: .left) }
        let full = SlotLimits(global: 2, perHost: 1, perOwner: 1)
        #expect(pick([task(7)], running: left, full).start == [7])
        let bySession = SlotLimits(global: 32, perHost: 32, perSession: [key("s"): 6])
        #expect(pick([task(7), task(8, session: "t")], running: left, bySession).start == [8])
        let byBoth = SlotLimits(global: 32, perHost: 32, perHostOfSession: [key("s"): 6])
        #expect(pick([task(7), task(8, host: "b")], running: left, byBoth).start == [8])
        // It is never stopped for another task, and a lowered limit does not reach it.
        let lowered = SlotLimits(global: 1, perHost: 1, perSession: [key("s"): 1])
        #expect(pick([task(9, priority: 1)], running: left, lowered).preempt.isEmpty)
        #expect(Scheduler.blocking(task(7), running: left, limits: full).isEmpty)
    }

    /// Nobody is stopped because a task took its slot back, and the next one waits until there is room again.
    @Test func whatTookItsSlotBackStopsNobody() {
        let limits = SlotLimits(global: 2, perHost: 2)
        let running = [task(1), task(2), task(3, hold: .returned), task(4, hold: .returned)]
        let (start, preempt) = pick([task(5)], running: running, limits)
        #expect(start.isEmpty && preempt.isEmpty)
        #expect(pick([task(5)], running: [task(3, hold: .returned)], limits).start == [5])
        // A lowered limit stops the others as before.
        #expect(pick([], running: running, SlotLimits(global: 1, perHost: 1)).preempt == [2])
        // Another owner's turn comes although the limits are exceeded.
        let other = task(6, host: "b", owner: 2)
        #expect(pick([other], running: running, limits, at: 100).preempt.count == 1)
        // So does a task of higher priority.
        #expect(pick([task(7, priority: 1)], running: running, limits).preempt.count == 1)
    }

    @Test func runningTasksCount() {
        let running = (1...5).map { task($0) }
        #expect(pick([task(6), task(7)], running: running).start == [6])
    }

    @Test func priorityComesFirstThenPosition() {
        let queue = [task(1, priority: 0.25), task(2, priority: 0.75), task(3, position: 9), task(4, position: 3)]
        #expect(pick(queue, SlotLimits(global: 3, perHost: 6)).start == [2, 4, 3])
    }

    @Test func hostsTakeTurns() {
        let queue = (1...6).map { task($0, host: "big") } + [task(7, host: "small"), task(8, host: "small")]
        #expect(Set(pick(queue, SlotLimits(global: 4, perHost: 6)).start) == [1, 2, 7, 8])
        let busy = [task(20, host: "small"), task(21, host: "small")]
        #expect(pick(queue, running: busy, SlotLimits(global: 4, perHost: 6)).start == [1, 2])
    }

    @Test func onlyAStrictlyHigherPriorityPreempts() {
        let running = [task(1, priority: 0.25), task(2, priority: 0.5)]
        let full = SlotLimits(global: 2, perHost: 6)
        #expect(pick([task(3, priority: 0.25)], running: running, full).preempt.isEmpty)
        let decision = pick([task(3, priority: 0.75)], running: running, full)
        #expect(decision.preempt == [1])
        #expect(decision.start.isEmpty, "the slot is not free yet")
        #expect(pick([task(3, priority: 0.5), task(4, priority: 0.5)], running: running, full).preempt == [1])
    }

    @Test func whatGivesWaySaysForWhat() {
        func displacement(
            _ candidates: [Scheduler.Candidate], _ running: [Scheduler.Candidate], _ limits: SlotLimits
        ) -> [TaskID: Displacement] {
            Scheduler.pick(candidates: candidates, running: running, limits: limits, at: reading(3600)).displacements
        }
        let running = [task(1, priority: 0.25), task(2, priority: 0.5)]
        let urgent = [task(3, priority: 0.75)]
        #expect(
            displacement(urgent, running, SlotLimits(global: 2, perHost: 6))
                == [TaskID(1): .priority(of: TaskID(3), .global)])
        #expect(
            displacement(urgent, running, SlotLimits(global: 9, perHost: 6, perSession: [key("s"): 2]))
                == [TaskID(1): .priority(of: TaskID(3), .session)])
        #expect(
            displacement([], running, SlotLimits(global: 9, perHost: 1)) == [TaskID(1): .limitLowered(.host)])
        #expect(
            displacement([task(3, owner: 2)], running, SlotLimits(global: 2, perHost: 6))
                == [TaskID(1): .turn(.global)])
    }

    @Test func nobodyIsPreemptedWithoutNeed() {
        let running = [task(1, priority: 0.25)]
        #expect(pick([task(2, priority: 0.75)], running: running).preempt.isEmpty)
    }

    @Test func theVictimMustHoldTheSlotThatIsNeeded() {
        let limits = SlotLimits(global: 10, perHost: 1)
        let running = [task(1, host: "a", priority: 0.1), task(2, host: "b", priority: 0.3)]
        #expect(pick([task(3, host: "b", priority: 0.9)], running: running, limits).preempt == [2])
    }

    @Test func theSlotIsTakenFromWhoCanResume() {
        let limits = SlotLimits(global: 2, perHost: 6)
        var running = [task(1, priority: 0.25), task(2, priority: 0.25)]
        running[1].canResume = false
        #expect(pick([task(3, priority: 0.9)], running: running, limits).preempt == [1])
        running[0].canResume = false
        #expect(pick([task(3, priority: 0.9)], running: running, limits).preempt == [2], "all would lose: the least")
    }

    /// If the more important task were stopped, it would then take the slot of the other one, and both would have been
    /// stopped.
    @Test func aLowerPriorityYieldsFirstWhateverItLoses() {
        var running = [task(1, priority: 0.1), task(2, priority: 0.3)]
        running[0].canResume = false
        #expect(pick([task(3, priority: 0.9)], running: running, SlotLimits(global: 2, perHost: 6)).preempt == [1])
    }

    @Test func twoThatAreNeededTakeTwoAndFirstWhoCanResume() {
        var running = (1...3).map { task($0, priority: 0.25) }
        running[2].canResume = false
        let urgent = [task(8, priority: 0.75), task(9, priority: 0.75)]
        let decision = pick(urgent, running: running, SlotLimits(global: 3, perHost: 6))
        #expect(Set(decision.preempt) == [1, 2])
    }

    @Test func whoIsStoppingIsNotStoppedTwice() {
        let running = [task(1, priority: 0.25), task(2, priority: 0.25)]
        let full = SlotLimits(global: 2, perHost: 6)
        let again = pick([task(3, priority: 0.75)], running: running, stopping: [1], full)
        #expect(again.preempt.isEmpty)
        #expect(again.start.isEmpty)
    }

    @Test func aLoweredLimitTakesSlotsBack() {
        let running = [task(1, priority: 0.75), task(2), task(3)]
        #expect(pick([], running: running, SlotLimits(global: 2, perHost: 6)).preempt == [3])
        #expect(pick([task(9)], running: running, SlotLimits(global: 2, perHost: 6)).start.isEmpty)
    }

    @Test func aSilentHostHoldsNobodyElse() {
        let queue = (1...6).map { task($0, host: "a") } + (7...9).map { task($0, host: "b") }
        let start = pick(queue, SlotLimits(global: 4, perHost: 6), gates: silent("a"), at: 5).start
        #expect(start.filter { $0 <= 6 }.count == 1, "one probe")
        #expect(start.filter { $0 > 6 }.count == 3)
        #expect(pick(queue, gates: silent("a"), at: 4).start.sorted() == [7, 8, 9])
    }

    /// Two tasks fail five times at 0 s, so the first probe is due at 5 s.
    private func silent(_ host: String) -> HostGates {
        var gates = HostGates()
        for id in 100...104 {
            gates.report(
                .failed, host: host, owner: UserID(1), task: TaskID(Int64(id)), startedAt: reading().boot, at: reading()
            )
        }
        return gates
    }

    @Test func theProbeIsATaskThatHasNotFailed() {
        var queue = (1...4).map { task($0, host: "a", priority: $0 == 1 ? 0.9 : 0.5) }
        for index in [0, 1, 3] { queue[index].failures = index == 3 ? 1 : 2 }
        #expect(pick(queue, gates: silent("a"), at: 5).start == [3])
        queue[2].failures = 2
        #expect(pick(queue, gates: silent("a"), at: 5).start == [4], "if all have, who failed least often")
        queue[3].failures = 2
        #expect(pick(queue, gates: silent("a"), at: 5).start == [1], "of those the most important")
    }

    /// A host that accepts one task per second. It always refuses the urgent tasks of the first owner, and answers all
    /// others.
    @Test func aPacedHostStarvesNobody() {
        var gates = HostGates()
        gates.report(
            .throttled(retryAfter: 1), host: "a", owner: UserID(1), task: TaskID(1), startedAt: 0, at: reading())
        var queue = (1...3).map { task($0, priority: 1) }
        queue += (4...30).map { task($0) }
        queue += [task(31, priority: 0), task(32, owner: 2)]
        for index in queue.indices where !(4...30).contains(queue[index].id.rawValue) { queue[index].failures = 1 }
        var (turns, served) = (SlotTurns(), [Int64]())
        for second in 1...80 {
            let now = reading(Double(second))
            let start = pick(queue, gates: gates, turns: turns, at: Double(second)).start
            #expect(start.filter { $0 != 32 }.count == 1)
            for id in start {
                guard let index = queue.firstIndex(where: { $0.id.rawValue == id }) else { continue }
                let task = queue[index]
                gates.attemptStarted(host: "a", owner: task.owner, task: task.id, at: now)
                turns.served(task.session)
                if id <= 3 {
                    queue[index].failures += 1
                    gates.report(
                        .throttled(retryAfter: 1), host: "a", owner: task.owner, task: task.id, startedAt: now.boot,
                        at: now)
                } else {
                    queue.remove(at: index)
                    served.append(id)
                }
            }
        }
        #expect(served.prefix(2).contains(32), "what one owner was asked to do holds no other")
        #expect(served.sorted() == Array(4...32))
        #expect(served.last == 31, "who failed once comes before who fails each time")
    }

    @Test func theProbeIsTheTaskThatAClientAskedFor() {
        var gates = silent("a")
        _ = gates.tryNow(host: "a", owner: UserID(1), task: TaskID(4), at: reading(1))
        var queue = (1...4).map { task($0, host: "a") }
        queue[3].failures = 1
        #expect(pick(queue, gates: gates, at: 1).start == [4])
        #expect(pick(Array(queue.prefix(3)), gates: gates, at: 1).start == [1], "it is not queued any more")
    }

    /// The first owner's runs use all slots, and its task at the silent host has failed less often.
    @Test func aProbeIsLeftToAnOwnerWhoGetsASlot() {
        var queue = [task(1, host: "a"), task(2, host: "a", owner: 2)]
        queue[1].failures = 3
        let running = [task(8, host: "b"), task(9, host: "c")]
        let limits = SlotLimits(global: 2, perHost: 6)
        let full = pick(queue, running: running, limits, gates: silent("a"), at: 40)
        #expect(full.start.isEmpty && full.preempt.count == 1, "the second owner takes a slot for it")
        let free = pick(queue, running: [task(8, host: "b")], limits, gates: silent("a"), at: 40)
        #expect(free.start == [2], "an owner without a slot is not passed over")
        let both = [task(8, host: "b"), task(9, host: "c", owner: 2)]
        let spare = pick(queue, running: both, SlotLimits(global: 3, perHost: 6), gates: silent("a"), at: 40)
        #expect(spare.start == [1], "if both can probe, who failed least often")
    }
}

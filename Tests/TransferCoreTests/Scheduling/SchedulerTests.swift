import Testing
import TransferModel

@testable import TransferCore

struct SchedulerTests {
    private func task(
        _ id: Int64, host: String = "a", session: String = "s", priority: Double = 0.5, position: Double? = nil
    ) -> Scheduler.Candidate {
        Scheduler.Candidate(
            id: TaskID(id), session: key(session), host: host, priority: priority, position: position ?? Double(id))
    }
    private func key(_ name: String) -> SessionKey { SessionKey(owner: UserID(1), identifier: name) }

    private func pick(
        _ candidates: [Scheduler.Candidate], running: [Scheduler.Candidate] = [], stopping: Set<Int64> = [],
        _ limits: SlotLimits = SlotLimits(global: 32, perHost: 6), breaker: CircuitBreaker = CircuitBreaker()
    ) -> (start: [Int64], preempt: [Int64]) {
        let decision = Scheduler.pick(
            candidates: candidates, running: running, stopping: Set(stopping.map { TaskID($0) }), limits: limits,
            breaker: breaker, at: reading())
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

    @Test func nobodyIsPreemptedWithoutNeed() {
        let running = [task(1, priority: 0.25)]
        #expect(pick([task(2, priority: 0.75)], running: running).preempt.isEmpty)
    }

    @Test func theVictimMustHoldTheSlotThatIsNeeded() {
        let limits = SlotLimits(global: 10, perHost: 1)
        let running = [task(1, host: "a", priority: 0.1), task(2, host: "b", priority: 0.3)]
        #expect(pick([task(3, host: "b", priority: 0.9)], running: running, limits).preempt == [2])
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

    @Test func aFailingHostHoldsNobodyElse() {
        var breaker = CircuitBreaker()
        for id in 100...104 { breaker.recordFailure(host: "a", task: TaskID(Int64(id)), at: reading(-10)) }
        let queue = (1...6).map { task($0, host: "a") } + (7...9).map { task($0, host: "b") }
        let start = pick(queue, SlotLimits(global: 4, perHost: 6), breaker: breaker).start
        #expect(start.filter { $0 <= 6 }.count == 1, "one probe")
        #expect(start.filter { $0 > 6 }.count == 3)
    }

    @Test func whoseOwnBackOffIsOverTriesAHostThatIsHeldBack() {
        var breaker = CircuitBreaker()
        for id in 100...104 { breaker.recordFailure(host: "a", task: TaskID(Int64(id)), at: reading()) }
        var queue = (1...4).map { task($0, host: "a") }
        #expect(pick(queue, breaker: breaker).start.isEmpty)
        queue[1].hasFailed = true
        queue[3].hasFailed = true
        #expect(pick(queue, breaker: breaker).start == [2, 4])
    }

    @Test func limitsHoldWhateverComes() {
        var generator = SeededGenerator(state: 3)
        for _ in 0..<200 {
            let all = (1...60).map { id in
                task(
                    id, host: "h\(Int.random(in: 0..<5, using: &generator))",
                    session: "s\(Int.random(in: 0..<3, using: &generator))",
                    priority: [0.25, 0.5, 0.75][Int.random(in: 0..<3, using: &generator)])
            }
            let limits = SlotLimits(
                global: Int.random(in: 1...20, using: &generator), perHost: Int.random(in: 1...6, using: &generator),
                perSession: [key("s0"): 2], perHostOfSession: [key("s1"): 1])
            let first = pick(Array(all.prefix(30)), limits)
            #expect(first.preempt.isEmpty)
            let running = all.filter { first.start.contains($0.id.rawValue) }
            let second = pick(Array(all.suffix(30)), running: running, limits)
            let kept = running.filter { !second.preempt.contains($0.id.rawValue) }
            let after = kept + all.filter { second.start.contains($0.id.rawValue) }
            #expect(after.count <= limits.global)
            for (_, tasks) in Dictionary(grouping: after, by: \.host) { #expect(tasks.count <= limits.perHost) }
            #expect(after.filter { $0.session == key("s0") }.count <= 2)
            let ofSession = Dictionary(grouping: after.filter { $0.session == key("s1") }, by: \.host)
            #expect(ofSession.values.allSatisfy { $0.count <= 1 })
        }
    }
}

import Testing
import TransferModel

@testable import TransferCore

/// How owners and sessions share the slots.
extension SchedulerTests {
    @Test func freeSlotsGoToTheOwnerWithTheFewest() {
        let queue = (1...20).map { task($0, host: "h\($0)") } + (21...40).map { task($0, host: "h\($0)", owner: 2) }
        let start = pick(queue, SlotLimits(global: 8, perHost: 6)).start
        #expect(start.filter { $0 <= 20 }.count == 4)
        let busy = (50...52).map { task($0, host: "h\($0)") }
        let next = pick(queue, running: busy, SlotLimits(global: 8, perHost: 6)).start
        #expect(next.filter { $0 > 20 }.count == 4 && next.filter { $0 <= 20 }.count == 1)
    }

    @Test func theOrderOfWhatRunsSaysNothing() {
        let running = (1...6).map { task($0, host: "h\($0 % 2)", owner: UInt32($0 % 3), priority: Double($0 % 2)) }
        let waiting = (7...9).map { task($0, host: "h\($0 % 2)", owner: UInt32($0 % 4), priority: 0.5) }
        for limits in [
            SlotLimits(global: 6, perHost: 6), SlotLimits(global: 6, perHost: 3), SlotLimits(global: 5, perHost: 2),
        ] {
            let first = pick(waiting, running: running, limits, at: 100)
            for turn in 1..<6 {
                let turned = Array(running[turn...] + running[..<turn])
                let other = pick(waiting, running: turned, limits, at: 100)
                #expect(other.start == first.start && Set(other.preempt) == Set(first.preempt))
            }
        }
    }

    @Test func prioritiesOfOneOwnerAreNothingToAnother() {
        let queue = (1...4).map { task($0, priority: 1) } + [task(5, owner: 2, priority: 0)]
        #expect(pick(queue, SlotLimits(global: 2, perHost: 6)).start.contains(5))
        let running = [task(8, owner: 2, priority: 0), task(9, owner: 1)]
        #expect(pick([task(1, priority: 1)], running: running, SlotLimits(global: 2, perHost: 6)).preempt == [9])
    }

    @Test func sessionsOfOneOwnerTakeTurns() {
        let queue = (1...9).map { task($0, priority: 1) } + (11...19).map { task($0, session: "t", priority: 0) }
        let start = pick(queue, SlotLimits(global: 6, perHost: 6)).start
        #expect(start.filter { $0 < 10 }.count == 3)
    }

    @Test func amongEqualsWhoWaitedLongestIsServed() {
        var turns = SlotTurns()
        turns.served(SessionKey(owner: UserID(1), identifier: "s"))
        let queue = [task(1), task(2, owner: 2)]
        #expect(pick(queue, SlotLimits(global: 1, perHost: 6), turns: turns).start == [2])
        turns.served(SessionKey(owner: UserID(2), identifier: "s"))
        #expect(pick(queue, SlotLimits(global: 1, perHost: 6), turns: turns).start == [1])
    }

    @Test func anOwnerWithoutASlotTakesOneFromTheOwnerWithTheMost() {
        let running =
            (1...3).map { task($0, host: "h\($0)", since: Double($0)) } + [task(4, host: "h4", owner: 3)]
        let full = SlotLimits(global: 4, perHost: 6)
        let late = [task(9, host: "h9", owner: 2)]
        #expect(pick(late, running: running, full, at: 10).preempt == [3], "the one that has run for the shortest time")
        let soon = Scheduler.pick(
            candidates: late, running: running, limits: full, at: reading(2.5))
        #expect(soon.preempt == [TaskID(1)], "the others have just begun")
        let first = Scheduler.pick(candidates: late, running: running, limits: full, at: reading(0.5))
        #expect(first.preempt.isEmpty && first.nextLook == reading(2).boot && first.leavesOwnerWithout)
    }

    @Test func aHostsSlotsAreSharedToo() {
        let running = (1...6).map { task($0) }
        #expect(pick([task(9, owner: 2)], running: running, at: 10).preempt == [6])
        #expect(pick([task(9)], running: running, at: 10).preempt.isEmpty)
    }

    @Test func moreThanOneSlotIsTakenOnlyAfterATurn() {
        let running = (1...4).map { task($0, host: "h\($0)") } + [task(5, host: "h5", owner: 2)]
        let full = SlotLimits(global: 5, perHost: 6)
        let more = [task(9, host: "h9", owner: 2)]
        let early = Scheduler.pick(candidates: more, running: running, limits: full, at: reading(29))
        #expect(early.preempt.isEmpty && early.nextLook == reading(30).boot)
        #expect(pick(more, running: running, full, at: 30).preempt.count == 1)
        let even = (1...3).map { task($0, host: "h\($0)") } + (5...6).map { task($0, host: "h\($0)", owner: 2) }
        #expect(pick(more, running: even, full, at: 300).preempt.isEmpty, "3 and 2 is fair")
    }

    @Test func moreOwnersThanSlotsTakeTurns() {
        let running = [task(1, owner: 1, since: 0), task(2, owner: 2, since: 20)]
        let full = SlotLimits(global: 2, perHost: 6)
        let early = Scheduler.pick(candidates: [task(9, owner: 3)], running: running, limits: full, at: reading(29))
        #expect(early.preempt.isEmpty && early.nextLook == reading(30).boot)
        #expect(pick([task(9, owner: 3)], running: running, full, at: 30).preempt == [1])
    }

    @Test func aSlotIsTakenFirstFromARunThatCanBeResumed() {
        let full = SlotLimits(global: 3, perHost: 6)
        let running = [
            task(1, host: "x", canResume: false), task(2, host: "y"), task(3, host: "z", canResume: false, since: 3),
        ]
        #expect(pick([task(9, owner: 2)], running: running, full, at: 60).preempt == [2])
        let lost = running.map { task($0.id.rawValue, host: $0.host, canResume: false, since: 1) }
        #expect(pick([task(9, owner: 2)], running: lost, full, at: 20).preempt.isEmpty, "they have their turn")
        #expect(pick([task(9, owner: 2)], running: lost, full, at: 31).preempt.count == 1)
        let high = [task(9, priority: 0.9)]
        #expect(pick(high, running: running, full).preempt == [2])
        let two = pick(high + [task(10, host: "b", owner: 2)], running: lost + [], full, at: 20)
        #expect(two.preempt.count == 1, "its own owner's priority comes first")
    }

    @Test func whoeverHasEnoughTakesNothing() {
        let more = [task(9, host: "h9", owner: 2)]
        let lossy = (1...4).map { task($0, host: "h\($0)", canResume: false) } + [task(5, host: "h5", owner: 2)]
        let full = SlotLimits(global: 5, perHost: 6)
        #expect(pick(more, running: lossy, full, at: 300).preempt.isEmpty, "a second slot is not worth a lost run")
        let onHost = (1...3).map { task($0) } + (4...6).map { task($0, owner: 2) }
        #expect(pick([task(9, owner: 2)], running: onHost, at: 300).preempt.isEmpty, "half of the host is fair")
    }

    @Test func theSlotComesFromTheOwnerWithTheMost() {
        let full = SlotLimits(global: 5, perHost: 6)
        let two = [task(4, host: "x", owner: 3, since: 9), task(5, host: "y", owner: 3, since: 9)]
        let three = (1...3).map { task($0, host: "h\($0)", priority: $0 == 2 ? 0.1 : 0.5) }
        let late = [task(9, host: "h9", owner: 2)]
        #expect(pick(late, running: two + three, full, at: 100).preempt == [2], "the least important of it")
        let even = [task(1, host: "x", owner: 1, since: 5), task(2, host: "y", owner: 3, since: 2)]
        let limits = SlotLimits(global: 2, perHost: 6)
        #expect(pick(late, running: even, limits, at: 100).preempt == [2], "of equals, the one that began first")
    }

    @Test func aPriorityTakesNoSlotOfASmallerSession() {
        let running = [task(1, host: "x", session: "t"), task(2, host: "y"), task(3, host: "z")]
        let full = SlotLimits(global: 3, perHost: 6)
        let urgent = task(9, host: "h", priority: 1)
        #expect(pick([urgent], running: running, full).preempt == [3])
        let low = [task(1, host: "x", session: "t", priority: 0), task(2, host: "y"), task(3, host: "z")]
        #expect(pick([urgent], running: low, full).preempt == [3], "the other session has no more than this one")
    }

    @Test func sessionsThatWaitedLongestAreServedFirst() {
        var turns = SlotTurns()
        turns.served(key("s"))
        let queue = [task(1), task(2, session: "t")]
        #expect(pick(queue, SlotLimits(global: 1, perHost: 6), turns: turns).start == [2])
    }

    @Test func aLoweredLimitLeavesEachOwnerOne() {
        let running = [task(1, priority: 1), task(2, priority: 1), task(3, owner: 2, priority: 0)]
        #expect(pick([], running: running, SlotLimits(global: 2, perHost: 6)).preempt == [2])
    }

    /// If a session is full, or a host within it, only a run of the same session or host makes room.
    @Test func aVictimOfAnotherKindFreesNothing() {
        let others = [2, 3].map { task($0, host: "b", session: "t", priority: 0.1) }
        let urgent = [task(9, priority: 0.9)]
        let session = SlotLimits(global: 9, perHost: 6, perSession: [key("s"): 1])
        #expect(pick(urgent, running: [task(1, priority: 0.1)] + others, session).preempt == [1])
        #expect(pick(urgent, running: others, session).start == [9])
        let host = SlotLimits(global: 9, perHost: 6, perHostOfSession: [key("s"): 1])
        #expect(pick(urgent, running: [task(1, host: "b", priority: 0), task(3, priority: 0.5)], host).preempt == [3])
    }

    @Test func theLimitOfAnOwnerHolds() {
        let limits = SlotLimits(global: 32, perHost: 6, perOwner: 2)
        let queue = (1...9).map { task($0, host: "h\($0)") } + [task(10, owner: 2)]
        let start = pick(queue, limits).start
        #expect(start.count == 3 && start.contains(10))
        #expect(pick([task(10, owner: 2)], running: [task(1), task(2), task(3)], limits).preempt == [3])
    }

    @Test func whatKeepsATaskFromASlotHasAName() {
        let limits = SlotLimits(global: 4, perHost: 2, perOwner: 3, perSession: [key("t"): 1])
        let running = [task(1), task(2), task(3, host: "b", session: "t"), task(4, host: "c", owner: 2)]
        func blocking(_ task: Scheduler.Candidate, _ running: [Scheduler.Candidate]) -> [SlotLimit] {
            Scheduler.blocking(task, running: running, limits: limits)
        }
        #expect(blocking(task(9, host: "d", owner: 3), running) == [.global])
        #expect(blocking(task(9, host: "d"), Array(running.prefix(3))) == [.owner])
        #expect(blocking(task(9, host: "d", session: "t"), [running[2]]) == [.session])
        #expect(blocking(task(9, owner: 3), Array(running.prefix(2))) == [.host])
        #expect(blocking(task(9, session: "t"), running) == [.session, .owner, .host, .global])
        #expect(blocking(task(9), []) == [])
    }

    /// Owners have any number of tasks at any hosts. Each owner with a task that could run gets a slot within one turn.
    @Test func everyOwnerGetsASlotWithinATurn() {
        var generator = SeededGenerator(state: 11)
        for world in 0..<60 {
            let owners = UInt32.random(in: 2...9, using: &generator)
            let limits = SlotLimits(
                global: Int.random(in: 1...6, using: &generator), perHost: Int.random(in: 1...3, using: &generator))
            var queue = (1...80).map { id in
                task(
                    id, host: "h\(Int.random(in: 0..<3, using: &generator))",
                    owner: id <= Int64(owners) ? UInt32(id) : 1, priority: Double.random(in: 0...1, using: &generator),
                    canResume: Bool.random(using: &generator))
            }
            var (running, turns, served) = ([Scheduler.Candidate](), SlotTurns(), Set<UserID>())
            // No run ends by itself.
            for second in 0..<(Int(owners) * 2 * 31) where served.count < Int(owners) {
                let decision = Scheduler.pick(
                    candidates: queue, running: running, limits: limits, turns: turns, at: reading(Double(second)))
                for id in decision.preempt {
                    queue += running.filter { $0.id == id }
                    running.removeAll { $0.id == id }
                }
                for id in decision.start {
                    guard let index = queue.firstIndex(where: { $0.id == id }) else { continue }
                    var task = queue.remove(at: index)
                    task.startedAt = reading(Double(second)).boot
                    turns.served(task.session)
                    served.insert(task.session.owner)
                    running.append(task)
                }
            }
            #expect(served.count == Int(owners), "world \(world)")
        }
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

import Testing
import TransferModel

@testable import TransferCore

@Suite struct SlotLimitsTests {
    private func task(_ id: Int) -> Scheduler.Candidate {
        let session = SessionKey(owner: UserID(UInt32(id / 8 % 2)), identifier: "s\(id / 4 % 2)")
        return Scheduler.Candidate(
            id: TaskID(Int64(id)), session: session, host: "h\(id / 2 % 2)", priority: 0.5, position: 0,
            canResume: true, startedAt: 0)
    }

    /// Lists of similar and different tasks, with limits that are reached, exceeded or not reached.
    @Test(arguments: 0..<200) func manyAreCountedAsOneByOne(seed: Int) {
        var state = UInt64(seed)
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let tasks = (0..<random(12)).map { _ in task(random(16)) }
        let keys = Array(Set(tasks.map(\.session)))
        var limits = SlotLimits(
            global: 4 + random(9), perHost: 2 + random(8), perOwner: random(2) == 0 ? nil : 2 + random(6))
        for key in keys where random(2) == 0 { limits.perSession[key] = 1 + random(5) }
        for key in keys where random(2) == 0 { limits.perHostOfSession[key] = 1 + random(4) }
        var (together, single) = (SlotUse(limits: limits), SlotUse(limits: limits))
        together.add(tasks)
        var isWithin = true
        for task in tasks {
            isWithin = isWithin && single.fits(task)
            single.add(task)
        }
        #expect(together.isWithinLimits == isWithin)
        #expect(together.all == single.all)
        for id in 0..<16 {
            let task = task(id)
            #expect(together.full(for: task) == single.full(for: task))
            #expect(together.of(task.owner, on: task.host) == single.of(task.owner, on: task.host))
        }
    }
}

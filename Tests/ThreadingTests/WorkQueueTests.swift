import Testing

@testable import Threading

@Suite struct WorkQueueTests {
    @Test func oneThreadKeepsTheOrder() {
        let done = ConditionLock<[Int]>([])
        let queue = WorkQueue<Int>(name: "test", threads: 1) { job in
            done.withLock { $0.append(job) }
            done.broadcast()
        }
        for job in 0..<5000 { queue.post(job) }
        #expect(done.wait { $0.count == 5000 ? $0 : nil } == Array(0..<5000))
        queue.close()
    }

    /// The second time the threads exist already and are idle.
    @Test(.timeLimit(.minutes(1))) func severalThreadsRunAtOnce() {
        let met = ConditionLock(0)
        let queue = WorkQueue<Int>(name: "test", threads: 3) { goal in
            met.withLock { $0 += 1 }
            met.broadcast()
            // Ends only if all three are here together.
            met.wait { $0 >= goal + 3 ? () : nil }
            met.withLock { $0 += 1 }
            met.broadcast()
        }
        for round in [0, 6, 12] {
            for _ in 0..<3 { queue.post(round) }
            met.wait { $0 == round + 6 ? () : nil }
        }
        #expect(met.withLock { $0 } == 18)
        queue.close()
    }

    @Test func whatWaitsWhenItIsClosedIsStillDone() {
        let done = ConditionLock(0)
        let queue = WorkQueue<Int>(name: "test", threads: 2) { _ in
            done.withLock { $0 += 1 }
            done.broadcast()
        }
        for job in 0..<100 { queue.post(job) }
        queue.close()
        #expect(done.wait { $0 == 100 ? $0 : nil } == 100)
    }
}

import Testing

@testable import Threading

@Suite struct KeyedQueueTests {
    /// Jobs that end when they are told to.
    private final class Gate: Sendable {
        private let state = ConditionLock((begun: 0, isOpen: false))

        func job() {
            state.withLock { $0.begun += 1 }
            state.broadcast()
            state.wait { $0.isOpen ? () : nil }
        }

        func wait(forBegun count: Int) { state.wait { $0.begun >= count ? () : nil } }
        var begun: Int { state.withLock { $0.begun } }

        func open() {
            state.withLock { $0.isOpen = true }
            state.broadcast()
        }
    }

    /// The jobs of more keys hang than a full pool has threads, and each key has more jobs than may run.
    @Test(.timeLimit(.minutes(1))) func aKeyThatHangsHoldsNoOther() {
        let queue = KeyedQueue(name: "test", width: 2, limit: 4)
        let gate = Gate()
        for key in UInt64(1)...6 {
            for _ in 0..<10 { queue.post(on: key) { gate.job() } }
        }
        let done = ConditionLock(0)
        for _ in 0..<100 {
            queue.post(on: 0) {
                done.withLock { $0 += 1 }
                done.broadcast()
            }
        }
        done.wait { $0 == 100 ? () : nil }
        // Two keys that started at full width, and one job of each other key.
        gate.wait(forBegun: 6)
        #expect(gate.begun <= 4 + 6)
        gate.open()
        gate.wait(forBegun: 60)
        queue.close()
    }

    @Test(.timeLimit(.minutes(1))) func aKeyAloneHasItsWidth() {
        let queue = KeyedQueue(name: "test", width: 3, limit: 24)
        let gate = Gate()
        for _ in 0..<9 { queue.post(on: 7) { gate.job() } }
        gate.wait(forBegun: 3)
        #expect(gate.begun == 3)
        gate.open()
        gate.wait(forBegun: 9)
        queue.close()
    }

    @Test(.timeLimit(.minutes(1))) func allIsDoneAlsoAfterItIsClosed() {
        let done = ConditionLock(0)
        let queue = KeyedQueue(name: "test", width: 2, limit: 4)
        for job in 0..<10_000 {
            queue.post(on: UInt64(job % 9)) {
                done.withLock { $0 += 1 }
                done.broadcast()
            }
        }
        queue.close()
        done.wait { $0 == 10_000 ? () : nil }
    }

    @Test func withoutThreadsWhoPostsDoesIt() {
        let queue = KeyedQueue(name: "test", width: 0, limit: 0)
        let done = Guarded([Int]())
        for job in 0..<3 { queue.post(on: UInt64(job)) { done.withLock { $0.append(job) } } }
        #expect(done.withLock { $0 } == [0, 1, 2])
    }
}

@Suite struct KeyedScheduleTests {
    private func keys(_ schedule: inout KeyedSchedule<String, Int>, _ count: Int) -> [String?] {
        (0..<count).map { _ in schedule.take()?.0 }
    }

    @Test func keysTakeTurnsUpToTheirWidth() {
        var schedule = KeyedSchedule<String, Int>(width: 2, limit: 16)
        for key in ["a", "a", "a", "b", "b"] { schedule.add(0, to: key) }
        #expect(keys(&schedule, 5) == ["a", "b", "a", "b", nil])
        schedule.end("b")
        #expect(schedule.take() == nil)
        schedule.end("a")
        #expect(schedule.take()?.0 == "a")
    }

    @Test func ifManyAreBusyEachKeyHasOne() {
        var schedule = KeyedSchedule<String, Int>(width: 3, limit: 4)
        for key in ["a", "a", "a", "b", "b", "c", "d", "e", "e"] { schedule.add(0, to: key) }
        #expect(Set(keys(&schedule, 9).compactMap { $0 }) == ["a", "b", "c", "d", "e"])
        #expect(keys(&schedule, 1) == [nil])
    }

    /// There are as many threads as jobs may start, whether the jobs exist already or not.
    @Test func noThreadIsStartedForAJobThatMayNotBegin() {
        var schedule = KeyedSchedule<String, Int>(width: 2, limit: 16)
        var started = 0
        for key in Array(repeating: "a", count: 10) + ["b"] {
            schedule.add(0, to: key)
            if schedule.startsThread() { started += 1 }
        }
        #expect(started == 3)
    }
}

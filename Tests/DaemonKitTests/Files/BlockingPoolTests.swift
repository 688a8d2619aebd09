import Glibc
import Testing
import Threading
import TransferModel

@testable import DaemonKit

struct BlockingPoolTests {
    @Test func resultsAndErrorsComeBack() async throws {
        let pool = BlockingPool(width: 2)
        #expect(await pool.run { 42 } == 42)
        await #expect(throws: TransferError.self) {
            try await pool.run { () throws(TransferError) -> Int in throw TransferError(.diskFull, "full") }
        }
    }

    @Test func aThousandJobsRunOnAFewThreads() async {
        let pool = BlockingPool(width: 3)
        let threads = Guarded(Set<pid_t>())
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    await pool.run {
                        threads.withLock { _ = $0.insert(pid_t(pthread_self() % UInt(pid_t.max))) }
                        return number
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(sum == 499_500)
        #expect(threads.withLock { $0.count } <= 3)
    }

    @Test func jobsThatWaitForEachOtherRunAtOnce() async {
        let pool = BlockingPool(width: 2)
        let met = ConditionLock(0)
        let meet: @Sendable () -> Int = {
            met.withLock { $0 += 1 }
            met.broadcast()
            return met.wait { $0 == 2 ? $0 : nil }
        }
        async let first = pool.run(meet)
        async let second = pool.run(meet)
        #expect(await first + second == 4)
    }

    @Test func cancellationReachesTheJob() async {
        let pool = BlockingPool(width: 1)
        let task = Task { await pool.runCancellable { isCancelled in while !isCancelled() { sched_yield() } } }
        task.cancel()
        await task.value
    }
}

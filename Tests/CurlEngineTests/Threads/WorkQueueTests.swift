import Glibc
import Testing

@testable import CurlEngine

@Suite struct WorkQueueTests {
    @Test func oneThreadKeepsTheOrder() async throws {
        let done = PthreadMutex<[Int]>([])
        let queue = WorkQueue<Int>(name: "test", threads: 1) { job in done.withLock { $0.append(job) } }
        for job in 0..<5000 { queue.post(job) }
        try await eventually("all jobs done") { done.withLock { $0.count == 5000 } }
        #expect(done.withLock { $0 } == Array(0..<5000))
        queue.close()
    }

    @Test func severalThreadsRunAtOnce() async throws {
        let waiting = PthreadMutex(0)
        let queue = WorkQueue<Int>(name: "test", threads: 3) { _ in
            waiting.withLock { $0 += 1 }
            // Ends only if all three are here together.
            while waiting.withLock({ $0 }) < 3 { usleep(500) }
        }
        for job in 0..<3 { queue.post(job) }
        try await eventually("three jobs met") { waiting.withLock { $0 } == 3 }
        queue.close()
    }
}

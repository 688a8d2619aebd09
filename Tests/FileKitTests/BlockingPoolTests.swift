import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

@testable import FileKit

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

    /// Other folders can be opened, however many calls wait for the file system, directly or through a link.
    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(1)))
    func aFileSystemThatHangsHoldsOnlyWhatOpensIt() async throws {
        let (folder, hung) = (try TemporaryFolder(), try HungDisk())
        #expect(symlink(hung.path, folder.file("link")) == 0)
        let pool = BlockingPool(width: 2)
        let opened: @Sendable (String) async -> Bool = { path in
            await pool.run(at: path) {
                let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
                if descriptor >= 0 { close(descriptor) }
                return descriptor >= 0
            }
        }
        let waiting = ["f", "g", "h"].flatMap { name in
            [hung.path, folder.file("link")].map { path in Task { await opened("\(path)/\(name)") } }
        }
        for _ in 0..<100 { #expect(await opened(folder.path)) }
        // The file system ends with an error here, and the calls end with it.
        withExtendedLifetime(hung) {}
        _ = waiting
    }

    @Test(.timeLimit(.minutes(1))) func whoDoesNotAnswerInTimeIsToldAndLeft() async {
        let pool = BlockingPool(width: 1)
        let gate = ConditionLock(false)
        let wasStopped = ConditionLock<Bool?>(nil)
        let answers = await pool.answers(of: [1, 2, 3], within: .milliseconds(50)) { number, isStopped in
            await pool.run(on: UInt64(number)) {
                if number == 2 {
                    gate.wait { $0 ? () : nil }
                    wasStopped.withLock { $0 = isStopped() }
                    wasStopped.broadcast()
                }
                return number
            }
        }
        // The others may be slow on a busy machine, but the second one cannot have answered.
        #expect(answers.count == 3 && answers[1] == nil)
        gate.withLock { $0 = true }
        gate.broadcast()
        #expect(wasStopped.wait { $0 })
    }

    @Test func inPlaceEveryGroupAnswers() async {
        let answers = await BlockingPool(width: 0).answers(of: [1, 2], within: .zero) { number, _ in number }
        #expect(answers == [1, 2])
    }
}

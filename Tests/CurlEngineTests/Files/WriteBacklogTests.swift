import Testing

@testable import CurlEngine

@Suite struct WriteBacklogTests {
    private typealias Backlog = WriteBacklog<Int>

    /// However many transfers have bytes to read, the memory they use for one writer is limited, and each of them gets
    /// its turn.
    @Test(arguments: [20 << 10, BufferPool.smallSize, BufferPool.largeSize])
    func manyHoldNoMoreThanFew(_ size: Int) {
        var backlog = Backlog()
        var (most, written, read) = (0, 0, [Int]())
        func take(_ transfers: [Int]) {
            for transfer in transfers where backlog.admits(transfer) {
                backlog.bytes += size
                read.append(transfer)
                most = max(most, backlog.bytes)
            }
        }
        take(Array(0..<5000))
        while written < read.count {
            written += 1
            take(backlog.wrote(size))
        }
        #expect(most <= Backlog.bound + size)
        #expect(read.count == 5000 && backlog.bytes == 0 && backlog.waiters.isEmpty)
        // First come, first served, except for transfers that come too late for their turn.
        #expect(size > BufferPool.smallSize || read == Array(0..<5000))
    }

    @Test func nobodyIsWokenOnlyToWaitAgain() {
        var backlog = Backlog()
        backlog.bytes = Backlog.bound
        let isAdmitted = backlog.admits(1)
        backlog.bytes += 1
        let others = (2..<100).filter { backlog.admits($0) }
        #expect(isAdmitted && others.isEmpty)
        let early = backlog.wrote(Backlog.bound / 2)
        let turn = backlog.wrote(1)
        #expect(early.isEmpty && turn == Array(2..<2 + Backlog.turn))
        #expect(backlog.waiters.first == 2 + Backlog.turn)
    }

    /// The transfers at the front may have ended, and no write follows the last one.
    @Test func theLastWriteWakesAll() {
        var backlog = Backlog()
        backlog.bytes = Backlog.bound + 1
        let others = (0..<100).filter { backlog.admits($0) }
        let woken = backlog.wrote(Backlog.bound + 1)
        #expect(others.isEmpty && woken == Array(0..<100) && backlog.waiters.isEmpty)
    }
}

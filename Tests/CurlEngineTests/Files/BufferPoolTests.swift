import Testing
import Threading

@testable import CurlEngine

@Suite struct BufferPoolTests {
    @Test func lendsNoMoreThanItsBound() throws {
        let pool = BufferPool(bound: BufferPool.largeSize + BufferPool.smallSize)
        let large = try #require(pool.acquire(.large))
        let small = try #require(pool.acquire(.large))
        #expect(large.capacity == BufferPool.largeSize)
        #expect(small.capacity == BufferPool.smallSize)
        #expect(pool.acquire(.small) == nil)
        let calls = Guarded(0)
        pool.onFreed { calls.withLock { $0 += 1 } }
        pool.release(small)
        #expect(calls.withLock { $0 } == 1)
        pool.release(large)
        #expect(calls.withLock { $0 } == 1)
        #expect(pool.lentBytes == 0)
    }

    @Test func aSizeHoldsWhatItIsAskedFor() {
        for size in BufferPool.Size.allCases {
            #expect(BufferPool.Size(holding: size.bytes) == size)
            #expect(BufferPool.Size(holding: size.bytes + 1) == size.larger)
        }
        #expect(BufferPool.Size(holding: 0) == .scrap)
    }

    @Test func handsOutEmptyBuffersAgain() throws {
        let pool = BufferPool(bound: 1 << 20)
        let first = try #require(pool.acquire(.small))
        first.append([1, 2, 3], 3)
        pool.release(first)
        let second = try #require(pool.acquire(.small))
        #expect(first === second)
        #expect(second.count == 0)
    }
}

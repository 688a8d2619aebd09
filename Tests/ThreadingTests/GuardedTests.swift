import Testing

@testable import Threading

@Suite struct GuardedTests {
    @Test func concurrentChangesAreAllKept() async {
        let counter = Guarded(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<1000 { counter.withLock { $0 += 1 } } } }
        }
        #expect(counter.withLock { $0 } == 8000)
    }

    @Test func anErrorReleasesTheLock() {
        struct Stop: Error {}
        let value = Guarded(1)
        #expect(throws: Stop.self) { try value.withLock { _ in throw Stop() } }
        #expect(value.withLock { $0 } == 1)
    }
}

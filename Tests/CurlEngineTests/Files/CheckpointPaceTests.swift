import Testing

@testable import CurlEngine

/// Tests every rule at its limit, and all rules together against a model that keeps the whole history.
@Suite struct CheckpointPaceTests {
    private static let start: Int64 = 5_000_000_000
    private static let interval = CheckpointPace.interval

    private func pace(announced: Bool = false) -> CheckpointPace {
        var pace = CheckpointPace(at: Self.start)
        if announced {
            let due = pace.step(unsynced: CheckpointPace.announceBytes, at: Self.start, isCrowded: false)
            #expect(due == .announcement)
        }
        return pace
    }

    private func due(_ pace: CheckpointPace, _ unsynced: Int64, after: Int64, isCrowded: Bool = false)
        -> CheckpointPace.Due
    {
        var pace = pace
        return pace.step(unsynced: unsynced, at: Self.start + after, isCrowded: isCrowded)
    }

    private func joins(_ pace: inout CheckpointPace, _ unsynced: Int64, _ now: Int64, _ expected: Bool) {
        let joined = pace.join(unsynced: unsynced, at: now)
        #expect(joined == expected)
    }

    @Test func theStoreIsToldOnceOfAFileThatIsLongOrSlow() {
        let bytes = CheckpointPace.announceBytes
        let delay = CheckpointPace.announceDelay
        #expect(due(pace(), bytes - 1, after: delay - 1) == .nothing)
        #expect(due(pace(), bytes, after: 0) == .announcement)
        #expect(due(pace(), 1, after: delay) == .announcement)
        #expect(due(pace(), 0, after: delay) == .nothing)
        #expect(due(pace(announced: true), bytes, after: delay) == .nothing)
    }

    @Test func aSyncIsDueByTimeOrByBytes() {
        let bytes = CheckpointPace.bytes
        let pace = pace(announced: true)
        #expect(due(pace, bytes - 1, after: Self.interval - 1) == .nothing)
        #expect(due(pace, 1, after: Self.interval) == .sync)
        #expect(due(pace, 0, after: Self.interval) == .nothing)
        #expect(due(pace, bytes, after: 0) == .sync)
    }

    @Test func inACrowdTheRoundsSeeToTheTime() {
        let pace = pace(announced: true)
        #expect(due(pace, CheckpointPace.bytes - 1, after: 10 * Self.interval, isCrowded: true) == .nothing)
        #expect(due(pace, CheckpointPace.bytes, after: 0, isCrowded: true) == .sync)
    }

    @Test func oneSyncAtATime() {
        var pace = pace(announced: true)
        joins(&pace, 0, Self.start, false)
        joins(&pace, 1, Self.start, true)
        #expect(pace.isSyncing)
        joins(&pace, 1, Self.start, false)
        #expect(due(pace, .max, after: 10 * Self.interval) == .nothing)
        pace.failed()
        #expect(!pace.isSyncing)
        joins(&pace, 1, Self.start, true)
    }

    @Test func theIntervalIsCountedFromTheBeginningOfTheLastSync() {
        var pace = pace(announced: true)
        joins(&pace, 1, Self.start + 7, true)
        pace.synced(began: Self.start + 7, unsynced: 1)
        #expect(due(pace, 1, after: Self.interval + 6) == .nothing)
        #expect(due(pace, 1, after: Self.interval + 7) == .sync)
    }

    /// A sync tells more than an announcement would.
    @Test func nothingIsAnnouncedAfterASync() {
        var pace = pace()
        joins(&pace, 1, Self.start, true)
        pace.synced(began: Self.start, unsynced: 1)
        #expect(due(pace, CheckpointPace.announceBytes, after: CheckpointPace.announceDelay) == .nothing)
    }

    @Test func readingStopsIfTooMuchOrForTooLongIsNotDurable() {
        var pace = pace()
        let late = CheckpointPace.patience
        #expect(!pace.isLate(unsynced: CheckpointPace.unsyncedBytes, at: Self.start))
        #expect(pace.isLate(unsynced: CheckpointPace.unsyncedBytes + 1, at: Self.start))
        pace.wrote(at: Self.start)
        pace.wrote(at: Self.start + late)
        #expect(!pace.isLate(unsynced: 1, at: Self.start + late))
        #expect(pace.isLate(unsynced: 1, at: Self.start + late + 1))
        pace.synced(began: Self.start + 9, unsynced: 1)
        #expect(!pace.isLate(unsynced: 1, at: Self.start + late + 9))
        #expect(pace.isLate(unsynced: 1, at: Self.start + late + 10))
        pace.synced(began: Self.start + 9, unsynced: 0)
        #expect(!pace.isLate(unsynced: 0, at: .max))
        // The bytes that were written belong to another version now, so there is nothing to sync, and nobody would wake
        // the reader.
        pace.wrote(at: Self.start)
        #expect(!pace.isLate(unsynced: 0, at: Self.start + late + 1))
    }

    /// In whatever order the calls come, a file that is written steadily is never without a sync for longer than the
    /// interval and one step of the writer, and two syncs never run at the same time.
    @Test(arguments: 0..<64 as Range<UInt64>)
    func aSteadyWriterIsNeverForgotten(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ bound: Int64) -> Int64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int64(random % UInt64(bound))
        }
        var pace = CheckpointPace(at: 0)
        var now: Int64 = 0
        var unsynced: Int64 = 0
        var sync: (began: Int64, bytes: Int64)?
        var lastBegan: Int64 = 0
        for _ in 0..<500 {
            now += next(200_000_000)
            unsynced += 1 + next(4 << 20)
            pace.wrote(at: now)
            if case .sync = pace.step(unsynced: unsynced, at: now, isCrowded: false) {
                #expect(sync == nil)
                sync = (now, unsynced)
                lastBegan = now
            }
            if let running = sync, next(3) == 0 {
                unsynced -= running.bytes
                pace.synced(began: running.began, unsynced: unsynced)
                sync = nil
            }
            // One announcement may come first. It counts as a start.
            if sync == nil { #expect(now - lastBegan <= 2 * Self.interval + 1_000_000_000) }
        }
    }
}

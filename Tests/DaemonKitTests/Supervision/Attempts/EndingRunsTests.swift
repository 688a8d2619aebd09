import Testing
import TransferModel

@testable import DaemonKit
@testable import TransferStore

struct EndingRunsTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    private func ending(_ id: Int64, due: Timestamp? = nil) -> UploadEnding {
        UploadEnding(
            id: id, task: TaskID(id), session: .shared(of: UserID(1)), spec: TaskSpec(),
            progress: UploadProgress(uploadProtocol: .tus, source: nil, createdAt: now), failures: 0, recordedAt: now,
            nextAttemptAt: due ?? now)
    }

    private func turn(_ runs: inout EndingRuns, _ pending: [UploadEnding]) -> EndingRuns.Turn {
        runs.willRead()
        return runs.didRead(pending, at: now)
    }

    @Test func eachIsBegunOnceWhileItRuns() {
        var runs = EndingRuns(width: 3)
        #expect(turn(&runs, [ending(1), ending(2)]).begun.map(\.id) == [1, 2])
        #expect(turn(&runs, [ending(1), ending(2), ending(3)]).begun.map(\.id) == [3])
        runs.didEnd(1)
        #expect(turn(&runs, [ending(1), ending(2)]).begun.map(\.id) == [1])
    }

    @Test func noMoreRunThanThereIsRoomFor() {
        var runs = EndingRuns(width: 2)
        let first = turn(&runs, [ending(1), ending(2), ending(3)])
        #expect(first.begun.map(\.id) == [1, 2])
        #expect(first.next == nil)
        runs.didEnd(2)
        #expect(turn(&runs, [ending(1), ending(3)]).begun.map(\.id) == [3])
    }

    @Test func whatIsNotDueIsTold() {
        var runs = EndingRuns(width: 2)
        let later = now.advanced(by: 5)
        let turn = turn(&runs, [ending(1), ending(2, due: later), ending(3, due: later.advanced(by: 1))])
        #expect(turn.begun.map(\.id) == [1])
        #expect(turn.next == later)
    }

    @Test func whatEndedWhileSomebodyReadIsNotBegunAgain() {
        var runs = EndingRuns(width: 2)
        _ = turn(&runs, [ending(1)])
        runs.willRead()
        runs.willRead()
        runs.didEnd(1)
        #expect(runs.didRead([ending(1), ending(2)], at: now).begun.map(\.id) == [2])
        // The other read had also begun before.
        #expect(runs.didRead([ending(1)], at: now).begun.isEmpty)
        // A read that begins now has the new state.
        #expect(turn(&runs, [ending(1)]).begun.map(\.id) == [1])
    }

    @Test func aReadThatFailedHoldsNothingBack() {
        var runs = EndingRuns(width: 2)
        _ = turn(&runs, [ending(1)])
        runs.willRead()
        runs.didEnd(1)
        #expect(runs.didRead([], at: now).begun.isEmpty)
        #expect(turn(&runs, [ending(1)]).begun.map(\.id) == [1])
    }
}

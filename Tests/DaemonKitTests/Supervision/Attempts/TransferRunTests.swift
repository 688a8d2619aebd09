import Testing
import Threading
import TransferCore
import TransferModel

@testable import DaemonKit

@Suite struct TransferRunTests {
    private func run() -> TransferRun {
        let status = TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0))
        let record = TaskRecord(
            id: TaskID(1), session: .shared(of: UserID(0)), spec: TaskSpec(), status: status, host: "h", position: 0)
        return TransferRun(record, directHost: "h") { _ in }
    }

    @Test func anAbortBeforeDeliveryKeepsItFromBeginning() {
        let run = run()
        run.requestAbort()
        #expect(!run.enterCommit())
    }

    @Test func aRunThatDeliversIsLeftToFinish() {
        let run = run()
        #expect(run.enterCommit())
        run.requestAbort()
        #expect(!run.isAborting)
    }

    /// Only what was sent there and accepted is proven, on any hop. A proxy's credential is proven by any good answer.
    @Test func anAnswerProvesWhatWasSentForIt() {
        let run = run()
        let spaces =
            ["https://a:443", "https://b:443"].map { SettledDecisions.Space(origin: $0, isProxy: false) }
            + [SettledDecisions.Space(origin: "http://p:3128", isProxy: true)]
        #expect(run.proven(of: spaces).isEmpty)
        run.noteAnswer(ResponseHead(url: "https://a/f", status: 404))
        #expect(run.proven(of: spaces).isEmpty)
        var head = ResponseHead(url: "https://c/f", status: 200)
        head.letPass = ["https://b:443"]
        run.noteAnswer(head)
        #expect(run.proven(of: spaces).map(\.origin) == ["https://b:443", "http://p:3128"])
    }

    @Test func whoeverStoresTheChangeWinsOverAPreemption() {
        let run = run()
        run.requestAbort(.transition(.preempted()))
        run.requestAbort(.leftToCaller)
        run.requestAbort(.transition(.preempted()))
        #expect(isLeftToCaller(run.takeAbortPlan()))
    }

    private func isLeftToCaller(_ plan: RunLife.StopPlan?) -> Bool {
        if case .leftToCaller? = plan { true } else { false }
    }

    /// A client was told that the task cannot stop. When it does stop, nobody else stores what becomes of it.
    @Test func aRunThatStopsTooLateIsQueuedAgain() {
        let run = run()
        run.requestAbort(.leftToCaller)
        #expect(run.abandonStop())
        guard case .transition(.preempted)? = run.takeAbortPlan() else {
            Issue.record("its task would stay running")
            return
        }
    }

    @Test func aRunThatStoppedInTimeStaysTheCallers() {
        let run = run()
        run.requestAbort(.leftToCaller)
        #expect(isLeftToCaller(run.takeAbortPlan()))
        #expect(!run.abandonStop())
    }

    @Test func anAbortCancelsWorkThatStartsLater() async {
        let run = run()
        run.requestAbort()
        await confirmation { cancelled in
            await withCheckedContinuation { continuation in
                run.start {
                    while !Task.isCancelled { await Task.yield() }
                    cancelled()
                    continuation.resume()
                }
            }
        }
    }

    private final class Wait: Awaited {
        private struct State {
            var body: (@Sendable () -> Void)?
            var isOver = false
        }

        private let state = Guarded(State())

        func whenOver(_ body: @escaping @Sendable () -> Void) {
            let isOver = state.withLock { state in
                state.body = body
                return state.isOver
            }
            if isOver { body() }
        }

        func cancel() { end() }

        func end() {
            state.withLock { state in
                state.isOver = true
                return state.body
            }?()
        }
    }

    @Test func itGoesOnWhenWhatItWaitsForIsOver() async {
        let (run, wait) = (run(), Wait())
        await withCheckedContinuation { continuation in
            run.wait(for: wait) { continuation.resume() }
            wait.end()
        }
        #expect(!run.isAborting)
    }

    @Test(arguments: [false, true]) func anAbortEndsWhatItWaitsForAndCancelsTheRest(isEarly: Bool) async {
        let (run, wait) = (run(), Wait())
        if isEarly { run.requestAbort() }
        await withCheckedContinuation { continuation in
            run.wait(for: wait) {
                run.start {
                    while !Task.isCancelled { await Task.yield() }
                    continuation.resume()
                }
            }
            if !isEarly { run.requestAbort() }
        }
        #expect(run.isAborting)
    }

    @Test func anAbortReachesTheTaskThatFollowsAnother() async {
        for _ in 0..<500 {
            let run = run()
            await withCheckedContinuation { continuation in
                run.start {
                    run.start {
                        run.requestAbort()
                        while !Task.isCancelled { await Task.yield() }
                        continuation.resume()
                    }
                }
            }
        }
    }

    @Test func waitingEndsWithTheRunOrWithTheLimit() async {
        let run = run()
        #expect(await run.waitForEnd(atMost: .milliseconds(1)) == false)
        async let ended = run.waitForEnd(atMost: .seconds(60))
        run.ended()
        #expect(await ended)
        #expect(await run.waitForEnd(atMost: .zero))
    }

    @Test func aStopCostsOnlyWhoCannotResumeAndHasBytes() {
        let run = run()
        #expect(run.canResume, "nothing is done yet")
        run.accepted(at: 0, canResume: false)
        #expect(!run.losesByStop)
        run.counters.setReceived(10)
        #expect(run.losesByStop)
        run.accepted(at: 10, canResume: true)
        run.counters.setReceived(20)
        #expect(!run.losesByStop)
        run.sends(canResume: false)
        #expect(run.losesByStop)
        #expect(run.enterCommit())
        #expect(!run.losesByStop, "nothing stops it any more")
    }

    @Test func countsBytesAcrossRestarts() {
        let run = run()
        run.accepted(at: 100, canResume: true)
        run.counters.setReceived(250)
        #expect(run.bytesTransferred == 150)
        run.restarted()
        #expect(run.bytesTransferred == 150)
        run.accepted(at: 0, canResume: true)
        run.counters.setReceived(40)
        #expect(run.bytesTransferred == 190)
    }
}

@Suite struct RateMeterTests {
    @Test func averagesOverItsWindow() {
        var meter = RunFigures()
        for tick in 0...10 { meter.sample(bytes: Int64(tick) * 500, at: Int64(tick) * 500) }
        #expect(meter.rate == 1000)
    }

    @Test func fallsToZeroWhenNothingArrives() {
        var meter = RunFigures()
        meter.sample(bytes: 0, at: 0)
        meter.sample(bytes: 9000, at: 1000)
        #expect(meter.rate == 9000)
        for time in stride(from: Int64(1500), through: 6000, by: 500) { meter.sample(bytes: 9000, at: time) }
        #expect(meter.rate == 0)
    }

    @Test func beginsAnewWhereBytesGoBack() {
        var meter = RunFigures()
        meter.sample(bytes: 5000, at: 0)
        meter.sample(bytes: 6000, at: 1000)
        meter.sample(bytes: 0, at: 2000)
        meter.sample(bytes: 100, at: 3000)
        #expect(meter.rate == 100)
    }
}

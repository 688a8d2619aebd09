import Testing
import TransferModel
import TransferRPC

@testable import dlctl

struct WaitingRemarksTests {
    private let lines = Recorder<String>()

    /// - Parameter view: the daemon's answer about a queued task.
    private func remarks(_ view: TaskView? = nil) -> WaitingRemarks {
        WaitingRemarks(look: { $1(view) }, say: { [lines] in lines.add($0) })
    }

    private func later(_ seconds: Double) -> Timestamp { Sample.now.advanced(by: Seconds(rawValue: seconds)) }

    private func state(_ change: (inout FollowedTask) -> Void) -> (FollowState, [FollowState.Change]) {
        var task = Sample.task(1, "x", .queued)
        change(&task)
        var state = FollowState()
        let changes = state.take(task)
        return (state, changes)
    }

    @Test func aHeldAnswerIsNamed() {
        var display = remarks()
        let (deciding, changes) = state {
            $0.state = .running
            $0.phase = .deciding
        }
        display.show(changes, deciding, now: Sample.now)
        #expect(
            lines.all == ["it waits for an answer; 'dlctl decisions' shows what it asks. Ctrl-C cancels the request."])
    }

    @Test func eachFailedAttemptIsALineAndTheFirstSaysHowToStop() {
        var display = remarks()
        let (waiting, changes) = state {
            $0.state = .waiting
            $0.reason = .retry
            $0.nextAttemptAt = later(7)
            $0.error = TransferError(.networkConnect, "Nobody\u{1B}[2J answers.")
        }
        display.show(changes, waiting, now: Sample.now)
        display.show(changes, waiting, now: later(6.5))
        #expect(
            lines.all == [
                "network.connect: Nobody\u{FFFD}[2J answers. Next attempt in 7s. Ctrl-C cancels the request.",
                "network.connect: Nobody\u{FFFD}[2J answers. It is tried again now.",
            ])
    }

    @Test(arguments: [
        (
            TaskState.queued,
            "queued: its turn has not come. Why: dlctl explain 1. Ctrl-C cancels the request."
        ),
        (.running, "waiting for the answer. Ctrl-C cancels the request."),
    ])
    func silenceIsExplainedOnce(current: TaskState, line: String) {
        var display = remarks()
        let (quiet, changes) = state {
            $0.state = current
            $0.phase = current == .running ? .transferring : nil
        }
        display.show(changes, quiet, now: Sample.now)
        display.tick(quiet, now: later(4.9))
        #expect(lines.all.isEmpty)
        for second in [5.0, 6, 60] { display.tick(quiet, now: later(second)) }
        #expect(lines.all == [line])
    }

    /// `explain` gives the same reason.
    @Test func aQueuedTaskIsExplainedByTheDaemon() {
        let queueing = Queueing(
            reason: .host,
            explanation: "https://a:443 asked for fewer requests (Retry-After). dlctl retry 1 tries now.")
        for view in [Sample.view(1, .queued).with(queueing), Sample.view(1, .running)] {
            var display = remarks(view)
            let (quiet, changes) = state { _ in }
            display.show(changes, quiet, now: Sample.now)
            display.tick(quiet, now: later(5))
        }
        #expect(
            lines.all == [
                "queued: https://a:443 asked for fewer requests (Retry-After). dlctl retry 1 tries now. "
                    + "Ctrl-C cancels the request."
            ])
    }

    @Test func whatIsOverNeedsNoWords() {
        var display = remarks()
        let (done, changes) = state { $0.state = .completed }
        display.show(changes, done, now: Sample.now)
        display.tick(done, now: later(60))
        #expect(lines.all.isEmpty)
    }
}

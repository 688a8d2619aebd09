import Testing
import TransferModel

@testable import dlctl

@Suite struct ChangeLineTests {
    @Test func endings() {
        var done = Sample.task(1, "f.iso", .completed, received: 10 << 20)
        done.duration = 4
        #expect(ChangeLine.ending(done, width: nil).plain == "✓ f.iso  10.0 MiB in 4.0s (2.5 MiB/s)")
        var failed = Sample.task(2, "g.iso", .failed)
        failed.error = TransferError(.httpStatus, "404\u{1B}")
        #expect(ChangeLine.ending(failed, width: nil).plain == "✗ g.iso  failed (http.status): 404\u{FFFD}")
        #expect(ChangeLine.ending(failed, width: 12).width <= 12)
    }

    /// Earlier attempts and waiting times do not count.
    @Test func timeAndRateAreOfTheLastAttempt() {
        var done = Sample.task(1, "f", .completed, received: 10 << 20)
        done.duration = 4
        done.resumedFrom = ByteCount(8 << 20)
        #expect(ChangeLine.ending(done, width: nil).plain == "✓ f  10.0 MiB, the last 2.0 MiB in 4.0s (512 KiB/s)")
    }

    @Test func statusNumbersAreShown() {
        var failed = Sample.task(2, "g", .failed)
        failed.error = TransferError(.httpStatus, "Gone.", details: ["status": 410])
        #expect(ChangeLine.log(.state(failed), now: Sample.now) == "2 g: failed (http.status 410): Gone.")
        var waiting = Sample.task(2, "g", .waiting)
        waiting.reason = .retry
        waiting.error = TransferError(.httpStatus, "Busy.", details: ["status": 503])
        #expect(
            ChangeLine.log(.state(waiting), now: Sample.now) == "2 g: waiting for the next attempt: http.status 503")
        var done = Sample.task(1, "f", .completed, received: 10)
        done.status = 200
        #expect(ChangeLine.ending(done, width: nil).plain == "✓ f  10 B")
        done.status = 201
        #expect(ChangeLine.ending(done, width: nil).plain == "✓ f  10 B, status 201")
    }

    @Test func logLines() {
        let task = Sample.task(1, "f", .paused, received: 5, expected: 10)
        #expect(ChangeLine.log(.state(task), now: Sample.now) == "1 f: paused; to resume it: dlctl resume 1")
        var queued = Sample.task(1, "f", .queued)
        #expect(ChangeLine.log(.state(queued), now: Sample.now) == "1 f: queued")
        queued.explanation = "A limit was lowered."
        #expect(ChangeLine.log(.state(queued), now: Sample.now) == "1 f: queued: A limit was lowered.")
        #expect(ChangeLine.log(.resumed(task, offset: 5), now: Sample.now) == "1 f: resumed at 5 B of 10 B")
        #expect(ChangeLine.log(.resumed(task, offset: 0), now: Sample.now) == nil)
        #expect(ChangeLine.log(.restarted(task, code: "c"), now: Sample.now) == "1 f: restarted from 0 (c)")
        #expect(
            ChangeLine.log(.repaired(task, pieces: [3]), now: Sample.now) == "1 f: a wrong piece is fetched again")
        #expect(ChangeLine.log(.linkLost, now: Sample.now) == "waiting for the daemon")
    }
}

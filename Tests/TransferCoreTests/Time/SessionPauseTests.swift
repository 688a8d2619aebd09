import Testing
import TransferCore
import TransferModel

struct SessionPauseTests {
    private func at(_ boot: Int64) -> ClockReading { ClockReading(wall: Timestamp(milliseconds: 5), boot: boot) }

    /// The clock of the tasks stands still while the session is paused, and never jumps.
    @Test func timeStandsWhileItIsPaused() {
        var pause = SessionPause()
        #expect(pause.reading(at(100)) == at(100))
        let begins = [100, 200].map { pause.begin(at: at($0)) }
        #expect(begins == [true, false])
        #expect(pause.reading(at(100)) == at(100))
        #expect(pause.reading(at(900)) == at(100))
        let ends = [900, 950].map { pause.end(at: at($0)) }
        #expect(ends == [true, false])
        #expect(pause.reading(at(900)) == at(100))
        #expect(pause.reading(at(1000)) == at(200))
        _ = (pause.begin(at: at(1000)), pause.end(at: at(1500)))
        #expect(pause.reading(at(1600)) == at(300))
    }

    /// No task fails early: time that the new clock does not prove does not count.
    @Test func aPauseGoesOnAfterAReboot() {
        var pause = SessionPause(since: 5000, time: 1000)
        let recalled = [6000, 10].map { pause.recalled(at: at($0), isSameBoot: true) }
        #expect(recalled == [false, true])
        #expect(pause.reading(at(10)) == pause.reading(at(4000)))
        _ = pause.end(at: at(4000))
        #expect(pause.reading(at(4100)).boot - pause.reading(at(4000)).boot == 100)
    }

    /// Otherwise no time would count until the new clock has passed the earlier pauses.
    @Test func earlierPausesEndWithTheBoot() {
        var pauses = [SessionPause(time: 1000), SessionPause(time: 1000), SessionPause(since: 50, time: 1000)]
        let changes = [
            pauses[0].recalled(at: at(2000), isSameBoot: true), pauses[1].recalled(at: at(2000), isSameBoot: false),
            pauses[2].recalled(at: at(60), isSameBoot: true),
        ]
        #expect(changes == [false, true, true])
        #expect(pauses == [SessionPause(time: 1000), SessionPause(), SessionPause(since: 60)])
    }
}

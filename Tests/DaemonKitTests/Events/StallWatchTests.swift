import Testing

@testable import DaemonKit

struct StallWatchTests {
    @Test func findsThoseWhoseQueueDoesNotShrink() {
        var watch = StallWatch(limit: .seconds(10))
        let start = ContinuousClock.now
        let stuck = FakeSink(id: 1)
        let idle = FakeSink(id: 2)
        stuck.stick()
        stuck.send([1, 2, 3])
        #expect(watch.stalled([stuck, idle], at: start).isEmpty)
        stuck.send([4])
        #expect(watch.stalled([stuck, idle, stuck], at: start + .seconds(9)).isEmpty)
        #expect(watch.stalled([stuck, idle], at: start + .seconds(11)).map(\.id) == [1])
    }

    @Test func startsAnewWhenBytesLeave() {
        var watch = StallWatch(limit: .seconds(10))
        let start = ContinuousClock.now
        let sink = FakeSink(id: 1)
        sink.stick()
        sink.send([1, 2, 3])
        #expect(watch.stalled([sink], at: start).isEmpty)
        let smaller = FakeSink(id: 1)
        smaller.stick()
        smaller.send([1])
        #expect(watch.stalled([smaller], at: start + .seconds(11)).isEmpty)
        #expect(watch.stalled([], at: start + .seconds(12)).isEmpty)
        #expect(watch.stalled([smaller], at: start + .seconds(30)).isEmpty)
    }
}

import Testing

@testable import DaemonKit

@Suite struct SupervisionSignalTests {
    @Test func everyListenerHearsWhatItListensTo() {
        let signal = SupervisionSignal()
        let (slots, times) = (signal.listen(to: [.slots, .queue]), signal.listen(to: .times))
        signal.slotsFreed()
        #expect(slots.take() == .slots)
        #expect(times.take() == [])
        signal.changed()
        #expect(slots.take() == .queue)
        #expect(times.take() == .times)
    }

    @Test func ringsThatComeBeforeTheWaitAreNotLost() async {
        let signal = SupervisionSignal()
        let news = signal.listen(to: [.slots, .queue])
        signal.slotsFreed()
        signal.queueChanged()
        #expect(await news.next() == [.slots, .queue])
        #expect(news.take() == [])
    }

    @Test func aRingEndsAWait() async {
        let signal = SupervisionSignal()
        let news = signal.listen(to: .times)
        async let heard = news.next()
        signal.timesChanged()
        #expect(await heard == .times)
    }

    @Test func aWaitEndsWithoutNews() async {
        let news = SupervisionSignal().listen(to: .times)
        await news.wait(atMost: .milliseconds(1))
        #expect(news.take() == [])
    }

    @Test func afterTheStopNobodyWaits() async {
        let signal = SupervisionSignal()
        let news = signal.listen(to: .times)
        signal.timesChanged()
        signal.stop()
        #expect(await news.next() == nil)
        await news.wait(atMost: .seconds(3600))
        #expect(await signal.listen(to: .times).next() == nil)
    }
}

import Testing
import TransferModel

@Suite struct QuantitiesTests {
    @Test func byteCountsStopAtTheEndsOfTheirRange() {
        let most = ByteCount(.max)
        let least = ByteCount(.min)
        #expect(most + 1 == most)
        #expect(least - 1 == least)
        #expect(least + least == least)
        #expect(most - least == most)
        #expect(least - most == least)
        #expect(ByteCount(5) - ByteCount(7) == ByteCount(-2))
        #expect(ByteCount(5) + ByteCount(-7) == ByteCount(-2))
    }

    @Test(arguments: [1e300, -1e300, .infinity, -.infinity, .nan, 9.3e15, 1e19])
    func anyNumberOfSecondsIsADuration(value: Double) {
        let seconds = Seconds(value)
        #expect(abs(seconds.milliseconds) <= Int64(1e15))
        #expect(seconds.duration.components.seconds <= Int64(1e12))
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(value.isNaN || (now.advanced(by: seconds) > now) == (value > 0))
    }

    @Test func ordinarySecondsAreExact() {
        #expect(Seconds(1.5).milliseconds == 1500)
        #expect(Seconds(0.0004).milliseconds == 0)
        #expect(Seconds(604_800).duration == .seconds(604_800))
        #expect(Seconds(Duration.milliseconds(2500)) == 2.5)
    }

    @Test func timesStopAtTheEndsOfTheirRange() {
        let last = Timestamp(milliseconds: .max)
        let first = Timestamp(milliseconds: .min)
        #expect(last.advanced(by: 10) == last)
        #expect(first.advanced(by: -10) == first)
        #expect(last.since(first).rawValue > 0)
    }
}

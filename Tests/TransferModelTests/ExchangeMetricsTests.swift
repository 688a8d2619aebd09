import Testing
import TransferModel

@Suite struct ExchangeMetricsTests {
    private func entries(_ numbers: Range<Int64>) -> [ExchangeMetrics] {
        numbers.map { ExchangeMetrics(fetchStart: $0) }
    }

    @Test func theNewestAreKeptAndTheOthersCounted() {
        var metrics = TaskMetrics()
        for entry in entries(0..<130) { metrics.add(entry) }
        #expect(metrics.entries == entries(30..<130))
        #expect(metrics.dropped == 30)
    }

    @Test func runsFollowEachOther() {
        var metrics = TaskMetrics(entries(0..<60))
        metrics.add(TaskMetrics(entries(60..<80)))
        #expect(metrics.entries == entries(0..<80) && metrics.dropped == 0)
        metrics.add(TaskMetrics(entries(80..<160)))
        #expect(metrics.entries == entries(60..<160) && metrics.dropped == 60)
    }

    /// The entries that a run dropped are newer than all earlier entries.
    @Test func aRunThatDroppedSomeReplacesAll() {
        var metrics = TaskMetrics(entries(0..<10), dropped: 2)
        metrics.add(TaskMetrics(entries(10..<120)))
        #expect(metrics.entries == entries(20..<120))
        #expect(metrics.dropped == 22)
    }

    @Test func endpointsAreWrittenAsInURLs() {
        #expect(ExchangeMetrics.Endpoint("192.0.2.1", 80).text == "192.0.2.1:80")
        #expect(ExchangeMetrics.Endpoint("2001:db8::1", 443).text == "[2001:db8::1]:443")
    }
}

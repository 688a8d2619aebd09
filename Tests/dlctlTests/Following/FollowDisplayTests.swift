import Testing
import TransferModel

@testable import dlctl

@Suite struct FollowDisplayTests {
    private func state(_ count: Int) -> FollowState {
        var state = FollowState()
        for id in 1...count {
            var task = Sample.task(Int64(id), "f\(id)", received: 512 << 10, expected: 1 << 20)
            task.rate = 1024
            task.remaining = 512
            _ = state.take(task)
        }
        return state
    }

    @Test func progressLinesComeNowAndThen() {
        let lines = Recorder<String>()
        var display = LineDisplay { lines.add($0) }
        let state = state(2)
        for second in 0..<25 { display.tick(state, now: Sample.now.advanced(by: Seconds(rawValue: Double(second)))) }
        #expect(lines.all.count == 4)
        #expect(lines.all.first == "1 f1: 50%, 512 KiB of 1.0 MiB, 1.0 KiB/s, ETA 8m 32s")
    }

    @Test func manyTasksShareALine() {
        let lines = Recorder<String>()
        var display = LineDisplay { lines.add($0) }
        let state = state(9)
        for second in [0.0, 11] { display.tick(state, now: Sample.now.advanced(by: Seconds(rawValue: second))) }
        #expect(lines.all == ["9 running · 50% · 4.5 MiB of 9.0 MiB · 9.0 KiB/s · ETA 8m 32s"])
    }
}

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
        var display = LineDisplay(print: { lines.add($0) }, remark: { _ in })
        let state = state(2)
        for second in 0..<25 { display.tick(state, now: Sample.now.advanced(by: Seconds(rawValue: Double(second)))) }
        #expect(lines.all.count == 4)
        #expect(lines.all.first == "1 f1: 50%, 512 KiB of 1.0 MiB, 1.0 KiB/s, ETA 8m 32s")
    }

    /// A user who only waits is told that a decision is needed: once for each question, and apart from the lines.
    @Test func aQuestionIsNamedOnce() {
        let (lines, remarks) = (Recorder<String>(), Recorder<String>())
        var display = LineDisplay(print: { lines.add($0) }, remark: { remarks.add($0) })
        var state = state(1)
        let asked = Sample.event(9, .taskDecision, 1, ["decision": 3, "kind": "response"])
        display.show(state.apply(asked), state, now: Sample.now)
        var deciding = Sample.task(1, "f1")
        deciding.phase = .deciding
        display.show(state.take(deciding), state, now: Sample.now)
        let question = "1 f1: it asks for a decision; 'dlctl decisions' shows it, and how to answer."
        #expect(lines.all.isEmpty && remarks.all == [question])
        // A question that was open before is reported when the task is first seen.
        var later = FollowState()
        display.show(later.take(deciding), later, now: Sample.now)
        #expect(remarks.all == [question, question])
    }

    @Test(arguments: [WaitReason.authentication, .decision]) func howToAnswerIsSaidOnce(_ reason: WaitReason) {
        let (lines, remarks) = (Recorder<String>(), Recorder<String>())
        var display = LineDisplay(print: { lines.add($0) }, remark: { remarks.add($0) })
        var asking = Sample.task(1, "f1", .waiting)
        asking.reason = reason
        var state = FollowState()
        display.show(state.take(asking), state, now: Sample.now)
        #expect(lines.all == ["1 f1: waiting for " + (reason == .decision ? "a decision" : "authentication")])
        #expect(remarks.all == ["1 f1: it asks for a decision; 'dlctl decisions' shows it, and how to answer."])
    }

    @Test func manyTasksShareALine() {
        let lines = Recorder<String>()
        var display = LineDisplay(print: { lines.add($0) }, remark: { _ in })
        let state = state(9)
        for second in [0.0, 11] { display.tick(state, now: Sample.now.advanced(by: Seconds(rawValue: second))) }
        #expect(lines.all == ["9 running · 50% · 4.5 MiB of 9.0 MiB · 9.0 KiB/s · ETA 8m 32s"])
    }
}

import Testing
import TransferCore
import TransferModel

@testable import DaemonSetup

@Suite struct LogRepeatsTests {
    private let began = Timestamp(milliseconds: 1_700_000_000_000)

    private func reading(_ boot: Int64) -> ClockReading {
        ClockReading(wall: began.advanced(by: Seconds(Double(boot) / 1000)), boot: boot)
    }

    private func kind(_ host: String = "a", owner: String = "1000", code: String = "http.status") -> LogKind {
        LogKind(level: .warning, message: "failed", code: code, owner: owner, host: host)
    }

    /// Returns how many of `count` lines of `kind` are written at one time.
    private func written(_ count: Int, of kind: LogKind, in repeats: inout LogRepeats, at boot: Int64 = 0) -> Int {
        (0..<count).filter { _ in repeats.admits(kind, at: reading(boot)) }.count
    }

    @Test func aFewLinesAreWrittenAndTheRestIsSummedUp() {
        var repeats = LogRepeats()
        #expect(written(10_000, of: kind(), in: &repeats) == LogRepeats.most)
        #expect(repeats.due(at: LogRepeats.window - 1).isEmpty)
        let summaries = repeats.due(at: LogRepeats.window)
        #expect(summaries.count == 1)
        #expect(summaries.first?.count == 10_000 - LogRepeats.most && summaries.first?.total == 10_000)
        #expect(summaries.first?.since == began && summaries.first?.isOver == false)
    }

    @Test func whatStaysBelowTheLimitIsWrittenWholeAndForgotten() {
        var repeats = LogRepeats()
        for window in 0..<5 {
            let boot = Int64(window) * LogRepeats.window
            #expect(written(LogRepeats.most, of: kind(), in: &repeats, at: boot) == LogRepeats.most)
        }
        #expect(repeats.due(at: 10 * LogRepeats.window).isEmpty)
        #expect(repeats.count == 0)
    }

    /// During a flood of lines each window writes one line as an example, with the details that the summary lacks.
    @Test func aStormIsFollowedAndItsEndIsTold() {
        var repeats = LogRepeats()
        _ = written(100, of: kind(), in: &repeats)
        _ = repeats.due(at: LogRepeats.window)
        #expect(written(50, of: kind(), in: &repeats, at: LogRepeats.window + 1) == 1)
        #expect(repeats.due(at: 2 * LogRepeats.window).map(\.count) == [49])
        #expect(written(1, of: kind(), in: &repeats, at: 2 * LogRepeats.window + 1) == 1)
        #expect(repeats.due(at: 3 * LogRepeats.window).isEmpty, "one line that was written needs no summary")
        let last = repeats.due(at: 4 * LogRepeats.window)
        #expect(last.map(\.isOver) == [true] && last.map(\.total) == [151])
        #expect(repeats.count == 0)
        #expect(written(100, of: kind(), in: &repeats, at: 5 * LogRepeats.window) == LogRepeats.most)
    }

    @Test func anotherKindIsNotHeldBack() {
        var repeats = LogRepeats()
        _ = written(1000, of: kind(), in: &repeats)
        for other in [kind("b"), kind(owner: "1001"), kind(code: "network.dns")] {
            #expect(written(1, of: other, in: &repeats) == 1, "\(other)")
        }
        var louder = kind()
        louder.level = .error
        #expect(written(1, of: louder, in: &repeats) == 1)
    }

    /// A million hosts and owners cost neither memory nor lines, and the count includes all of their lines.
    @Test func kindsAreBounded() {
        var repeats = LogRepeats()
        var lines = 0
        for number in 0..<1_000_000 where repeats.admits(kind("host\(number)", owner: "\(number)"), at: reading(0)) {
            lines += 1
        }
        #expect(repeats.count <= 2 * LogRepeats.mostKinds + 1)
        #expect(lines == 2 * LogRepeats.mostKinds + LogRepeats.most)
        let summaries = repeats.due(at: LogRepeats.window)
        #expect(summaries.count == 1 && summaries.first?.kind.host == nil && summaries.first?.kind.owner == nil)
        #expect(summaries.reduce(0) { $0 + $1.count } + lines == 1_000_000)
        #expect(repeats.count == 1, "quiet kinds are forgotten")
    }

    /// The million hosts of one owner take no place from another owner.
    @Test func theHostsOfOneOwnerAreSummedForThatOwner() {
        var repeats = LogRepeats()
        for number in 0..<1000 { _ = repeats.admits(kind("host\(number)"), at: reading(0)) }
        #expect(written(1, of: kind("other", owner: "1001"), in: &repeats) == 1)
        #expect(repeats.due(at: LogRepeats.window).map(\.kind.owner) == ["1000"])
    }

    @Test func theEndOfTheProcessTellsWhatWasHeld() {
        var repeats = LogRepeats()
        _ = written(100, of: kind(), in: &repeats)
        _ = written(3, of: kind("b"), in: &repeats)
        #expect(repeats.all().map(\.count) == [100 - LogRepeats.most])
        #expect(repeats.all().isEmpty)
    }
}

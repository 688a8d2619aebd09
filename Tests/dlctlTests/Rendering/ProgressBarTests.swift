import Testing

@testable import dlctl

@Suite struct ProgressBarTests {
    @Test(arguments: [
        (0.0, "────"), (0.125, "╸───"), (0.25, "━───"), (0.5, "━━──"), (0.99, "━━━╸"), (1.0, "━━━━"), (7.0, "━━━━"),
        (-1.0, "────"),
    ])
    func fills(fraction: Double, text: String) {
        #expect(TaskLine.bar(fraction: fraction, width: 4).plain == text)
    }

    @Test func everyWidthIsKept() {
        for width in 0...80 {
            for step in 0...20 { #expect(TaskLine.bar(fraction: Double(step) / 20, width: width).width == width) }
            for tick in -5...50 { #expect(TaskLine.wandering(tick: tick, width: width).width == width) }
        }
    }

    @Test func itWandersThereAndBack() {
        let frames = (0..<6).map { TaskLine.wandering(tick: $0, width: 4).plain }
        #expect(frames == ["━───", "─━──", "──━─", "───━", "──━─", "─━──"])
    }
}

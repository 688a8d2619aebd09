import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct WaterfallTests {
    private typealias Interval = ExchangeMetrics.Interval

    /// - Parameter start: In milliseconds after the first entry.
    private static func entry(_ start: Int64, reused: Bool = false) -> ExchangeMetrics {
        var entry = ExchangeMetrics(fetchStart: (Sample.now.rawValue + start) * 1000)
        if !reused {
            entry.domainLookup = Interval(2000, 12_000)
            entry.connect = Interval(12_000, 30_000)
            entry.secureConnection = Interval(30_000, 70_000)
        }
        entry.request = Interval(70_000, 71_000)
        entry.response = Interval(90_000, 100_000)
        entry.isReused = reused
        entry.transferProtocol = .http2
        entry.remote = .init("2001:db8::1", 443)
        entry.tls = .init(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
        entry.requestHeaderBytes = 100
        entry.responseBodyBytes = 5000
        return entry
    }

    private static func task(_ entries: [ExchangeMetrics], dropped: Int = 0) -> TaskView {
        Sample.view(1, .completed).with(TaskMetrics(entries, dropped: dropped))
    }

    @Test func stepsFollowEachOther() {
        let timings = ExchangeTiming.all(of: Self.task([Self.entry(0), Self.entry(150, reused: true)]))
        #expect(
            timings.first?.phases == [
                .init(step: .queue, start: 0, end: 2), .init(step: .dns, start: 2, end: 12),
                .init(step: .connect, start: 12, end: 30), .init(step: .tls, start: 30, end: 70),
                .init(step: .request, start: 70, end: 71), .init(step: .wait, start: 71, end: 90),
                .init(step: .response, start: 90, end: 100),
            ])
        #expect(timings.last?.start == 150 && timings.last?.total == 100)
        #expect(timings.last?.phases.first == .init(step: .queue, start: 150, end: 220))
    }

    @Test(arguments: [80, 120, 40])
    func barsFitTheTerminal(width: Int) {
        let lines = Waterfall.render(Self.task([Self.entry(0), Self.entry(150, reused: true)]), width: width)
        #expect(lines.allSatisfy { $0.width <= width })
        let bars = lines.map(\.plain).filter { $0.contains("━") || $0.contains("╸") }
        #expect(bars.count == 11)
        // Each bar starts no earlier than the one before, and is visible however short it is.
        let starts = bars.map { line in line.prefix { $0 != "━" && $0 != "╸" }.count }
        #expect(starts == starts.sorted())
        #expect(Style.ascii.render(lines[1]).allSatisfy { $0.isASCII })
    }

    @Test func aLineNamesProtocolConnectionAndAddress() throws {
        let lines = Waterfall.render(Self.task([Self.entry(0)]), width: 200).map(\.plain)
        let head = try #require(lines.first)
        for part in ["100 ms from 0 ms on", "h2", "new connection", "[2001:db8::1]:443", "TLSv1.3", "received 4.9 KiB"]
        {
            #expect(head.contains(part), "\(head)")
        }
    }

    /// An hour between two requests leaves room for both.
    @Test func pausesAreShortened() throws {
        let timings = ExchangeTiming.all(of: Self.task([Self.entry(0), Self.entry(3_600_000)]))
        let scale = TimeScale(timings)
        #expect(scale.isShortened)
        #expect(scale.fraction(of: 0) == 0 && scale.fraction(of: 3_600_100) == 1)
        #expect((0.45..<0.48).contains(scale.fraction(of: 100)))
        #expect((0.52..<0.55).contains(scale.fraction(of: 3_600_000)))
        let close = TimeScale(ExchangeTiming.all(of: Self.task([Self.entry(0), Self.entry(105)])))
        #expect(!close.isShortened && close.fraction(of: 205) == 1)
    }

    @Test func elsewhereThereAreNumbers() {
        let lines = Waterfall.render(Self.task([Self.entry(0), Self.entry(150, reused: true)], dropped: 1), width: nil)
            .map(\.plain)
        let cells = lines.map { $0.split(separator: " ").map(String.init) }
        #expect(
            cells[0] == [
                "#", "start", "queue", "dns", "connect", "tls", "request", "wait", "response", "total", "protocol",
                "connection", "remote",
            ])
        // In local time, as on a terminal.
        #expect(cells[1][1] == LocalTime.exact(Sample.now) && cells[1][1].contains(":56.000"))
        #expect(
            cells[1].dropFirst(2) == ["2", "10", "18", "40", "1", "19", "10", "100", "h2", "new", "[2001:db8::1]:443"])
        #expect(cells[2].dropFirst(2).prefix(4) == ["70", "-", "-", "-"])
        #expect(lines.last == "1 older request not kept.")
    }

    @Test func whatADaemonSaysObeysNoTerminal() {
        var task = Self.task([Self.entry(0)])
        task.metrics?[0].remote = "\u{1B}[2J"
        task.metrics?[0].protocol = "\u{9B}x"
        task.metrics?[0].responseBodyBytes = .max
        task.metrics?[0].responseHeaderBytes = .max
        task.metrics?[0].response?.end = Timestamp(milliseconds: 0)
        for width in [80, nil] {
            for line in Waterfall.render(task, width: width) {
                #expect(!line.plain.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
            }
        }
    }

    @Test func aTaskWithoutMetricsSaysWhy() {
        for (state, part) in [(TaskState.completed, "over the network"), (.queued, "has not run")] {
            var task = Sample.view(1, state)
            task.attempts = state == .queued ? 0 : 1
            let lines = Waterfall.render(task, width: 80).map(\.plain)
            #expect(lines.count == 1 && lines[0].hasPrefix("Task 1 has no timing: ") && lines[0].contains(part))
        }
        var running = Sample.view(1, .running)
        running.attempts = 1
        #expect(
            Waterfall.render(running, width: 80).first?.plain.contains("none of its requests has ended yet") == true)
    }
}

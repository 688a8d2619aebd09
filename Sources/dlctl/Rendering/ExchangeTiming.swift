import TransferModel
import TransferRPC

/// One exchange as a row of steps, in milliseconds since the task's first request: `show --timing`.
struct ExchangeTiming {
    enum Step: String, CaseIterable {
        case queue, dns, connect, tls, request, wait, response
    }

    struct Phase: Equatable {
        var step: Step
        var start: Int64
        var end: Int64

        var length: Int64 { max(0, end - start) }
    }

    let view: ExchangeView
    let start: Int64
    let phases: [Phase]

    var end: Int64 { phases.map(\.end).max() ?? start }
    var total: Int64 { max(0, end - start) }

    /// - Parameter origin: the beginning of the first request.
    init(_ view: ExchangeView, since origin: Timestamp) {
        func offset(_ time: Timestamp) -> Int64 {
            let (difference, overflows) = time.rawValue.subtractingReportingOverflow(origin.rawValue)
            return overflows ? 0 : difference
        }
        let start = offset(view.fetchStart)
        var phases: [Phase] = []
        func add(_ step: Step, _ period: PeriodView?) {
            guard let period else { return }
            phases.append(Phase(step: step, start: offset(period.start), end: offset(period.end)))
        }
        add(.dns, view.domainLookup)
        add(.connect, view.connect)
        add(.tls, view.secureConnection)
        add(.request, view.request)
        if let first = phases.first, first.start > start {
            phases.insert(Phase(step: .queue, start: start, end: first.start), at: 0)
        }
        if let sent = view.request?.end, let answered = view.response?.start {
            // An answer may come before the whole request was sent.
            phases.append(Phase(step: .wait, start: offset(sent), end: max(offset(sent), offset(answered))))
        }
        add(.response, view.response)
        self.view = view
        self.start = start
        self.phases = phases
    }

    func phase(_ step: Step) -> Phase? { phases.first { $0.step == step } }

    static func all(of task: TaskView) -> [ExchangeTiming] {
        let views = task.metrics ?? []
        guard let origin = views.map(\.fetchStart).min() else { return [] }
        return views.map { ExchangeTiming($0, since: origin) }
    }
}

/// Draws how long the requests of a task took: bars for a terminal, otherwise numbers.
enum Waterfall {
    /// - Parameter width: the width of the terminal; nil for numbers in columns.
    static func render(_ task: TaskView, width: Int?) -> [StyledText] {
        let timings = ExchangeTiming.all(of: task)
        guard !timings.isEmpty else { return [StyledText(absence(task))] }
        var lines = width.map { drawn(timings, width: $0) } ?? table(timings)
        if let dropped = task.metricsDropped {
            lines.append(StyledText("\(Figures.count(dropped, "older request")) not kept.", .faint))
        }
        return lines
    }

    private static func absence(_ task: TaskView) -> String {
        let why =
            if task.attempts == 0 {
                "it has not run yet"
            } else if task.state == .running {
                "none of its requests has ended yet"
            } else {
                "it made no request over the network, or an older daemon ran it"
            }
        return "Task \(task.id) has no timing: \(why)."
    }

    // MARK: Numbers

    private static func table(_ timings: [ExchangeTiming]) -> [StyledText] {
        let steps = ExchangeTiming.Step.allCases
        var table = Table(
            [Table.Column(title: "#", alignsRight: true), Table.Column(title: "start")]
                + (steps.map(\.rawValue) + ["total"]).map { Table.Column(title: $0, alignsRight: true) }
                + ["protocol", "connection", "remote"].map { Table.Column(title: $0) })
        table.rows = timings.enumerated().map { index, timing in
            let lengths = steps.map { step in timing.phase(step).map { "\($0.length)" } ?? "-" }
            let texts =
                ["\(index + 1)", LocalTime.exact(timing.view.fetchStart)] + lengths + [
                    "\(timing.total)", timing.view.protocol.map(Printable.text) ?? "-", connection(timing) ?? "-",
                    timing.view.remote.map(Printable.text) ?? "-",
                ]
            return texts.map { StyledText($0) }
        }
        return table.render(width: nil) + ["", StyledText("Times in milliseconds.", .faint)]
    }

    /// nil if there was no connection.
    private static func connection(_ timing: ExchangeTiming) -> String? {
        if timing.view.reused { return "reused" }
        return timing.view.request == nil ? nil : "new"
    }

    // MARK: Bars

    private static let indent = 3
    private static let gap = 2
    private static let leastBar = 10

    private static func drawn(_ timings: [ExchangeTiming], width: Int) -> [StyledText] {
        let scale = TimeScale(timings)
        let names = ExchangeTiming.Step.allCases.map { DisplayWidth.of($0.rawValue) }.max() ?? 0
        let numbers = timings.flatMap(\.phases).map { DisplayWidth.of("\($0.length) ms") }.max() ?? 0
        let bar = max(leastBar, width - indent - names - numbers - 2 * gap)
        var lines: [StyledText] = []
        for (index, timing) in timings.enumerated() {
            if index > 0 { lines.append("") }
            lines += head(index + 1, timing).wrapped(to: width, indent: indent)
            for phase in timing.phases {
                var line = StyledText(String(repeating: " ", count: indent))
                line.append(DisplayWidth.padded(phase.step.rawValue, names + gap), .faint)
                line.append(DisplayWidth.paddedLeft("\(phase.length) ms", numbers))
                line.append(String(repeating: " ", count: gap))
                line += self.bar(phase, scale, width: bar)
                lines.append(line.cut(to: width))
            }
        }
        if scale.isShortened {
            let remark = StyledText("Pauses between requests are drawn shorter than they were.", .faint)
            lines += [""] + remark.wrapped(to: width)
        }
        return lines
    }

    private static func head(_ number: Int, _ timing: ExchangeTiming) -> StyledText {
        let view = timing.view
        var parts = ["\(timing.total) ms from \(timing.start) ms on"]
        if let name = view.protocol { parts.append(Printable.text(name)) }
        if let connection = connection(timing) { parts.append("\(connection) connection") }
        if let remote = view.remote { parts.append(Printable.text(remote)) }
        if let proxy = view.proxy { parts.append("proxy " + Printable.text(proxy)) }
        if let tls = view.tls { parts.append(Printable.text("\(tls.version) \(tls.cipher)")) }
        parts.append("sent " + Figures.bytes(ByteCount(view.requestHeaderBytes.adding(view.requestBodyBytes))))
        parts.append("received " + Figures.bytes(ByteCount(view.responseHeaderBytes.adding(view.responseBodyBytes))))
        return StyledText(DisplayWidth.padded("\(number)", indent - 1) + " ", .strong)
            + StyledText(parts.joined(separator: ", "))
    }

    private static func bar(_ phase: ExchangeTiming.Phase, _ scale: TimeScale, width: Int) -> StyledText {
        let cells = Double(width)
        let start = min(width - 1, Int(scale.fraction(of: phase.start) * cells))
        let halves = Int(((scale.fraction(of: phase.end) * cells - Double(start)) * 2).rounded())
        let full = min(width - start, max(0, halves / 2))
        let half = full == 0 || halves % 2 == 1 && start + full < width ? "╸" : ""
        return StyledText(String(repeating: " ", count: start))
            + StyledText(String(repeating: "━", count: full) + half, tone(phase.step))
    }

    private static func tone(_ step: ExchangeTiming.Step) -> Tone {
        switch step {
        case .queue: .faint
        case .dns, .tls: .warning
        case .connect: .accent
        case .request: .strong
        case .wait: .plain
        case .response: .good
        }
    }
}

/// Maps moments to positions in the drawing. Time without a request takes at most a tenth of the rest. Otherwise a
/// pause of an hour would hide everything else.
struct TimeScale {
    private struct Stretch {
        var start: Int64
        var end: Int64
        /// Its beginning in the drawing.
        var place: Double
    }

    private var stretches: [Stretch] = []
    private var length: Double = 0
    private(set) var isShortened = false

    init(_ timings: [ExchangeTiming]) {
        for timing in timings.sorted(by: { $0.start < $1.start }) {
            if let last = stretches.last, timing.start <= last.end {
                stretches[stretches.count - 1].end = max(last.end, timing.end)
            } else {
                stretches.append(Stretch(start: timing.start, end: timing.end, place: 0))
            }
        }
        let busy = stretches.reduce(0.0) { $0 + Double($1.end - $1.start) }
        let longestPause = max(1, busy / 10)
        for index in stretches.indices {
            if index > 0 {
                let pause = Double(stretches[index].start - stretches[index - 1].end)
                if pause > longestPause { isShortened = true }
                length += min(pause, longestPause)
            }
            stretches[index].place = length
            length += Double(stretches[index].end - stretches[index].start)
        }
    }

    /// From 0 to 1.
    func fraction(of time: Int64) -> Double {
        guard length > 0, let stretch = stretches.last(where: { $0.start <= time }) else { return 0 }
        return min(1, (stretch.place + Double(min(time, stretch.end) - stretch.start)) / length)
    }
}

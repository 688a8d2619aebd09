import TransferModel

/// One line of the live display: name, bar, percentage, size, rate and time left, as far as the width allows.
struct TaskLine {
    /// The widths of the columns, shared by all lines of one frame. A width of 0 means that the column is left out.
    struct Columns: Hashable {
        var id = 0
        var name = 0
        var bar = 0
        var size = 0
        var rate = 0
        var remaining = 0

        static let percentWidth = 4
        static let sizeWidth = 19
        static let rateWidth = 12
        static let remainingWidth = 8

        /// Lays out `width` cells. Narrow frames lose, in this order, the id, the size, the bar, the time left and the
        /// rate. Percentage and name stay.
        init(width: Int, longestName: Int, longestID: Int) {
            let wanted = max(8, longestName)
            for lost in 0...5 {
                id = lost < 1 ? longestID : 0
                size = lost < 2 ? Self.sizeWidth : 0
                let hasBar = lost < 3
                remaining = lost < 4 ? Self.remainingWidth : 0
                rate = lost < 5 ? Self.rateWidth : 0
                let taken = [id, size, rate, remaining, Self.percentWidth].filter { $0 > 0 }.reduce(0) { $0 + $1 + 1 }
                let room = width - taken
                let least = min(wanted, hasBar ? 16 : 10) + (hasBar ? 11 : 0)
                if room < least { continue }
                // The name may take half of the rest, and the bar at most 40 cells.
                name = hasBar ? min(wanted, max(16, room / 2)) : min(wanted, room)
                bar = hasBar ? min(40, room - name - 1) : 0
                return
            }
            name = max(1, width - Self.percentWidth - 1)
        }
    }

    static func render(_ task: FollowedTask, columns: Columns, width: Int, now: Timestamp, tick: Int) -> StyledText {
        var line = StyledText()
        if columns.id > 0 {
            line.append(DisplayWidth.paddedLeft(task.id.description, columns.id) + " ", .faint)
        }
        let name = DisplayWidth.padded(DisplayWidth.middle(task.name, columns.name), columns.name)
        line.append(name, task.isOver ? .plain : .strong)
        line.append(" ")
        line +=
            isMoving(task)
            ? figures(task, columns, tick: tick)
            : StyledText(task.standing(now: now, isLive: true), task.isRemoved ? .faint : task.state.tone)
        return line.cut(to: width)
    }

    private static func isMoving(_ task: FollowedTask) -> Bool {
        task.state == .running && !task.isRemoved && task.phase != .authenticating
            && (task.phase == .transferring || task.received.rawValue > 0)
    }

    private static func figures(_ task: FollowedTask, _ columns: Columns, tick: Int) -> StyledText {
        var line = StyledText()
        if columns.bar > 0 {
            line += bar(task, width: columns.bar, tick: tick) + " "
        }
        line.append(DisplayWidth.paddedLeft(task.percent.map { "\($0)%" } ?? "", Columns.percentWidth))
        if columns.size > 0 {
            line.append(" " + DisplayWidth.paddedLeft(size(task), columns.size))
        }
        if columns.rate > 0 {
            let shown =
                switch task.phase {
                case .verifying?, .finishing?, .decoding?: (task.phase ?? .connecting).words
                case .connecting?, .deciding?, .transferring?, .authenticating?, nil: Figures.rate(task.rate)
                }
            line.append(" " + DisplayWidth.paddedLeft(shown, columns.rate), .good)
        }
        if columns.remaining > 0 {
            line.append(
                " " + DisplayWidth.paddedLeft(remaining(task, columns.remaining), columns.remaining), .accent)
        }
        return line
    }

    /// Empty if it is too long for the column.
    private static func remaining(_ task: FollowedTask, _ width: Int) -> String {
        task.remaining.map(Figures.duration).flatMap { $0.count <= width ? $0 : nil } ?? ""
    }

    private static func bar(_ task: FollowedTask, width: Int, tick: Int) -> StyledText {
        guard let expected = task.expected else { return wandering(tick: tick, width: width) }
        let fraction = expected.rawValue > 0 ? Double(task.received.rawValue) / Double(expected.rawValue) : 1
        return bar(fraction: fraction, width: width)
    }

    /// `312 MiB/1.2 GiB`; while a body is being decoded, the decoded size.
    private static func size(_ task: FollowedTask) -> String {
        if let decoded = task.decoded { return Figures.bytes(decoded) }
        guard let expected = task.expected else { return Figures.bytes(task.received) }
        return Figures.bytes(task.received) + "/" + Figures.bytes(expected)
    }

    /// A bar of `width` cells: full cells, a half cell if the fraction lies in between, then the track.
    static func bar(fraction: Double, width: Int) -> StyledText {
        guard width > 0 else { return "" }
        let halves = Int((min(1, max(0, fraction)) * Double(width) * 2).rounded(.down))
        let full = halves / 2
        let half = full < width && halves % 2 == 1 ? 1 : 0
        return StyledText(String(repeating: "━", count: full) + (half == 1 ? "╸" : ""), .accent)
            + StyledText(String(repeating: "─", count: width - full - half), .faint)
    }

    /// A block that moves along the track, for an unknown length. `tick` counts redraws.
    static func wandering(tick: Int, width: Int) -> StyledText {
        guard width > 0 else { return "" }
        let block = min(width, max(1, width / 4))
        let span = width - block
        let period = max(1, span * 2)
        let phase = ((tick % period) + period) % period
        let start = span == 0 ? 0 : (phase <= span ? phase : period - phase)
        return StyledText(String(repeating: "─", count: start), .faint)
            + StyledText(String(repeating: "━", count: block), .accent)
            + StyledText(String(repeating: "─", count: span - start), .faint)
    }
}

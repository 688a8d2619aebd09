/// Lays out rows in columns for a width. The flexible column takes the rest.
struct Table {
    struct Column {
        var title: String
        var alignsRight = false
        /// If the width is too small, the columns with the highest number are dropped first. A column with 0 is never
        /// dropped.
        var dispensability = 0
        /// Takes the remaining width, and is cut in the middle.
        var isFlexible = false
        /// The width in the rows above, which this table continues.
        var leastWidth = 0
    }

    var columns: [Column]
    var rows: [[StyledText]]

    init(_ columns: [Column], _ rows: [[StyledText]] = []) {
        self.columns = columns
        self.rows = rows
    }

    static let gap = 2
    static let leastFlexible = 12

    /// - Parameter width: nil for the width of the content.
    func render(width: Int?) -> [StyledText] {
        var shown = Array(columns.indices)
        if let width {
            while total(shown) > width,
                let leaver = shown.max(by: { columns[$0].dispensability < columns[$1].dispensability }),
                columns[leaver].dispensability > 0
            {
                shown.removeAll { $0 == leaver }
            }
        }
        let widths = widths(shown, within: width)
        let header = shown.map { StyledText(columns[$0].title, .faint) }
        return ([header] + rows.map { row in shown.map { row[$0] } }).map { cells in
            let line = join(cells, shown, widths)
            return width.map { line.cut(to: $0) } ?? line
        }
    }

    /// Continues the table with other rows, in columns that are at least as wide.
    mutating func continued(with next: [[StyledText]]) {
        for index in columns.indices { columns[index].leastWidth = natural(index) }
        rows = next
    }

    private func natural(_ column: Int) -> Int {
        max(
            DisplayWidth.of(columns[column].title), columns[column].leastWidth,
            rows.map { $0[column].width }.max() ?? 0)
    }

    /// The smallest width that these columns need.
    private func total(_ shown: [Int]) -> Int {
        shown.reduce(Self.gap * max(0, shown.count - 1)) { sum, column in
            sum + (columns[column].isFlexible ? min(Self.leastFlexible, natural(column)) : natural(column))
        }
    }

    private func widths(_ shown: [Int], within width: Int?) -> [Int: Int] {
        var result = Dictionary(uniqueKeysWithValues: shown.map { ($0, natural($0)) })
        guard let width, let flexible = shown.first(where: { columns[$0].isFlexible }) else { return result }
        let others = shown.filter { $0 != flexible }.reduce(0) { $0 + (result[$1] ?? 0) }
        let room = width - others - Self.gap * max(0, shown.count - 1)
        result[flexible] = max(1, min(natural(flexible), room))
        return result
    }

    private func join(_ cells: [StyledText], _ shown: [Int], _ widths: [Int: Int]) -> StyledText {
        var line = StyledText()
        for (place, column) in shown.enumerated() {
            let width = widths[column] ?? 0
            var cell = cells[place]
            if cell.width > width {
                cell = StyledText(DisplayWidth.middle(cell.plain, width), cell.spans.first?.tone ?? .plain)
            }
            let fill = String(repeating: " ", count: max(0, width - cell.width))
            let isLast = place == shown.count - 1
            if columns[column].alignsRight { line.append(fill) }
            line += cell
            if !columns[column].alignsRight, !isLast { line.append(fill) }
            if !isLast { line.append(String(repeating: " ", count: Self.gap)) }
        }
        return line
    }
}

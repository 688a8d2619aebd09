import TransferModel

/// A list of named values with the names in one column: `show`, `info`, `stats`.
struct Sheet {
    private var rows: [(name: String, value: StyledText, isVerbatim: Bool)] = []
    /// The number of blanks between the columns.
    private let gap: Int

    init(gap: Int = 2) { self.gap = gap }

    mutating func add(_ name: String, _ value: String?, _ tone: Tone = .plain) {
        guard let value, !value.isEmpty else { return }
        add(name, StyledText(value, tone))
    }

    /// - Parameter isVerbatim: never wrapped, because it is a command to copy.
    mutating func add(_ name: String, _ value: StyledText, isVerbatim: Bool = false) {
        rows.append((name, value, isVerbatim))
    }

    /// - Parameter width: the width of the terminal; longer values continue on the next line. nil for lines of any
    ///   length.
    func render(width: Int? = nil) -> [StyledText] {
        let column = (rows.map { DisplayWidth.of($0.name) }.max() ?? 0) + gap
        return rows.flatMap { row in
            let room = width.map { $0 - column }
            let values = room.map { $0 < 20 || row.isVerbatim ? [row.value] : row.value.wrapped(to: $0) } ?? [row.value]
            return values.enumerated().map { index, value in
                StyledText(DisplayWidth.padded(index == 0 ? row.name : "", column), .faint) + value
            }
        }
    }
}

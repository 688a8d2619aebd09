/// A list of named values, names in one column: `show`, `info`, `stats`.
struct Sheet {
    private var rows: [(name: String, value: StyledText)] = []

    mutating func add(_ name: String, _ value: String?, _ tone: Tone = .plain) {
        guard let value, !value.isEmpty else { return }
        rows.append((name, StyledText(value, tone)))
    }

    mutating func add(_ name: String, _ value: StyledText) { rows.append((name, value)) }

    func render() -> [StyledText] {
        let width = rows.map { DisplayWidth.of($0.name) }.max() ?? 0
        return rows.map { StyledText(DisplayWidth.padded($0.name, width) + "  ", .faint) + $0.value }
    }
}

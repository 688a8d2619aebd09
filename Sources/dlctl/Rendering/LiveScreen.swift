/// Redraws a block of lines in place; text in (lines), text out (escape sequences), no terminal of its own.
///
/// Remembers how wide each drawn line was: after a resize the terminal has re-wrapped them, and the number of rows to
/// climb follows from the new width.
struct LiveScreen {
    private var drawnWidths: [Int] = []
    private var isHidden = false
    private let style: Style

    init(style: Style) { self.style = style }

    private static let hideCursor = "\u{1B}[?25l"
    private static let showCursor = "\u{1B}[?25h"
    private static let clearBelow = "\u{1B}[J"
    private static let clearLine = "\u{1B}[K"

    /// The escape sequences that put `lasting` above and `block` in the place of the block drawn before.
    mutating func draw(_ block: [StyledText], lasting: [StyledText] = [], columns: Int) -> String {
        var output = isHidden ? "" : Self.hideCursor
        isHidden = true
        output += climb(columns: columns)
        for line in lasting { output += style.render(line) + Self.clearLine + "\r\n" }
        for line in block { output += style.render(line) + Self.clearLine + "\r\n" }
        output += Self.clearBelow
        drawnWidths = block.map(\.width)
        return output
    }

    /// Removes the block and gives the cursor back.
    mutating func end(columns: Int) -> String {
        guard isHidden else { return "" }
        let output = climb(columns: columns) + Self.clearBelow + Self.showCursor
        drawnWidths = []
        isHidden = false
        return output
    }

    /// Leaves the block in place and shows the cursor again.
    mutating func leave() -> String {
        guard isHidden else { return "" }
        drawnWidths = []
        isHidden = false
        return Self.showCursor
    }

    private func climb(columns: Int) -> String {
        let width = max(1, columns)
        let rows = drawnWidths.reduce(0) { $0 + max(1, ($1 + width - 1) / width) }
        return "\r" + (rows > 0 ? "\u{1B}[\(rows)A" : "")
    }
}

/// Redraws a block of lines in place: lines in, escape sequences out. It has no terminal of its own.
///
/// After a resize that leaves no room for what was drawn, its position is unknown: some terminals wrap lines again,
/// some cut them, and rows may have left the screen. Then the screen is cleared, and the block begins at its top.
struct LiveScreen {
    private var drawnWidths: [Int] = []
    private var isHidden = false
    private let style: Style

    init(style: Style) { self.style = style }

    private static let hideCursor = "\u{1B}[?25l"
    private static let showCursor = "\u{1B}[?25h"
    private static let clearBelow = "\u{1B}[J"
    private static let clearScreen = "\u{1B}[H\u{1B}[2J"
    private static let clearLine = "\u{1B}[K"

    /// Returns the escape sequences that print `lasting` and redraw `block` below it.
    mutating func draw(_ block: [StyledText], lasting: [StyledText] = [], size: TerminalSize) -> String {
        var output = isHidden ? "" : Self.hideCursor
        isHidden = true
        output += toTop(size)
        for line in lasting { output += style.render(line) + Self.clearLine + "\r\n" }
        for line in block { output += style.render(line) + Self.clearLine + "\r\n" }
        output += Self.clearBelow
        drawnWidths = block.map(\.width)
        return output
    }

    /// Removes the block and shows the cursor again.
    mutating func end(size: TerminalSize) -> String {
        guard isHidden else { return "" }
        let output = toTop(size) + Self.clearBelow + Self.showCursor
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

    /// Moves to the beginning of the block drawn before.
    private func toTop(_ size: TerminalSize) -> String {
        // The cursor is in the row below the block.
        guard drawnWidths.allSatisfy({ $0 <= size.columns }), drawnWidths.count < max(size.rows, 2) else {
            return Self.clearScreen
        }
        return "\r" + (drawnWidths.isEmpty ? "" : "\u{1B}[\(drawnWidths.count)A")
    }
}

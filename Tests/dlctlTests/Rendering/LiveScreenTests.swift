import Testing

@testable import dlctl

@Suite struct LiveScreenTests {
    private let size = TerminalSize(columns: 40, rows: 24)

    private func block(_ lines: String...) -> [StyledText] { lines.map { StyledText($0) } }

    @Test func redrawsInPlace() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed("$ dlctl watch\n")
        terminal.feed(screen.draw(block("one", "two"), size: size))
        #expect(terminal.screen == ["$ dlctl watch", "one", "two"])
        #expect(!terminal.cursorVisible)
        terminal.feed(screen.draw(block("one more", "2"), size: size))
        #expect(terminal.screen == ["$ dlctl watch", "one more", "2"])
    }

    @Test func shrinksAndGrows() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a", "b", "c"), size: size))
        terminal.feed(screen.draw(block("d"), size: size))
        #expect(terminal.screen == ["d"])
        terminal.feed(screen.draw(block("e", "f", "g", "h"), size: size))
        #expect(terminal.screen == ["e", "f", "g", "h"])
    }

    @Test func lastingLinesStayAbove() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a", "b"), size: size))
        terminal.feed(screen.draw(block("b"), lasting: block("a done"), size: size))
        terminal.feed(screen.draw(block(), lasting: block("b done"), size: size))
        terminal.feed(screen.end(size: size))
        #expect(terminal.screen == ["a done", "b done"])
        #expect(terminal.cursorVisible)
    }

    /// Lines that still fit can be redrawn in place on every terminal. Longer lines are wrapped by some terminals and
    /// cut by others, so the screen is cleared.
    @Test(arguments: [true, false]) func aNarrowerTerminalLeavesNoRests(wraps: Bool) {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 60, wraps: wraps)
        terminal.feed("$ prompt\n")
        let wide = String(repeating: "x", count: 55)
        terminal.feed(screen.draw(block(wide, wide), size: TerminalSize(columns: 60, rows: 24)))
        terminal.resize(to: 57)
        terminal.feed(screen.draw(block("z", "z"), size: TerminalSize(columns: 57, rows: 24)))
        #expect(terminal.screen == ["$ prompt", "z", "z"])
        terminal.feed(screen.draw(block(wide, wide), size: TerminalSize(columns: 57, rows: 24)))
        for columns in [30, 17, 60, 9, 80] {
            terminal.resize(to: columns)
            let line = String(repeating: "y", count: columns - 1)
            terminal.feed(screen.draw(block(line, line), size: TerminalSize(columns: columns, rows: 24)))
            #expect(terminal.screen == [line, line])
        }
    }

    /// Some rows of the block have left the screen.
    @Test func aLowerTerminalIsCleared() {
        var screen = LiveScreen(style: .plain)
        _ = screen.draw(block("a", "b", "c"), size: size)
        let low = TerminalSize(columns: 40, rows: 3)
        #expect(screen.draw(block("a", "b"), size: low).contains("\u{1B}[2J"))
        #expect(!screen.draw(block("a", "b"), size: low).contains("\u{1B}[2J"))
    }

    @Test func leavingKeepsTheBlockAndFreesTheCursor() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a"), size: size))
        terminal.feed(screen.leave())
        #expect(terminal.screen == ["a"])
        #expect(terminal.cursorVisible)
        #expect(screen.leave().isEmpty)
        terminal.feed(screen.draw(block("b"), size: size))
        #expect(terminal.screen == ["a", "b"])
    }
}

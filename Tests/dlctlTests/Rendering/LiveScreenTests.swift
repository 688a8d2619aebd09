import Testing

@testable import dlctl

@Suite struct LiveScreenTests {
    private func block(_ lines: String...) -> [StyledText] { lines.map { StyledText($0) } }

    @Test func redrawsInPlace() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed("$ dlctl watch\n")
        terminal.feed(screen.draw(block("one", "two"), columns: 40))
        #expect(terminal.screen == ["$ dlctl watch", "one", "two"])
        #expect(!terminal.cursorVisible)
        terminal.feed(screen.draw(block("one more", "2"), columns: 40))
        #expect(terminal.screen == ["$ dlctl watch", "one more", "2"])
    }

    @Test func shrinksAndGrows() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a", "b", "c"), columns: 40))
        terminal.feed(screen.draw(block("d"), columns: 40))
        #expect(terminal.screen == ["d"])
        terminal.feed(screen.draw(block("e", "f", "g", "h"), columns: 40))
        #expect(terminal.screen == ["e", "f", "g", "h"])
    }

    @Test func lastingLinesStayAbove() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a", "b"), columns: 40))
        terminal.feed(screen.draw(block("b"), lasting: block("a done"), columns: 40))
        terminal.feed(screen.draw(block(), lasting: block("b done"), columns: 40))
        terminal.feed(screen.end(columns: 40))
        #expect(terminal.screen == ["a done", "b done"])
        #expect(terminal.cursorVisible)
    }

    @Test func aNarrowerTerminalLeavesNoRests() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 60)
        terminal.feed("$ prompt\n")
        let wide = String(repeating: "x", count: 55)
        terminal.feed(screen.draw(block(wide, wide), columns: 60))
        for columns in [30, 17, 60, 9, 80] {
            terminal.resize(to: columns)
            let line = String(repeating: "y", count: columns - 1)
            terminal.feed(screen.draw(block(line, line), columns: columns))
            #expect(terminal.screen == ["$ prompt", line, line])
        }
    }

    @Test func leavingKeepsTheBlockAndFreesTheCursor() {
        var screen = LiveScreen(style: .plain)
        var terminal = TinyTerminal(columns: 40)
        terminal.feed(screen.draw(block("a"), columns: 40))
        terminal.feed(screen.leave())
        #expect(terminal.screen == ["a"])
        #expect(terminal.cursorVisible)
        #expect(screen.leave().isEmpty)
        terminal.feed(screen.draw(block("b"), columns: 40))
        #expect(terminal.screen == ["a", "b"])
    }
}

import Testing

@testable import dlctl

@Suite struct StyledTextTests {
    private let line = StyledText("name ", .strong) + StyledText("日本", .good) + StyledText(" end")

    @Test func widthsIgnoreTones() {
        #expect(line.width == 13)
        #expect(line.plain == "name 日本 end")
    }

    @Test func cutsAtEveryWidth() {
        for width in 0...20 { #expect(line.cut(to: width).width <= width) }
        #expect(line.cut(to: 13) == line)
        #expect(line.cut(to: 8).plain == "name 日…")
    }

    @Test func coloursOnlyWhereTheyAreWanted() {
        #expect(Style.plain.render(line) == line.plain)
        #expect(Style(colour: true, unicode: true).render(StyledText("x", .bad)) == "\u{1B}[31mx\u{1B}[0m")
        #expect(Style.ascii.render(StyledText("━╸─…✓·")) == "#>-~+.")
    }

    @Test(
        arguments: [
            (["NO_COLOR": "1", "LANG": "C.UTF-8"], false, true), (["NO_COLOR": "", "LANG": "en_US.utf8"], true, true),
            (["TERM": "dumb"], false, false), (["LC_ALL": "C", "LANG": "C.UTF-8"], true, false),
            (["LC_ALL": "", "LC_CTYPE": "de_DE.UTF-8"], true, true),
        ] as [([String: String], Bool, Bool)])
    func theEnvironmentDecides(environment: [String: String], colour: Bool, unicode: Bool) {
        #expect(Style(terminal: true, environment: environment) == Style(colour: colour, unicode: unicode))
        #expect(Style(terminal: false, environment: environment).colour == false)
    }

    @Test func linesAreBrokenAtBlanks() {
        let text = StyledText("one two", .bad) + StyledText(" three extraordinarily")
        let lines = text.wrapped(to: 9)
        #expect(lines.map(\.plain) == ["one two", "three", "extraordinarily"])
        #expect(lines[0].spans.allSatisfy { $0.tone == .bad })
        #expect(StyledText("a b").wrapped(to: 3).map(\.plain) == ["a b"])
        #expect(StyledText("one two three").wrapped(to: 7, indent: 2).map(\.plain) == ["one two", "  three"])
        #expect(StyledText("日本 語").wrapped(to: 5).map(\.plain) == ["日本", "語"])
    }

    @Test func wordsAreQuotedForTheShellIfNeeded() {
        #expect(ShellText.word("backup-1") == "backup-1")
        #expect(ShellText.word("a b") == "'a b'")
        #expect(ShellText.word("it's") == #"'it'\''s'"#)
        #expect(ShellText.word("") == "''" && ShellText.word("-x") == "'-x'")
    }
}

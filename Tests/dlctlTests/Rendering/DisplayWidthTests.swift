import Testing

@testable import dlctl

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("ｱ", 1), ("Ａ", 2), ("한국", 4), ("\u{200B}", 0),
        ("😀", 2), ("👨‍👩‍👧", 2), ("❤️", 2), ("⌚", 2), ("…", 1), ("━╸─", 3), ("✓✗", 2), ("🇩🇪", 2), ("a\u{7}b", 2), ("𠀀", 2),
    ])
    func countsCells(text: String, cells: Int) {
        #expect(DisplayWidth.of(text) == cells)
    }

    @Test func cutsNeverExceedTheRoom() {
        let texts = ["", "a", "plain-name.iso", "日本語の長いファイル名.tar.gz", "e\u{301}e\u{301}e\u{301}", "😀😀😀😀😀", "aあbいcうd"]
        for text in texts {
            for room in 0...30 {
                for cut in [
                    DisplayWidth.middle(text, room), DisplayWidth.end(text, room), DisplayWidth.prefix(text, room),
                ] {
                    #expect(DisplayWidth.of(cut) <= room)
                }
                if DisplayWidth.of(text) <= room { #expect(DisplayWidth.middle(text, room) == text) }
            }
        }
    }

    @Test func theMiddleGivesWay() {
        #expect(DisplayWidth.middle("abcdefghij.iso", 9) == "abcd….iso")
        #expect(DisplayWidth.end("abcdefghij", 5) == "abcd…")
        #expect(DisplayWidth.middle("日本語日本語", 7) == "日…語")
    }

    @Test func paddingFillsToTheCell() {
        #expect(DisplayWidth.padded("日", 4) == "日  ")
        #expect(DisplayWidth.paddedLeft("日", 4) == "  日")
        #expect(DisplayWidth.padded("long", 2) == "long")
    }
}

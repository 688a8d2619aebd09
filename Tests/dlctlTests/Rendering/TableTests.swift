import Testing
import TransferModel

@testable import dlctl

@Suite struct TableTests {
    private let tasks = TaskState.allCases.enumerated().map { Sample.view(Int64($0.offset * 37 + 1), $0.element) }

    @Test func everyWidthIsKept() {
        for width in 20...200 {
            let lines = TaskTable.render(tasks, width: width, now: Sample.now)
            #expect(lines.count == tasks.count + 1)
            #expect(lines.allSatisfy { $0.width <= width }, "\(width)")
        }
    }

    @Test func columnsLeaveByRank() {
        let wide = TaskTable.render(tasks, width: 160, now: Sample.now)[0].plain
        for title in ["ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "SESSION", "ADDED", "NAME"] {
            #expect(wide.contains(title))
        }
        let narrow = TaskTable.render(tasks, width: 40, now: Sample.now)[0].plain
        #expect(narrow.contains("ID") && narrow.contains("STATE") && narrow.contains("NAME"))
        #expect(!narrow.contains("SESSION") && !narrow.contains("ADDED"))
    }

    @Test func rowsSayHowTasksStand() {
        let lines = TaskTable.render(tasks, width: nil, now: Sample.now).map(\.plain)
        #expect(
            lines.contains {
                $0.contains("running") && $0.contains("20%") && $0.contains("244 KiB/s") && $0.contains("16s")
            })
        #expect(lines.contains { $0.contains("waiting:network") })
        #expect(lines.contains { $0.contains("completed") && $0.contains("100%") })
        #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
    }

    @Test func wideCharactersKeepTheColumns() {
        var table = Table(columns: [.init(title: "A", isFlexible: true), .init(title: "B")])
        table.rows = [["日本語", "x"], ["ab", "y"]]
        #expect(table.render(width: 40).map(\.plain) == ["A       B", "日本語  x", "ab      y"])
    }

    @Test func sheetsAlignTheirNames() {
        var sheet = Sheet()
        sheet.add("id", "5")
        sheet.add("longer name", "x")
        sheet.add("absent", nil)
        #expect(sheet.render().map(\.plain) == ["id           5", "longer name  x"])
    }
}

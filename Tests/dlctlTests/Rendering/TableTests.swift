import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct TableTests {
    private let tasks = TaskState.allCases.enumerated().map { Sample.view(Int64($0.offset * 37 + 1), $0.element) }

    private func lines(of tasks: [TaskView], width: Int?, showsOwner: Bool = false) -> [StyledText] {
        var table = TaskTable(width: width, now: Sample.now, showsOwner: showsOwner)
        return table.render(tasks)
    }

    @Test func laterPagesKeepTheColumns() {
        var table = TaskTable(width: nil, now: Sample.now)
        let first = table.render([Sample.view(1_000_000, .waiting)]).map(\.plain)
        let second = table.render([Sample.view(7, .queued)]).map(\.plain)
        #expect(first.count == 2 && second.count == 1)
        #expect(second[0].hasPrefix("      7  queued "))
        #expect(table.render([]).isEmpty)
    }

    @Test func everybodysTasksHaveTheirOwners() {
        let everybodys = lines(of: tasks, width: 80, showsOwner: true).map(\.plain)
        var table = TaskTable(width: 80, now: Sample.now)
        #expect(everybodys[0].contains("OWNER") && everybodys[1].contains(" \(table.name(of: UserID(1000))) "))
        #expect(table.name(of: .root) == "root" && table.name(of: UserID(4_000_000_001)) == "4000000001")
        #expect(!lines(of: tasks, width: 80)[0].plain.contains("OWNER"))
    }

    @Test func everyWidthIsKept() {
        for width in 20...200 {
            let lines = lines(of: tasks, width: width)
            #expect(lines.count == tasks.count + 1)
            #expect(lines.allSatisfy { $0.width <= width }, "\(width)")
        }
    }

    @Test func columnsLeaveByRank() {
        let wide = lines(of: tasks, width: 160)[0].plain
        for title in ["ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "SESSION", "ADDED", "NAME"] {
            #expect(wide.contains(title))
        }
        let narrow = lines(of: tasks, width: 40)[0].plain
        #expect(narrow.contains("ID") && narrow.contains("STATE") && narrow.contains("NAME"))
        #expect(!narrow.contains("SESSION") && !narrow.contains("ADDED"))
    }

    @Test func rowsSayHowTasksStand() {
        let lines = lines(of: tasks, width: nil).map(\.plain)
        #expect(
            lines.contains {
                $0.contains("running") && $0.contains("20%") && $0.contains("244 KiB/s") && $0.contains("16s")
            })
        #expect(lines.contains { $0.contains("waiting:network") })
        #expect(lines.contains { $0.contains("completed") && $0.contains("100%") })
        #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
    }

    @Test func cookiesExpireInLocalTime() {
        let cookie = CookieView(Cookie(name: "n", value: "v", domain: "a.org", expires: Sample.now), secrets: false)
        let lines = CookiesCommand.List.table([cookie]).render(width: nil).map(\.plain)
        #expect(lines.last?.contains(" \(LocalTime.text(Sample.now))") == true, "\(lines)")
    }

    @Test func wideCharactersKeepTheColumns() {
        var table = Table([.init(title: "A", isFlexible: true), .init(title: "B")])
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

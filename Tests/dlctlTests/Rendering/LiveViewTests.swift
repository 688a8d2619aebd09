import Testing
import TransferModel

@testable import dlctl

@Suite struct LiveViewTests {
    private func state(_ tasks: [FollowedTask]) -> FollowState {
        var state = FollowState()
        for task in tasks { _ = state.take(task) }
        return state
    }

    private func render(_ state: FollowState, _ columns: Int = 100, rows: Int = 24) -> [String] {
        LiveView.render(state, size: TerminalSize(columns: columns, rows: rows), now: Sample.now, tick: 3).map(\.plain)
    }

    /// With every kind of task, every sort of name and every width, no line is too wide for the terminal and the view
    /// is not too tall.
    @Test func fitsEveryTerminal() {
        let names = ["a", "plain.iso", String(repeating: "long", count: 60), "日本語の長いファイル名.tar.gz", "e\u{301}😀👨‍👩‍👧", ""]
        for name in names {
            var tasks = Sample.everyKind()
            for index in tasks.indices { tasks[index].name = name }
            var state = state(tasks)
            for link in [false, true] {
                if link { _ = state.linkLost(nextAttemptAt: Sample.now.advanced(by: 3)) }
                for columns in [1, 2, 5, 10] + Array(20...200) {
                    let lines = LiveView.render(
                        state, size: TerminalSize(columns: columns, rows: 24), now: Sample.now, tick: columns)
                    #expect(lines.allSatisfy { $0.width < max(2, columns) }, "\(columns): \(lines.map(\.plain))")
                    #expect(lines.count <= 23)
                }
            }
        }
    }

    @Test func neverTallerThanTheTerminal() {
        let many = state((1...500).map { Sample.task($0, "f\($0)", .running, received: 5, expected: 10) })
        for rows in 1...60 { #expect(render(many, rows: rows).count <= max(1, rows - 1)) }
        #expect(render(many, rows: 10).contains { $0.contains("and 493 more") })
    }

    /// The fetched bytes are known by then.
    @Test func whileItDecodesTheSizeGrows() {
        var task = Sample.task(12, "f", received: 5 << 20, expected: 5 << 20)
        (task.phase, task.decoded) = (.decoding, ByteCount(312 << 20))
        let line = render(state([task]), 120)[0]
        #expect(line.contains("decoding") && line.contains("312 MiB"), "\(line)")
        #expect(ChangeLine.progress(task).contains("312 MiB decoded"))
    }

    @Test func aTaskWhoseHelperIsAskedSaysSo() {
        var task = Sample.task(12, "f", received: 5 << 20, expected: 8 << 20)
        task.phase = .authenticating
        #expect(render(state([task]), 120)[0].contains("asking the credential helper"))
    }

    @Test func aWideTerminalShowsEverything() {
        var task = Sample.task(12, "ubuntu.iso", received: 312 << 20, expected: 1200 << 20)
        task.rate = ByteRate(31 << 20)
        task.remaining = 29
        let line = render(state([task]), 120)
        #expect(line.count == 1)
        for part in ["12", "ubuntu.iso", "26%", "312 MiB/1.2 GiB", "31.0 MiB/s", "29s", "━━", "──"] {
            #expect(line[0].contains(part), "\(part) in \(line[0])")
        }
    }

    /// The last task decides when everything is here.
    @Test func theTotalWaitsForTheSlowestTask() {
        var fast = Sample.task(1, "a", received: 0, expected: 1000)
        (fast.rate, fast.remaining) = (1000, 1)
        var slow = Sample.task(2, "b", received: 0, expected: 1000)
        (slow.rate, slow.remaining) = (10, 100)
        #expect(TotalLine(state([fast, slow])).remaining == 100)
        slow.remaining = nil
        #expect(TotalLine(state([fast, slow])).remaining.map { $0.rawValue < 3 } == true)
    }

    @Test func aNarrowOneKeepsNameAndPercent() {
        let task = Sample.task(12, "ubuntu.iso", received: 50, expected: 100)
        let line = render(state([task]), 20)[0]
        #expect(line.contains("50%"))
        #expect(line.contains("ubu"))
    }

    @Test func columnsOfSeveralTasksAreAligned() {
        var first = Sample.task(1, "a.iso", received: 50, expected: 100)
        first.rate = 1000
        var second = Sample.task(200, "longer-name.iso", received: 1 << 30, expected: 3 << 30)
        second.rate = 5_000_000
        let lines = render(state([first, second]), 110)
        let columns = lines.prefix(2).map { line in
            line.firstIndex(of: "%").map { DisplayWidth.of(String(line[..<$0])) }
        }
        #expect(columns[0] == columns[1] && columns[0] != nil)
    }

    @Test func whatMovesComesFirst() {
        let lines = render(
            state([
                Sample.task(1, "queued", .queued), Sample.task(2, "waiting", .waiting),
                Sample.task(3, "running", received: 1, expected: 2), Sample.task(4, "done", .completed),
            ]))
        #expect(lines[0].contains("running") && lines[1].contains("waiting") && lines[2].contains("queued"))
        #expect(!lines.dropLast().contains { $0.contains("done") })
    }

    @Test func statesSayWhy() {
        var waiting = Sample.task(1, "w", .waiting)
        waiting.reason = .network
        waiting.nextAttemptAt = Sample.now.advanced(by: 12)
        waiting.error = TransferError(.networkConnect, "refused")
        #expect(render(state([waiting]))[0].contains("waiting for the network, tried again in 12s: network.connect"))
        var paused = Sample.task(2, "p", .paused, received: 25, expected: 100)
        #expect(render(state([paused]))[0].contains("paused at 25%"))
        paused.isRemoved = true
        #expect(render(state([paused])).isEmpty)
    }

    @Test func theTotalSumsUp() {
        var first = Sample.task(1, "a", received: 100, expected: 400)
        first.rate = 100
        var second = Sample.task(2, "b", received: 100, expected: 100)
        second.state = .completed
        let total = render(state([first, second, Sample.task(3, "c", .failed, received: 7)])).last
        #expect(total == "1 running · 1 done · 1 failed · 40% · 200 B of 500 B · 100 B/s · ETA 3s")
    }

    @Test func anUnknownLengthMakesNoPercent() {
        let total = render(state([Sample.task(1, "a", received: 100), Sample.task(2, "b", received: 1, expected: 2)]))
            .last
        #expect(total == "2 running · 101 B")
    }

    @Test func theBacklogIsCounted() {
        var state = state([Sample.task(1, "a", received: 1, expected: 2)])
        state.takeCounts(["queued": 1_000_000, "running": 1, "paused": 2])
        #expect(render(state).last?.hasPrefix("1 running · 1000000 queued · 2 paused") == true)
    }

    @Test func aLostDaemonIsSaid() {
        var state = state([Sample.task(1, "a", received: 1, expected: 2)])
        _ = state.linkLost(nextAttemptAt: Sample.now.advanced(by: 4))
        #expect(render(state).last == "waiting for the daemon, next try in 4s")
    }

    @Test func nothingToDoIsSaid() {
        #expect(render(FollowState(followsNewTasks: true)) == ["nothing is running"])
    }
}

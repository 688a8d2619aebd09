import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct ListCommandTests {
    private func read(
        _ daemon: ScriptedDaemon, limit: Int = .max, match: String? = nil
    ) async throws -> (tasks: [TaskView], end: TaskPages.End) {
        let pages = TaskPages(query: ListTasks(match: match, order: .activity), limit: limit)
        var tasks: [TaskView] = []
        let end = try await pages.read(daemon) { page, _ in tasks += page }
        return (tasks, end)
    }

    @Test func pagesTogetherAreTheWholeListing() async throws {
        let daemon = ScriptedDaemon(tasks: (1...2500).map { Sample.view($0, $0 % 2 == 0 ? .completed : .queued) })
        let (tasks, end) = try await read(daemon)
        #expect(
            tasks.map(\.id.rawValue) == Array(stride(from: 1, to: 2500, by: 2)) + stride(from: 2, through: 2500, by: 2))
        #expect(end == TaskPages.End(count: 2500, isComplete: true, total: 2500))
        #expect(ListCommand.more(shown: 2500, end) == nil)
    }

    /// Such a task moves to a position that was read already.
    @Test func aTaskThatStartsBetweenPagesIsNotMissed() async throws {
        let daemon = ScriptedDaemon(tasks: (1...1500).map { Sample.view($0, .queued) })
        daemon.setAfterList(Sample.view(1400, .running))
        let tasks = try await read(daemon).tasks
        #expect(tasks.count == 1500 && Set(tasks.map(\.id)).count == 1500)
        #expect(tasks.last?.id == TaskID(1400))
    }

    @Test func theLastLineCountsWhatIsNotShown() async throws {
        let daemon = ScriptedDaemon(tasks: (1...1500).map { Sample.view($0, .queued) })
        let (tasks, end) = try await read(daemon, limit: 7)
        #expect(tasks.count == 7)
        #expect(ListCommand.more(shown: 7, end) == "… and 1493 more; --limit N shows more, --all shows all")
        let searched = try await read(daemon, limit: 7, match: "x").end
        #expect(ListCommand.more(shown: 7, searched) == "… and more; --limit N shows more, --all shows all")
    }

    @Test func aTerminalShowsLittleHistory() {
        let tasks = [Sample.view(1), Sample.view(2, .paused)] + (3...40).map { Sample.view($0, .completed) }
        var left = ListCommand.terminalHistory
        // On two pages.
        let shown =
            ListCommand.withShortHistory(Array(tasks.prefix(8)), &left)
            + ListCommand.withShortHistory(Array(tasks.dropFirst(8)), &left)
        #expect(shown.map(\.id.rawValue) == Array(1...12))
        let end = TaskPages.End(count: 40, isComplete: true, total: 40)
        #expect(ListCommand.more(shown: shown.count, end)?.hasPrefix("… and 28 more;") == true)
    }
}

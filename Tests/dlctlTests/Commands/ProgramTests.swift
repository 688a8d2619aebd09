import Foundation
import Testing
import TransferModel

@testable import dlctl

/// The built program against a daemon on a real socket: its output, its requests and its exit status.
@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct ProgramTests {
    @Test func addPrintsIDsAndSendsAbsolutePaths() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run(
            "add", "-o", "x.iso", "--limit", "2M", "-H", "A: b", "https://example.org/f.iso")
        #expect(outcome.status == 0 && outcome.output == "1\n", "\(outcome)")
        let spec = try #require(bench.daemon.specs.first)
        #expect(spec.destination?.path?.hasSuffix("/x.iso") == true && spec.destination?.path?.hasPrefix("/") == true)
        #expect(spec.rateLimit == ByteRate(2 << 20) && spec.headers == [HeaderField("A", "b")])
        await bench.daemon.stop()
    }

    @Test func longListsGoInPortions() async throws {
        let bench = try await Bench()
        let list = (1...2500).map { "https://example.org/\($0)\n  out=f\($0)\n" }.joined()
        let outcome = try await bench.run("add", "-i", "-", "--json", input: list)
        #expect(outcome.status == 0)
        #expect(bench.daemon.adds == [1000, 1000, 500])
        #expect(outcome.lines.count == 1)
        #expect(JSONText.value(outcome.output)?["tasks"]?.arrayValue?.count == 2500)
        #expect(JSONText.value(outcome.output)?["tasks"]?.arrayValue?.last == ["id": 2500, "state": "queued"])
        await bench.daemon.stop()
    }

    @Test func badListsNameTheLineAndAddNothing() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("add", "-i", "-", input: "https://a/\n\n  split=3\n")
        #expect(outcome.status == 2)
        #expect(outcome.error.hasPrefix("dlctl: standard input:3: split="))
        #expect(bench.daemon.adds.isEmpty)
        await bench.daemon.stop()
    }

    @Test func outputThatCannotBeWrittenIsAFailure() async throws {
        let bench = try await Bench()
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "\"$0\" list --json >/dev/full", Program.path ?? "dlctl"]
        shell.environment = bench.environment
        let complaint = Pipe()
        shell.standardError = complaint
        try shell.run()
        let text = String(decoding: try complaint.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 1)
        #expect(text.hasPrefix("dlctl: cannot write: "))
        await bench.daemon.stop()
    }

    /// A name such as `directory=/tmp` is allowed, but who forgets the session's name does not mean one.
    @Test func aSettingIsNotTakenForTheNameOfASession() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("session", "open", "directory=/tmp")
        #expect(outcome.status == 2 && outcome.error.contains("dlctl session open NAME directory=…"), "\(outcome)")
        await bench.daemon.stop()
    }

    @Test func exitStatusesAreTheContracts() async throws {
        let bench = try await Bench()
        #expect(try await bench.run("--version").status == 0)
        #expect(try await bench.run("--help").status == 0)
        #expect(try await bench.run("help", "add").status == 0)
        for wrong in [["nope"], ["add"], ["list", "--what"], ["show"], ["show", "x"], ["limit", "--down", "fast"]] {
            let outcome = try await Program(wrong, environment: bench.environment, folder: bench.folder).finish()
            #expect(outcome.status == 2, "\(wrong)")
            #expect(outcome.output.isEmpty && outcome.error.hasPrefix("dlctl: "))
        }
        let refused = try await bench.run("add", "gopher://a/")
        #expect(refused.status == 4)
        #expect(refused.error.hasPrefix("dlctl: refused (request.bad_url): dld does not speak"))
        #expect(try await bench.run("show", "99").status == 4)
        #expect(try await bench.run("pause", "99").status == 4)
        let absent = try await bench.run("list", "--no-start", "--socket", bench.folder + "/none")
        #expect(absent.status == 3 && absent.error.contains("the socket does not exist"))
        await bench.daemon.stop()
    }

    /// The line itself is right, so it is no wrong usage.
    @Test(arguments: [
        ["add", "-i", "none"], ["add", "--metalink", "none"], ["add", "--cookies", "none", "https://a/"],
        ["add", "--user", "anna", "--password-file", "none", "https://a/"],
        ["add", "--bearer-file", "none", "https://a/"], ["add", "--proxy-file", "none", "https://a/"],
        ["add", "-H", "@none", "https://a/"], ["cookies", "import", "none"],
        ["credential", "add", "a.org", "--username", "anna", "--password-file", "none"],
    ])
    func aFileThatCannotBeReadIsAFailure(_ line: [String]) async throws {
        let bench = try await Bench()
        let outcome = try await Program(line, environment: bench.environment, folder: bench.folder).finish()
        #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.error == "dlctl: none cannot be read: No such file or directory\n")
        #expect(bench.daemon.adds.isEmpty)
        await bench.daemon.stop()
    }

    @Test func errorsAreJSONToo() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("add", "--json", "gopher://a/")
        #expect(outcome.status == 4 && outcome.output.isEmpty)
        let error = JSONText.value(outcome.error)?["error"]
        #expect(error?["code"] == "request.bad_url")
        #expect(error?["details"]?["field"] == "tasks[0].url")
        let wrong = try await bench.run("list", "--json", "--state", "tired")
        #expect(wrong.status == 2 && wrong.output.isEmpty)
        #expect(JSONText.value(wrong.error)?["error"]?["code"] == "usage")
        for line in [["--json", "frob"], ["cookies", "--json", "frob"], ["--json", "list", "--what"]] {
            let unknown = try await Program(line, environment: bench.environment, folder: bench.folder).finish()
            #expect(unknown.status == 2 && unknown.output.isEmpty)
            #expect(JSONText.value(unknown.error)?["error"]?["code"] == "usage", "\(line): \(unknown.error)")
        }
        await bench.daemon.stop()
    }

    @Test func partlyRefusedControlTellsBoth() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1")
        let outcome = try await bench.run("pause", "1", "7")
        #expect(outcome.status == 4 && outcome.output == "paused 1\n")
        #expect(outcome.error.contains("7: refused (task.not_found)"))
        #expect(try await bench.run("pause", "--all").status == 0)
        await bench.daemon.stop()
    }

    @Test func pauseSaysWhatItCosts() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1", "https://a/2", "https://a/3")
        for id in 1...2 { try bench.daemon.happen(.taskStarted, TaskID(Int64(id))) { $0.status.state = .running } }
        let outcome = try await bench.run("pause", "1", "3")
        #expect(outcome.status == 0 && outcome.output == "paused 1\npaused 3\n")
        #expect(outcome.error == "1: It begins again.\n")
        let json = try await bench.run("pause", "2", "--json")
        #expect(JSONText.value(json.output)?["warnings"] == [["id": 2, "message": "It begins again."]])
        #expect(json.error.isEmpty)
        await bench.daemon.stop()
    }

    @Test func waitTellsHowItEnded() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1", "https://a/2")
        let waiting = try bench.start("wait", "1", "2")
        #expect(await waiting.waitForOutput("2 2: queued"))
        try await follow(bench)
        try bench.daemon.happen(.taskStarted, TaskID(1))
        try bench.daemon.happen(.taskCompleted, TaskID(1), ["bytes": 5, "duration": 1, "file": "/x/one"])
        try bench.daemon.happen(.taskFailed, TaskID(2), ["error": ["code": "http.status", "message": "404"]])
        let outcome = await waiting.finish()
        #expect(outcome.status == 1)
        #expect(
            outcome.lines == [
                "1 1: queued", "2 2: queued", "1 1: running", "1 one: completed, 5 B in 1.0s (5 B/s)",
                "2 2: failed (http.status): 404",
            ])
        await bench.daemon.stop()
    }

    @Test func waitPrintsTasksAsJSONWhenTheyEnd() async throws {
        let bench = try await Bench()
        let adding = try bench.start("add", "-w", "--json", "https://a/1")
        #expect(await adding.waitForOutput("tasks"))
        try await follow(bench)
        try bench.daemon.happen(.taskCompleted, TaskID(1), ["bytes": 5]) { $0.status.state = .completed }
        let outcome = await adding.finish()
        #expect(outcome.status == 0 && outcome.lines.count == 2)
        #expect(JSONText.value(outcome.lines.last ?? "")?["state"] == "completed")
        let again = try await bench.run("wait", "1", "--json")
        #expect(again.status == 0 && again.lines == [outcome.lines.last ?? ""])
        await bench.daemon.stop()
    }

    @Test func watchedTasksEndTheirEventsToo() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1", "https://a/2")
        let watching = try bench.start("watch", "1", "2", "--json")
        try await follow(bench)
        try bench.daemon.happen(.taskFailed, TaskID(1)) { $0.status.state = .failed }
        #expect(await watching.waitForOutput("task.failed"))
        try bench.daemon.happen(.taskStarted, TaskID(2)) { $0.status.state = .running }
        try bench.daemon.happen(.taskCompleted, TaskID(2)) { $0.status.state = .completed }
        let outcome = await watching.finish()
        #expect(outcome.status == 1)
        #expect(
            outcome.lines.compactMap { JSONText.value($0)?["type"]?.stringValue }
                == ["task.failed", "task.started", "task.completed"])
        let again = try await bench.run("watch", "1", "2", "--json")
        #expect(again.status == 1 && again.lines == [outcome.lines.first, outcome.lines.last])
        #expect(try await bench.run("watch", "2", "--json").status == 0)
        await bench.daemon.stop()
    }

    @Test func ctrlCLeavesTheTasksAlone() async throws {
        let bench = try await Bench()
        let adding = try bench.start("add", "-w", "https://a/1")
        #expect(await adding.waitForOutput("queued"))
        try await follow(bench)
        adding.interrupt()
        let outcome = await adding.finish()
        #expect(outcome.status == 130)
        #expect(outcome.error == "interrupted; the tasks continue in the daemon (dlctl watch shows them)\n")
        await bench.daemon.stop()
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
    func binaryAnswersDoNotGoToATerminal() async throws {
        let bench = try await Bench()
        _ = try await fetched(bench, [1, 0, 2], "https://a/1")
        let shell = Process()
        shell.executableURL = URL(filePath: "/usr/bin/script")
        shell.arguments = ["-qec", "\(try #require(Program.path)) fetch 1", "/dev/null"]
        shell.environment = bench.environment
        let screen = Pipe()
        shell.standardOutput = screen
        try shell.run()
        let text = String(decoding: try screen.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 1)
        #expect(text.contains("is binary and would spoil the terminal; it is kept: dlctl fetch 1 -o FILE"))
        #expect(!text.contains("\u{0}"))
        await bench.daemon.stop()
    }

    @Test func aRestartedDaemonIsWaitedFor() async throws {
        let bench = try await Bench()
        let adding = try bench.start("add", "-w", "https://a/1")
        #expect(await adding.waitForOutput("queued"))
        try await follow(bench)
        try bench.daemon.happen(.taskStarted, TaskID(1))
        #expect(await adding.waitForOutput("running"))
        await bench.daemon.stop()
        #expect(await adding.waitForOutput("waiting for the daemon"))
        try bench.daemon.happen(.taskCompleted, TaskID(1), ["bytes": 5]) { $0.status.state = .completed }
        try await bench.daemon.start()
        let outcome = await adding.finish()
        #expect(outcome.status == 0 && outcome.output.contains("1 1: completed"))
        await bench.daemon.stop()
    }

    @Test func eventsAreReplayedAndAcknowledged() async throws {
        let bench = try await Bench()
        _ = try await bench.run("add", "https://a/1")
        for type in [EventType.taskAdded, .taskStarted, .taskFailed] { try bench.daemon.happen(type, TaskID(1)) }
        let listed = try await bench.run("events", "--after", "1", "--json")
        #expect(listed.lines.compactMap { JSONText.value($0)?["sequence"]?.integerValue } == [2, 3])
        #expect(listed.lines.allSatisfy { JSONText.value($0)?["subscription"] == nil })
        let newest = try await bench.run("events", "-n", "2", "--json")
        #expect(newest.lines == listed.lines)
        let oldest = try await bench.run("events", "--subscriber", "me", "-n", "1", "--json")
        #expect(oldest.lines.compactMap { JSONText.value($0)?["sequence"]?.integerValue } == [1])
        // Events that do not match do not prevent it from reaching the end.
        let none = try await bench.run("events", "--subscriber", "me", "--type", "task.paused", "--json")
        #expect(none.status == 0 && none.lines.isEmpty)
        let first = try await bench.run("events", "--subscriber", "me", "--json")
        #expect(first.lines.compactMap { JSONText.value($0)?["sequence"]?.integerValue } == [2, 3])
        #expect(bench.daemon.acknowledged["me"] == SequenceNumber(3))
        let second = try await bench.run("events", "--subscriber", "me", "--json")
        #expect(second.status == 0 && second.lines.isEmpty)
        let following = try bench.start("events", "--follow", "--after", "start")
        #expect(await following.waitForOutput("task.failed"))
        try bench.daemon.happen(.taskQueued, TaskID(1))
        #expect(await following.waitForOutput("task.queued"))
        following.interrupt()
        #expect(await following.finish().status == 130)
        await bench.daemon.stop()
    }

    /// A gap is not mistaken for a complete list.
    @Test(arguments: [["--after", "1"], ["--subscriber", "me"]])
    func eventsThatAreGoneAreMissed(_ options: [String]) async throws {
        let bench = try await Bench()
        for number in 1...5 { try bench.daemon.happen(.taskFailed, TaskID(Int64(number))) }
        func types() async throws -> [String?] {
            try await Program(["events", "--json"] + options, environment: bench.environment, folder: bench.folder)
                .finish().lines.map { JSONText.value($0)?["type"]?.stringValue }
        }
        bench.daemon.expire(before: 2)
        #expect(try await types().count(where: { $0 == "events.lagged" }) == (options[0] == "--after" ? 0 : 1))
        for _ in 1...2 { try bench.daemon.happen(.taskFailed, TaskID(9)) }
        bench.daemon.expire(before: 7)
        #expect(try await types() == ["events.lagged", "task.failed"])
        let all = try await bench.run("events", "--json")
        #expect(all.lines.count == 1 && !all.output.contains("events.lagged"))
        await bench.daemon.stop()
    }

    /// The newest selected events, however old they are.
    @Test func theNewestEventsAreThoseThatAreAskedFor() async throws {
        let bench = try await Bench()
        for number in 1...3 { try bench.daemon.happen(.taskFailed, TaskID(Int64(number))) }
        for _ in 0..<2500 { try bench.daemon.happen(.taskQueued, TaskID(9)) }
        func sequences(_ arguments: String...) async throws -> [Int64] {
            try await Program(["events", "--json"] + arguments, environment: bench.environment, folder: bench.folder)
                .finish().lines.compactMap { JSONText.value($0)?["sequence"]?.integerValue }
        }
        #expect(try await sequences("-n", "2") == [2502, 2503])
        #expect(try await sequences("-n", "2", "--type", "task.failed") == [2, 3])
        #expect(try await sequences("-n", "9", "--type", "task.failed", "--task", "1") == [1])
        #expect(try await sequences("-n", "2400", "--task", "9") == Array(104...2503))
        #expect(try await sequences("-n", "1", "--type", "task.paused") == [])
        await bench.daemon.stop()
    }

    /// For a task that failed often, the newest part of its history counts.
    @Test func explainTellsTheNewestOfALongStory() async throws {
        let bench = try await Bench()
        bench.daemon.put(Sample.record(1))
        for _ in 0..<3000 { try bench.daemon.happen(.taskQueued, TaskID(1)) }
        for _ in 0..<100 { try bench.daemon.happen(.taskFailed, TaskID(9)) }
        let story = try await Program(
            ["explain", "--json", "1"], environment: bench.environment, folder: bench.folder
        ).finish()
        let events = JSONText.value(story.output)?["events"]?.arrayValue ?? []
        #expect(events.compactMap { $0["sequence"]?.integerValue } == Array(2951...3000))
        await bench.daemon.stop()
    }

    /// `--down 2` usually means 2M.
    @Test(arguments: [("--down", "2", true), ("--up", "500", true), ("--down", "2M", false), ("--tasks", "2", false)])
    func ratesOfAFewBytesGetAHint(_ option: String, _ value: String, _ isHinted: Bool) {
        #expect((LimitCommand.unitHint(option, value) != nil) == isHinted)
    }

    @Test func aReaderThatLeftEndsItQuietly() async throws {
        let bench = try await Bench()
        for _ in 0..<3000 { try bench.daemon.happen(.taskAdded, TaskID(1)) }
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "\"$1\" events 2>&1 | head -1", "sh", try #require(Program.path)]
        shell.environment = bench.environment
        let pipe = Pipe()
        shell.standardOutput = pipe
        try shell.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(text.split(separator: "\n").count == 1 && text.contains("task.added"))
        await bench.daemon.stop()
    }

    func follow(_ bench: Bench) async throws {
        for _ in 0..<3000 where bench.daemon.subscribers == 0 { try await Task.sleep(for: .milliseconds(10)) }
        try #require(bench.daemon.subscribers > 0)
    }
}

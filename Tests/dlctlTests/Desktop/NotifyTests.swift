import Foundation
import TestSupport
import Testing
import TransferModel

@testable import dlctl

/// `dlctl notify` between a daemon and a server of notifications, which tests control.
@Suite(
    .serialized, .enabled(if: Program.path != nil, "the dlctl product is built"),
    .enabled(if: Requirements.hasMachineBus, "dbus-daemon, python3-dbus and python3-gi are not installed"))
struct NotifyTests {
    private let machine: MachineBus
    private let bench: Bench

    init() async throws {
        machine = try await .started()
        bench = try await Bench()
    }

    private var environment: [String: String] {
        bench.environment.merging([
            "DBUS_SESSION_BUS_ADDRESS": machine.address, "XDG_STATE_HOME": bench.folder,
            "PATH": bench.folder + "/bin:/usr/bin:/bin",
        ]) { $1 }
    }

    /// Begins to notify, and returns when the daemon sends events.
    private func start() async throws -> Program {
        let before = bench.daemon.subscribers
        let program = try Program(["notify"], environment: environment, folder: bench.folder)
        #expect(await eventually { bench.daemon.subscribers > before })
        return program
    }

    private func end(_ program: Program) async {
        program.interrupt()
        _ = await program.finish()
        await bench.daemon.stop()
    }

    /// What the server was asked to show: summary, body and labels.
    private var notes: [(summary: String, body: String, actions: [String])] {
        machine.lines.compactMap { line in
            guard line.hasPrefix("Notify notifications "), let open = line.firstIndex(of: "["),
                let arguments = JSONText.value(String(line[open...]))?.arrayValue, arguments.count == 8
            else { return nil }
            #expect(arguments[0] == "dld")
            let actions = arguments[5].arrayValue?.compactMap(\.stringValue) ?? []
            return (arguments[3].stringValue ?? "", arguments[4].stringValue ?? "", actions)
        }
    }

    private func happen(done count: Int, from first: Int64 = 1) throws {
        for id in first..<first + Int64(count) {
            try bench.daemon.happen(
                .taskCompleted, TaskID(id), ["file": .string("/d/f\(id).iso"), "bytes": 2048, "url": "http://h/x"])
        }
    }

    private func acknowledges(_ number: Int64) async -> Bool {
        await eventually { bench.daemon.acknowledged["dlctl-notify"] == SequenceNumber(number) }
    }

    @Test(.timeLimit(.minutes(1))) func aDoneTaskIsShownAndAcknowledged() async throws {
        try await machine.say("own notifications")
        let program = try await start()
        try bench.daemon.happen(
            .taskCompleted, TaskID(7),
            ["file": "/d/<b>&.iso", "bytes": 2048, "url": "http://h/x", "duration": 1, "verified": false])
        #expect(await acknowledges(1))
        let note = try #require(notes.first)
        #expect(note.summary == "Done: <b>&.iso" && notes.count == 1)
        #expect(note.body == "2.0 KiB, /d", "\(note.body)")
        #expect(note.actions == ["open", "Open", "folder", "Show in folder", "details", "Details"])
        await end(program)
    }

    @Test(.timeLimit(.minutes(1))) func aFailedTaskIsShownWithAdvice() async throws {
        try await machine.say("own notifications")
        let program = try await start()
        try bench.daemon.happen(
            .taskFailed, TaskID(7),
            [
                "url": "http://h/d/f%20g.iso",
                "error": ["code": "http.status", "message": "404 for <a & b>.", "details": ["status": 404]],
            ])
        #expect(await acknowledges(1))
        let note = try #require(notes.first)
        #expect(note.summary == "Failed: f g.iso")
        #expect(
            note.body.hasPrefix("404 for &lt;a &amp; b&gt;.\n") && note.body.contains("dlctl retry 7"), "\(note.body)")
        #expect(note.actions == ["details", "Details"])
        await end(program)
    }

    /// The event does not name the task; the daemon does.
    @Test(.timeLimit(.minutes(1))) func aQuestionIsShown() async throws {
        try await machine.say("own notifications")
        let program = try await start()
        var record = Sample.record(7, .waiting)
        record.spec.url = "http://h/asked.iso"
        bench.daemon.put(record)
        try bench.daemon.happen(
            .taskDecision, TaskID(7),
            [
                "decision": 3, "kind": "redirect", "default": "follow", "request": ["url": "http://other/?a&b"],
                "response": ["status": 302],
            ])
        #expect(await acknowledges(1))
        let note = try #require(notes.first)
        #expect(note.summary.hasPrefix("Asks: ") && !note.summary.contains("task 7"), "\(note.summary)")
        #expect(note.body.contains("http://other/?a&amp;b"), "\(note.body)")
        await end(program)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [(3, 3), (4, 1), (50, 1)])
    func manyEventsOfAMomentAreOne(_ events: Int, _ shown: Int) async throws {
        try await machine.say("own notifications")
        let program = try await start()
        try happen(done: events - 1)
        try bench.daemon.happen(.taskFailed, TaskID(99), ["url": "http://h/bad", "error": ["code": "disk.io"]])
        #expect(await acknowledges(Int64(events)))
        #expect(notes.count == shown)
        if shown == 1 {
            #expect(notes.first?.summary == "Downloads: \(events - 1) done, 1 failed")
            #expect(notes.first?.body.hasPrefix("f1.iso\nf2.iso\n") == true, "\(notes)")
        }
        await end(program)
    }

    /// Nothing is lost while the desktop has no server, or one that takes nothing.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false]) func eventsWaitForAServer(isThere: Bool) async throws {
        if isThere {
            try await machine.say("answers notifications wrongly")
            try await machine.say("own notifications")
        }
        let program = try await start()
        try happen(done: 1)
        if isThere {
            #expect(await machine.hears("Notify notifications"))
            try await machine.say("drop notifications")
        }
        #expect(bench.daemon.acknowledged.isEmpty)
        let before = notes.count
        try await machine.say("answers notifications well")
        try await machine.say("own notifications")
        #expect(await acknowledges(1))
        #expect(notes.count == before + 1 && notes.last?.summary == "Done: f1.iso")
        await end(program)
    }

    @Test(.timeLimit(.minutes(1))) func aBusThatComesLaterIsFound() async throws {
        try await machine.kill()
        let program = try await start()
        try happen(done: 1)
        try await machine.start()
        try await machine.say("own notifications")
        #expect(await acknowledges(1))
        await end(program)
    }

    /// The daemon sends again what was not acknowledged, and that alone is shown.
    @Test(.timeLimit(.minutes(1))) func aRestartOfTheDaemonShowsNothingTwice() async throws {
        try await machine.say("own notifications")
        let program = try await start()
        try happen(done: 1)
        #expect(await acknowledges(1))
        try await machine.say("drop notifications")
        try happen(done: 1, from: 2)
        let before = bench.daemon.subscribers
        await bench.daemon.stop()
        try await bench.daemon.start()
        #expect(await eventually { bench.daemon.subscribers >= max(1, before) })
        try await machine.say("own notifications")
        #expect(await acknowledges(2))
        #expect(notes.map(\.summary) == ["Done: f1.iso", "Done: f2.iso"])
        await end(program)
    }

    @Test(.timeLimit(.minutes(1))) func buttonsOpenWhatTheyName() async throws {
        for service in ["notifications", "files"] { try await machine.say("own \(service)") }
        let bin = bench.folder + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        try await Files.program(bin + "/xdg-open", "#!/bin/sh\necho \"$*\" >>'\(bench.folder)/opened'\n")
        let web = FakeWeb()
        try FileManager.default.createDirectory(atPath: bench.folder + "/dld-web", withIntermediateDirectories: true)
        try await web.start(at: bench.folder + "/dld-web/web.sock")
        let program = try await start()
        try bench.daemon.happen(.taskCompleted, TaskID(7), ["file": "/d/a b.iso", "bytes": 1, "url": "http://h/x"])
        #expect(await acknowledges(1))
        func opened() -> [String] {
            ((try? Files.text(bench.folder + "/opened")) ?? "").split(separator: "\n").map(String.init)
        }
        // Another's note, and an action that there is not.
        try await machine.say("emit notifications ActionInvoked us 5 open")
        try await machine.say("emit notifications ActionInvoked us 1 nonsense")
        try await machine.say("emit notifications ActionInvoked us 1 open")
        #expect(await eventually { opened() == ["/d/a b.iso"] })
        try await machine.say("emit notifications ActionInvoked us 1 folder")
        #expect(await machine.hears(#"ShowItems files [["file:///d/a%20b.iso"], ""]"#))
        try await machine.say("emit notifications ActionInvoked us 1 details")
        #expect(await eventually { opened().last == FakeWeb.link + "#/task/7" })
        #expect(opened().count == 2)
        await web.stop()
        await end(program)
    }
}

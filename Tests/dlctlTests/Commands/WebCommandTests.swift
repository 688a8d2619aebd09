import Foundation
import TestSupport
import Testing

/// `dlctl web` against the control socket of a dld-web, and with a systemctl that a test plays.
@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct WebCommandTests {
    private let folder: TemporaryFolder
    private let web = FakeWeb()

    init() throws { folder = try TemporaryFolder() }

    private var environment: [String: String] {
        [
            "HOME": folder.path, "PATH": folder.file("bin") + ":/usr/bin:/bin", "XDG_STATE_HOME": folder.file("state"),
            "LANG": "C.UTF-8", "TZ": "UTC",
        ]
    }

    private func socket() throws -> String { try folder.nested("state/dld-web") + "/web.sock" }

    private func start(_ arguments: String...) throws -> Program {
        try Program(["web"] + arguments, environment: environment, folder: folder.path)
    }

    private func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program(["web"] + arguments, environment: environment, folder: folder.path).finish()
    }

    /// A program that notes its arguments and ends with the status that `script` says.
    private func stub(_ name: String, _ script: String = "") async throws {
        let text = "#!/bin/sh\necho \"$*\" >>'\(folder.file(name + ".log"))'\n\(script)\n"
        try await Files.program(try folder.nested("bin") + "/" + name, text)
    }

    private func calls(_ name: String) -> [String] {
        ((try? Files.text(folder.file(name + ".log"))) ?? "").split(separator: "\n").map(String.init)
    }

    @Test func aLinkIsOneLine() async throws {
        try await web.start(at: try socket())
        let plain = try await run()
        #expect(plain.status == 0 && plain.output == FakeWeb.link + "\n", "\(plain)")
        let ofTask = try await run("7")
        #expect(ofTask.output == FakeWeb.link + "#/task/7\n", "\(ofTask)")
        #expect(web.asked.map { $0.prefix(8) } == ["web.link", "web.link"])
        let json = try await run("--json")
        #expect(json.output == #"{"expiresAt":"2026-01-31T08:00:00.000Z","url":"\#(FakeWeb.link)"}"# + "\n", "\(json)")
        await web.stop()
    }

    @Test func theLinkIsOpenedOnTheDesktop() async throws {
        try await web.start(at: try socket())
        let missing = try await Program(
            ["web", "--open"], environment: environment.merging(["PATH": folder.file("none")]) { $1 },
            folder: folder.path
        ).finish()
        #expect(missing.status == 1 && missing.error.contains("xdg-open"), "\(missing)")
        try await stub("xdg-open")
        let outcome = try await run("7", "--open")
        #expect(outcome.status == 0 && outcome.output == FakeWeb.link + "#/task/7\n", "\(outcome)")
        #expect(await eventually { calls("xdg-open") == [FakeWeb.link + "#/task/7"] })
        await web.stop()
    }

    @Test func signedInBrowsersAreListedAndRevoked() async throws {
        try await web.start(at: try socket())
        let list = try await run("--list")
        #expect(list.status == 0 && list.lines.count == 2 && list.lines.last?.contains("ab12") == true, "\(list)")
        let revoked = try await run("--revoke", "all")
        #expect(revoked.status == 0 && revoked.error.contains("2 browsers"), "\(revoked)")
        #expect(web.asked.last == #"web.revoke {"session":"all"}"#)
        #expect(try await run("--revoke", "all", "7").status == 2)
        await web.stop()
    }

    @Test func theSocketInTheRuntimeFolderIsFoundToo() async throws {
        try await web.start(at: try folder.nested("run/dld") + "/web.sock")
        let outcome = try await Program(
            ["web"], environment: environment.merging(["XDG_RUNTIME_DIR": folder.file("run")]) { $1 },
            folder: folder.path
        ).finish()
        #expect(outcome.status == 0 && outcome.output == FakeWeb.link + "\n", "\(outcome)")
        await web.stop()
    }

    @Test func withoutAnEnabledUnitTheCommandIsNamed() async throws {
        try await stub("systemctl", "exit 1")
        let outcome = try await run()
        #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.error.contains("systemctl --user enable --now dld-web.socket"))
        #expect(!calls("systemctl").contains { $0.contains("start") })
    }

    @Test(arguments: ["dld-web.socket", "dld-web.service"]) func anEnabledUnitIsStarted(unit: String) async throws {
        try await stub("systemctl", "case \"$*\" in (*is-enabled*\(unit) | *' start '*) exit 0 ;; esac; exit 1")
        let socket = try socket()
        let program = try start()
        #expect(await eventually { calls("systemctl").last?.hasPrefix("--user start") == true })
        #expect(calls("systemctl").last?.hasSuffix("dld-web.service") == true)
        #expect(calls("systemctl").last?.contains(unit) == true)
        try await web.start(at: socket)
        let outcome = await program.finish()
        #expect(outcome.status == 0 && outcome.output == FakeWeb.link + "\n", "\(outcome)")
        await web.stop()
    }

    @Test func nothingIsStartedIfThatIsForbidden() async throws {
        try await stub("systemctl")
        let outcome = try await run("--no-start")
        #expect(outcome.status == 3 && calls("systemctl").isEmpty, "\(outcome)")
    }
}

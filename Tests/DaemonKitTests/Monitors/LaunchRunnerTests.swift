import Glibc
import Logging
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit

struct LaunchRunnerTests {
    private let temporary: TemporaryFolder
    private let session = SessionKey(owner: UserID(1), identifier: "photos")

    init() throws { temporary = try TemporaryFolder() }

    private func runner(
        _ mode: LaunchRunner.Mode = .user, systemctl: String = "systemctl", environment: [String: String] = [:]
    ) -> LaunchRunner {
        LaunchRunner(
            mode: mode, environment: environment.merging(["PATH": "/usr/bin:/bin"]) { old, _ in old },
            socket: "/run/dld.sock", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            systemctl: systemctl)
    }

    private func launch(argv: [String]? = nil, unit: String? = nil) -> LaunchSpec {
        var launch = LaunchSpec()
        launch.argv = argv
        launch.unit = unit
        return launch
    }

    private func waitForEnd(_ runner: LaunchRunner, _ session: SessionKey) async {
        while await runner.isRunning(session) { await Task.yield() }
    }

    @Test func aCommandRunsWithACleanEnvironment() async throws {
        let file = temporary.file("out")
        let runner = runner(environment: ["DLD_SECRET": "x", "HOME": "/home/me", "NOTIFY_SOCKET": "/run/n"])
        let started = await runner.launch(
            launch(argv: ["sh", "-c", "env > \(file)"]), for: session, interval: 60, now: 0)
        #expect(started)
        await waitForEnd(runner, session)
        let variables = Set(try Files.text(file).split(separator: "\n").map(String.init))
        #expect(variables.isSuperset(of: ["HOME=/home/me", "DLD_SESSION=photos", "DLD_SOCKET=/run/dld.sock"]))
        #expect(!variables.contains { $0.hasPrefix("DLD_SECRET") || $0.hasPrefix("NOTIFY_SOCKET") })
    }

    @Test func itIsStartedOnceInAnInterval() async throws {
        let runner = runner()
        let spec = launch(argv: ["true"])
        let other = SessionKey(owner: UserID(1), identifier: "other")
        #expect(await runner.launch(spec, for: session, interval: 60, now: 0))
        await waitForEnd(runner, session)
        #expect(await !runner.launch(spec, for: session, interval: 60, now: 59_999))
        #expect(await runner.launch(spec, for: other, interval: 60, now: 59_999))
        #expect(await runner.launch(spec, for: session, interval: 60, now: 60_000))
    }

    @Test func itIsNotStartedBesideItself() async throws {
        let runner = runner()
        let gate = temporary.file("gate")
        #expect(mkfifo(gate, 0o600) == 0)
        #expect(await runner.launch(launch(argv: ["cat", gate]), for: session, interval: 0, now: 0))
        #expect(await !runner.launch(launch(argv: ["true"]), for: session, interval: 0, now: 99_000))
        try Files.write(gate, "go")
        await waitForEnd(runner, session)
        #expect(await runner.launch(launch(argv: ["true"]), for: session, interval: 0, now: 99_000))
    }

    @Test func aMissingProgramIsNoLaunchAndNotTriedAtOnceAgain() async {
        let runner = runner()
        #expect(await !runner.launch(launch(argv: ["/no/such/program"]), for: session, interval: 60, now: 0))
        #expect(await !runner.launch(launch(argv: ["true"]), for: session, interval: 60, now: 1))
    }

    @Test(arguments: [
        (LaunchRunner.Mode.user, ["--user", "--no-block", "start", "--", "app@1.service"]),
        (
            .system(allowedUnits: ["app@1.service"]),
            ["--no-block", "--no-ask-password", "start", "--", "app@1.service"]
        ),
    ])
    func aUnitIsStartedBySystemctl(mode: LaunchRunner.Mode, arguments: [String]) async throws {
        let file = temporary.file("out")
        let script = temporary.file("systemctl")
        try await Files.program(script, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \(file)\n")
        let runner = runner(mode, systemctl: script)
        #expect(await runner.launch(launch(unit: "app@1.service"), for: session, interval: 60, now: 0))
        await waitForEnd(runner, session)
        #expect(try Files.text(file).split(separator: "\n").map(String.init) == arguments)
    }

    @Test func whatMayNotBeStartedIsRefused() {
        let system = runner(.system(allowedUnits: ["good.service"]))
        #expect(code { try system.validate(launch(unit: "good.service")) } == nil)
        #expect(code { try system.validate(launch(unit: "other.service")) } == .permissionDenied)
        #expect(code { try system.validate(launch(argv: ["true"])) } == .permissionDenied)
        let user = runner()
        for unit in ["", "-H", "a b", "a;b", "a/b", "a\n"] {
            #expect(code { try user.validate(launch(unit: unit)) } == .badField)
        }
        #expect(code { try user.validate(launch()) } == .badField)
        #expect(code { try user.validate(launch(argv: [])) } == .badField)
        #expect(code { try user.validate(launch(argv: ["a"], unit: "b")) } == .badField)
    }
}

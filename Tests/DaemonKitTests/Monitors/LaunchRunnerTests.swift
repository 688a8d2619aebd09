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
            socket: "/run/dld.sock", systemctl: systemctl)
    }

    private func launch(argv: [String]? = nil, unit: String? = nil) -> LaunchSpec {
        var launch = LaunchSpec()
        launch.argv = argv
        launch.unit = unit
        return launch
    }

    /// Starts it and waits for its end. Returns the exit status.
    @discardableResult
    private func run(_ runner: LaunchRunner, _ launch: LaunchSpec) async throws -> Int32 {
        let program = try runner.prepare(launch, for: session, subscriber: "app")
        return await withCheckedContinuation { continuation in
            program.begin { continuation.resume(returning: $0) }
        }
    }

    @Test func aCommandRunsWithACleanEnvironment() async throws {
        let file = temporary.file("out")
        let runner = runner(environment: ["DLD_SECRET": "x", "HOME": "/home/me", "NOTIFY_SOCKET": "/run/n"])
        #expect(try await run(runner, launch(argv: ["sh", "-c", "env > \(file)"])) == 0)
        let variables = Set(try Files.text(file).split(separator: "\n").map(String.init))
        let expected: Set = [
            "HOME=/home/me", "DLD_SESSION=photos", "DLD_SUBSCRIBER=app", "DLD_SOCKET=/run/dld.sock",
        ]
        #expect(variables.isSuperset(of: expected))
        #expect(!variables.contains { $0.hasPrefix("DLD_SECRET") || $0.hasPrefix("NOTIFY_SOCKET") })
    }

    @Test func aMissingProgramIsRefusedByName() throws {
        let missing = temporary.file("no-program")
        for path in [missing, temporary.path] {
            let error = #expect(throws: TransferError.self) {
                _ = try runner().prepare(launch(argv: [path]), for: session, subscriber: "app")
            }
            #expect(error?.message.contains("Cannot start \(path)") == true)
        }
    }

    @Test func howItEndedIsTold() async throws {
        #expect(try await run(runner(), launch(argv: ["sh", "-c", "exit 3"])) == 3)
        #expect(try await run(runner(), launch(argv: ["sh", "-c", "kill -9 $$"])) == 137)
    }

    @Test(arguments: [
        (LaunchRunner.Mode.user, ["--user", "--wait", "start", "--", "app@1.service"]),
        (
            .system(allowedUnits: ["app@1.service"]),
            ["--wait", "--no-ask-password", "start", "--", "app@1.service"]
        ),
    ])
    func aUnitIsStartedBySystemctl(mode: LaunchRunner.Mode, arguments: [String]) async throws {
        let file = temporary.file("out")
        let script = temporary.file("systemctl")
        try await Files.program(script, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \(file)\n")
        let runner = runner(mode, systemctl: script)
        #expect(try await run(runner, launch(unit: "app@1.service")) == 0)
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

    /// Authors of services rely on docs/services.md.
    @Test func theDocumentNamesEachVariable() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let document = try Files.text("/\(root)/docs/services.md")
        for name in LaunchRunner.handedOn.union(["LC_*", "DLD_SESSION", "DLD_SUBSCRIBER", "DLD_SOCKET"]) {
            #expect(document.contains("`\(name)`"), "\(name)")
        }
    }
}

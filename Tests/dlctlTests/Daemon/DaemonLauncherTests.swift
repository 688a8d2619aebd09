import Foundation
import TestSupport
import Testing

@testable import dlctl

/// Starts a daemon on demand. Scripts replace the daemon.
@Suite struct DaemonLauncherTests {
    private let temporary: TemporaryFolder
    private var folder: URL { URL(filePath: temporary.path) }

    init() throws {
        temporary = try TemporaryFolder()
        try temporary.folder("bin")
    }

    private var environment: [String: String] { ["HOME": folder.path, "PATH": folder.path + "/bin:/usr/bin:/bin"] }

    private func install(_ script: String) async throws {
        try await Files.program(folder.appending(path: "bin/fake-dld").path, "#!/bin/sh\n" + script)
    }

    private func launcher(patience: Duration = .seconds(20)) -> DaemonLauncher {
        var launcher = DaemonLauncher(environment: environment, socket: folder.path + "/s")
        launcher.program = "fake-dld"
        launcher.patience = patience
        return launcher
    }

    private func failure(_ launcher: DaemonLauncher) async -> String {
        do {
            let _: Int = try await launcher.start { nil }
            return "started"
        } catch CommandFailure.noDaemon(let text) {
            return text
        } catch {
            return "\(error)"
        }
    }

    /// Service users have no home folder.
    @Test func whereNoStateFolderCanBeMadeTheSystemsDaemonIsNamed() async throws {
        try await install("exit 0")
        var launcher = DaemonLauncher(
            environment: ["HOME": "/proc/none", "PATH": folder.path + "/bin"], socket: folder.path + "/s")
        launcher.program = "fake-dld"
        let text = await failure(launcher)
        #expect(text.contains("/proc/none/.local/state/dld cannot be created"), "\(text)")
        #expect(text.contains("XDG_STATE_HOME") && text.contains("systemctl enable --now dld.service"), "\(text)")
    }

    @Test func itIsDetachedAndToldItsSocket() async throws {
        let mark = folder.appending(path: "mark").path
        try await install(
            "echo hello >&2; ps -o pid=,sid= -p $$ > \(mark).new; echo \"$@\" >> \(mark).new; pwd >> \(mark).new; mv \(mark).new \(mark); exec sleep 60"
        )
        let text: String = try await launcher().start { try? String(contentsOfFile: mark, encoding: .utf8) }
        let lines = text.split(separator: "\n")
        let numbers = lines[0].split(separator: " ").compactMap { Int32($0) }
        defer { numbers.first.map { _ = kill($0, SIGKILL) } }
        #expect(numbers.count == 2 && numbers[0] == numbers[1], "leads a session of its own")
        #expect(lines[1] == "--socket \(folder.path)/s")
        #expect(lines[2] == "/", "does not hold the caller's folder")
        let log = folder.path + "/.local/state/dld/dld.log"
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "hello\n")
        let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        for made in ["/.local/state/dld", "/.local/state", "/.local"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + made)[.posixPermissions] as? Int
            #expect(mode == 0o700, "\(made)")
        }
    }

    @Test func aLongLogIsPutAside() async throws {
        try await install("echo new words >&2; exit 7")
        let state = temporary.file(".local/state/dld")
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: state + "/dld.log", contents: Data("old words\n".utf8)))
        _ = await failure(launcher())
        #expect(try String(contentsOfFile: state + "/dld.log", encoding: .utf8) == "old words\nnew words\n")
        #expect(truncate(state + "/dld.log", (10 << 20) + 1) == 0)
        let text = await failure(launcher())
        #expect(text.hasSuffix("\n  new words"), "\(text)")
        #expect(try String(contentsOfFile: state + "/dld.log", encoding: .utf8) == "new words\n")
        #expect(try FileManager.default.attributesOfItem(atPath: state + "/dld.log.1")[.size] as? Int == (10 << 20) + 1)
    }

    @Test func aDaemonThatEndsIsQuoted() async throws {
        try await install("echo old words; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 7")
        let text = await failure(launcher())
        #expect(text.contains("dld ended with status 7"))
        #expect(text.contains("line 12") && text.contains("line 3") && !text.contains("line 2\n"))
    }

    @Test func aSilentDaemonIsNotWaitedForEver() async throws {
        let mark = folder.appending(path: "pid").path
        try await install("echo $$ > \(mark); exec sleep 60")
        let text = await failure(launcher(patience: .milliseconds(300)))
        #expect(text.contains("does not answer within"))
        let pid = (try? String(contentsOfFile: mark, encoding: .utf8)).flatMap { Int32($0.dropLast()) }
        pid.map { _ = kill($0, SIGKILL) }
    }

    @Test func anAbsentProgramIsSaid() async {
        #expect(await failure(launcher()).contains("neither next to dlctl nor in PATH"))
    }

    @Test func theStateFolderIsTheDaemons() {
        #expect(DaemonLauncher.stateFolder(environment: ["HOME": "/h"]) == "/h/.local/state/dld")
        #expect(DaemonLauncher.stateFolder(environment: ["HOME": "/h", "XDG_STATE_HOME": "/x"]) == "/x/dld")
        #expect(DaemonLauncher.stateFolder(environment: ["HOME": "/h", "STATE_DIRECTORY": "/s"]) == "/s")
        #expect(
            DaemonLauncher.stateFolder(environment: ["HOME": "/h", "XDG_STATE_HOME": "relative"])
                == "/h/.local/state/dld")
        #expect(DaemonLauncher.stateFolder(environment: [:]) == nil)
    }
}

import Foundation
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// The generated completions in the real shells, typed on a terminal.
    struct ShellCompletion {
        private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        private var completions: String { Self.root.appending(path: "completions").path }

        /// Types each text after the previous one was seen on the terminal, and prints everything that was shown.
        private static let typist = """
            import os, pty, select, sys, time
            pid, terminal = pty.fork()
            if pid == 0:
                os.execvp(sys.argv[1].split()[0], sys.argv[1].split())
            shown, end = b"", time.monotonic() + 60
            for step in sys.argv[2:]:
                kind, text = step.split(" ", 1)
                if kind == "type":
                    shown = b""
                    os.write(terminal, text.encode())
                    continue
                while text.encode() not in shown:
                    if time.monotonic() > end or not select.select([terminal], [], [], 1)[0]:
                        if time.monotonic() > end: sys.exit("not shown: %r in %r" % (text, shown))
                        continue
                    try: piece = os.read(terminal, 65536)
                    except OSError: sys.exit("ended: %r in %r" % (text, shown))
                    shown += piece
                    sys.stdout.write(piece.decode(errors="replace"))
            os.kill(pid, 9)
            """

        private func environment(_ scene: Scene) throws -> [String: String] {
            var environment = Program.plainEnvironment
            let folder = (try Binaries.path("dlctl") as NSString).deletingLastPathComponent
            environment["PATH"] = folder + ":" + (environment["PATH"] ?? "")
            environment["DLD_SOCKET"] = scene.daemon.socket
            environment["HOME"] = scene.folder.path
            environment["TERM"] = "xterm"
            environment["NO_COLOR"] = "1"
            return environment
        }

        private func type(_ shell: String, _ steps: [String], _ scene: Scene) async throws -> String {
            let (status, output) = try await Program.run(
                ["python3", "-c", Self.typist, shell] + steps, environment: try environment(scene))
            #expect(status == 0, "\(output)")
            return output
        }

        /// Tasks 1 and 2 are paused and 3 has ended. The sessions are podcasts, and one whose name would run a command.
        private func scene() async throws -> Scene {
            let scene = try await Scene()
            scene.origin.serve("/c.iso", .good(Resource.version(1, size: 100)))
            for name in ["a.iso", "b.iso"] { _ = try await scene.add("/\(name)", to: name, ["startPaused": true]) }
            try await scene.probe.wait(for: try await scene.add("/c.iso", to: "c.iso"), "completed")
            for name in ["podcasts", "q$(touch \(scene.file("pwned")))"] {
                try await scene.probe.call("session.open", ["id": .string(name)])
            }
            return scene
        }

        @Test(.timeLimit(.minutes(2)))
        func bashCompletesIDsAndSessions() async throws {
            let scene = try await scene()
            let output = try await type(
                "bash --norc --noprofile -i",
                [
                    "type source \(completions)/dlctl.bash; echo rea''dy\n", "wait ready",
                    // One task has ended: its id is inserted.
                    "type dlctl remove \t\n", "wait removed 3",
                    // Two tasks are paused: both ids are shown.
                    "type dlctl resume \t\t", "wait 1  2", "type 2\t\n", "wait resumed 2",
                    "type dlctl session show pod\t\n", "wait state          active",
                    // What bash would expand is not offered.
                    "type dlctl session show \t\t", "wait podcasts  shared",
                ], scene)
            #expect(!output.contains("rror"), "\(output)")
            #expect(!scene.names.contains("pwned"))
        }

        @Test(.enabled(if: Requirements.has("zsh"), "zsh is installed"), .timeLimit(.minutes(2)))
        func zshCompletesIDsWithNamesAndSessions() async throws {
            let scene = try await scene()
            let output = try await type(
                "zsh -f -i",
                [
                    "type fpath=(\(completions) $fpath); autoload -Uz compinit; compinit -D -u; echo rea''dy\n",
                    "wait ready", "type dlctl remove \t\n", "wait removed 3", "type dlctl resume \t",
                    "wait a.iso, paused", "type 2\t\n", "wait resumed 2",
                    "type dlctl session show pod\t\n", "wait state          active",
                    "type dlctl session show q\t", "wait q\\$\\(touch", "type \n", "wait unseen events",
                ], scene)
            #expect(output.contains("2  -- b.iso, paused"), "\(output)")
            #expect(!scene.names.contains("pwned"))
        }

        @Test(.enabled(if: Requirements.has("fish"), "fish is installed"), .timeLimit(.minutes(2)))
        func fishCompletesIDsWithNamesAndSessions() async throws {
            let scene = try await scene()
            let output = try await type(
                "fish --no-config --interactive",
                [
                    "type source \(completions)/dlctl.fish; echo rea''dy\n", "wait ready",
                    "type dlctl remove \t\n", "wait removed 3",
                    "type dlctl resume \t", "wait b.iso, paused", "type 2\n", "wait resumed 2",
                    "type dlctl session show pod\t\n", "wait state          active",
                    "type dlctl session show q\t\n", "wait unseen events",
                ], scene)
            #expect(output.contains("a.iso, paused"), "\(output)")
            #expect(!scene.names.contains("pwned"))
        }

        /// A key press must neither start a daemon nor print anything on the terminal.
        @Test(arguments: ["bash", "zsh", "fish"])
        func withoutADaemonNothingHappens(_ shell: String) async throws {
            let folder = try TemporaryFolder()
            var environment = Program.plainEnvironment
            environment["HOME"] = folder.path
            environment["SAP_SHELL"] = shell
            for words in [
                ["pause", "--", "positional@0", "2", "0", "dlctl", "pause", ""],
                ["add", "--", "--session", "3", "0", "dlctl", "add", "-s", ""],
                ["add", "--", "--nonsense", "3", "0", "dlctl", "add"], ["nonsense"], [],
            ] {
                let (_, output) = try await Program.run(
                    [try Binaries.path("dlctl"), "---completion"] + words, environment: environment)
                #expect(output.split(whereSeparator: \.isWhitespace).isEmpty, "\(words): \(output)")
            }
            #expect(Files.names(in: folder.path).isEmpty)
        }
    }
}

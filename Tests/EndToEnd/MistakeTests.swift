import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What dlctl says about slips, and about a wrong environment.
    struct Mistakes {
        private func shell(_ scene: Scene, _ script: String) async throws -> (status: Int32, output: String) {
            // Closes the descriptors inherited from the process that runs the tests.
            let dlctl = """
                for fd in /proc/$$/fd/*; do n=${fd##*/}; (( n > 2 && n < 255 )) && eval "exec $n>&-"; done
                dlctl() { '\(try Binaries.path("dlctl"))' --socket '\(scene.daemon.socket)' --no-start "$@"; }

                """
            return try await Program.run(["bash", "-c", dlctl + script])
        }

        @Test(.timeLimit(.minutes(1)))
        func aMisspeltSessionIsNotAnEmptyOne() async throws {
            let scene = try await Scene()
            for command in [["wait", "-s", "typo"], ["list", "-s", "typo"], ["list", "--json", "-s", "typo"]] {
                let (status, output) = try await scene.daemon.dlctl(command)
                #expect(status == 4 && output.contains("session.not_found"), "\(command): \(output)")
            }
            #expect(try await scene.daemon.dlctl(["wait", "-s", "shared"]).status == 0)
            #expect(try await scene.daemon.dlctl(["list", "-s", "shared"]).status == 0)
        }

        @Test(.timeLimit(.minutes(1)))
        func watchTellsByItsStatusHowTasksEnded() async throws {
            let scene = try await Scene()
            scene.origin.serve("/good", .good(.version(1, size: 100)))
            scene.origin.serve("/missing", .status(404))
            let good = try await scene.add("/good", to: "a"), bad = try await scene.add("/missing", to: "b")
            #expect(try await scene.daemon.dlctl(["watch", "--json", "\(good)", "\(bad)"]).status == 1)
            try await scene.probe.wait(for: bad, "failed")
            #expect(try await scene.daemon.dlctl(["watch", "\(bad)"]).status == 1)
            #expect(try await scene.daemon.dlctl(["watch", "\(good)"]).status == 0)
            let (status, output) = try await scene.daemon.dlctl(["watch", "--json", "\(good)", "\(bad)"])
            #expect(status == 1)
            let lines = output.split(separator: "\n").map(String.init)
            #expect(lines.count == 2, "\(output)")
            #expect(lines.first?.contains(#""type":"task.completed""#) == true)
            #expect(lines.last?.contains(#""type":"task.failed""#) == true)
        }

        @Test(.timeLimit(.minutes(1)))
        func refusalsSayWhatIsWrong() async throws {
            let scene = try await Scene()
            scene.origin.serve("/good", .good(.version(1, size: 100)))
            scene.origin.serve("/missing", .status(404))
            let id = try await scene.add("/good", to: "a")
            try await scene.probe.wait(for: id, "completed")
            let paused = try await scene.daemon.dlctl(["pause", "\(id)"])
            #expect(
                paused.output == "dlctl: \(id): refused (task.wrong_state): it is completed\n" && paused.status == 4)
            let quiet = try await scene.daemon.dlctl(
                ["add", "-w", "-q", "-o", scene.file("b"), scene.origin.url("/missing")])
            #expect(quiet.status == 1 && quiet.output.contains("failed (http.status 404)"), "\(quiet)")
            let gone = try await shell(
                scene, "mkdir '\(scene.file("c"))' && cd '\(scene.file("c"))' && rmdir . ../c; dlctl add http://a/b")
            #expect(
                gone.output.hasSuffix(
                    "dlctl: the current folder no longer exists; change to another, or name one: -d /DIR\n"), "\(gone)")
            let nameless = try await shell(
                scene,
                "n=$(printf 'x\\377') && mkdir \"$n\" && cd \"$n\" && { dlctl add http://a/b; cd .. && rmdir \"$n\"; }")
            #expect(
                nameless.output.hasSuffix(
                    "dlctl: the current folder has a name that is not valid UTF-8; change to another, or name one: -d /DIR\n"
                ), "\(nameless)")
            let closed = try await shell(scene, "dlctl list >&-; echo status $?")
            #expect(closed.output == "dlctl: cannot write: Bad file descriptor\nstatus 1\n", "\(closed)")
        }

        @Test(.timeLimit(.minutes(1)))
        func aLimitIsTakenBack() async throws {
            let scene = try await Scene()
            #expect(try await scene.daemon.dlctl(["limit", "--down", "2M"]).output.contains("(runtime)"))
            let (status, output) = try await scene.daemon.dlctl(["limit", "--down", "default"])
            #expect(status == 0 && !output.contains("(runtime)"), "\(output)")
        }

        @Test(.timeLimit(.minutes(1)))
        func noDaemonIsStartedWhereAStateFolderWas() async throws {
            let folder = try TemporaryFolder()
            var environment = Program.plainEnvironment
            environment["HOME"] = folder.path
            let (status, output) = try await Program.run(
                [try Binaries.path("dlctl"), "--socket", folder.file("old/dld.sock"), "list"], environment: environment)
            #expect(status == 3 && output.contains("its folder does not exist"), "\(output)")
            #expect(!Files.exists(folder.file("old")) && !Files.exists(folder.file(".local")))
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileIsNoSocket() async throws {
            let folder = try TemporaryFolder()
            var environment = Program.plainEnvironment
            environment["HOME"] = folder.path
            try Files.write(folder.file("file"), "text")
            for path in [folder.file("file"), folder.path] {
                let (status, output) = try await Program.run(
                    [try Binaries.path("dlctl"), "--socket", path, "list"], environment: environment)
                #expect(status == 3 && output.contains("is not a socket"), "\(output)")
            }
            let (status, output) = try await Program.run(
                [try Binaries.path("dlctl"), "start", "--no-start"], environment: environment)
            #expect(status == 2 && output.contains("'info --no-start' only looks for it"), "\(output)")
            #expect(Files.names(in: folder.path) == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func fewDescriptorsEndItWithOneLine() async throws {
            let scene = try await Scene()
            let few = try await shell(scene, "ulimit -n 12; dlctl list; echo status $?")
            #expect(few.output.hasPrefix("dlctl: needs 12 free file descriptors and has "), "\(few)")
            #expect(few.output.contains("the limit is 12; raise it with ulimit -n 64\nstatus 1\n"), "\(few)")
            let enough = try await shell(
                scene, "ulimit -n 20; dlctl list; dlctl events -n 1; dlctl wait --all; echo status $?")
            #expect(enough.output.hasSuffix("status 0\n"), "\(enough)")
        }

        /// A separate terminal, in which keys are pressed after the question appears.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("python3"), "has a terminal from python3"))
        func keysWorkWhereAPasswordIsAskedFor() async throws {
            let scene = try await Scene()
            let script = """
                import os, pty, signal, sys, termios
                signal.alarm(30)
                def until(text):
                    seen = b""
                    while text not in seen: seen += os.read(terminal, 1000)
                def echoes(): return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
                def start():
                    global terminal
                    child, terminal = pty.fork()
                    if child == 0: os.execv(sys.argv[1], sys.argv[1:])
                    until(b"Password of me: ")
                    return child
                child = start()
                print("asked, echo", echoes(), flush=True)
                os.write(terminal, b"half\\x03")
                print("interrupted", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
                child = start()
                os.write(terminal, b"half\\x1a")
                stopped = os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
                print("stopped", stopped, "echo", echoes(), flush=True)
                os.kill(child, signal.SIGCONT)
                until(b"Password of me: ")
                print("asked again, echo", echoes(), flush=True)
                os.write(terminal, b"secret\\n")
                until(b"\\n")
                print("added", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
                """
            let (status, output) = try await Program.run([
                "python3", "-c", script, try Binaries.path("dlctl"), "--socket", scene.daemon.socket, "--no-start",
                "add",
                "--paused", "--user", "me", "-o", scene.file(), scene.origin.url("/file"),
            ])
            #expect(status == 0)
            #expect(
                output == """
                    asked, echo False
                    interrupted 130
                    stopped True echo True
                    asked again, echo False
                    added 0

                    """, "\(output)")
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.count == 1)
        }

        /// Each prompt, and what follows it, is ended by Ctrl-C. The name is shown as it is typed, and the password is not.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("python3"), "has a terminal from python3"))
        func keysWorkAfterAPrompt() async throws {
            let scene = try await Scene()
            let script = """
                import os, pty, signal, sys
                signal.alarm(40)
                def until(text):
                    seen = b""
                    while text not in seen: seen += os.read(terminal, 1000)
                    return seen
                def start(*arguments):
                    global terminal
                    child, terminal = pty.fork()
                    if child == 0: os.execv(sys.argv[1], sys.argv[1:5] + list(arguments))
                    return child
                def end(child): return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                child = start("credential", "add", sys.argv[5].removesuffix("/file"))
                until(b"User name for ")
                os.write(terminal, b"anna\\n")
                print("name shown", b"anna\\r\\n" in until(b"Password of anna: "), flush=True)
                os.write(terminal, b"half\\x03")
                print("second prompt interrupted", end(child), flush=True)
                child = start("credential", "add", sys.argv[5].removesuffix("/file"), "--username", "anna")
                until(b"Password of anna: ")
                os.write(terminal, b"\\n")
                until(b"no password was typed")
                print("nothing typed", end(child), flush=True)
                child = start("add", "-w", "--paused", "--user", "me", "-o", sys.argv[6], sys.argv[5])
                until(b"Password of me: ")
                os.write(terminal, b"secret\\n")
                until(b"held.bin")
                os.write(terminal, b"\\x03")
                print("display interrupted", end(child), flush=True)
                """
            let (status, output) = try await Program.run([
                "python3", "-c", script, try Binaries.path("dlctl"), "--socket", scene.daemon.socket, "--no-start",
                scene.origin.url("/file"), scene.file("held.bin"),
            ])
            #expect(status == 0)
            #expect(
                output == """
                    name shown True
                    second prompt interrupted 130
                    nothing typed 2
                    display interrupted 130

                    """, "\(output)")
            #expect(try await scene.probe.call("credentials.list")["credentials"]?.arrayValue?.isEmpty == true)
        }
    }
}

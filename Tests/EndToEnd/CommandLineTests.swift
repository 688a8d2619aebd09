import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    struct CommandLine {
        private let resource = Resource.version(1, size: 200_000)

        @Test(.timeLimit(.minutes(1)))
        func addingAndWaitingTellsByTheExitStatus() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            scene.origin.serve("/missing", .status(404))
            let good = try await scene.daemon.dlctl(["add", scene.origin.url("/file"), "-o", scene.file(), "-w"])
            #expect(good.status == 0, "\(good.output)")
            #expect(resource.content.matches(scene.file()))
            let bad = try await scene.daemon.dlctl(["add", scene.origin.url("/missing"), "-o", scene.file("b"), "-w"])
            #expect(bad.status == 1, "\(bad.output)")
            #expect(try await scene.daemon.dlctl(["add", "nonsense://x"]).status == 4)
            #expect(try await scene.daemon.dlctl(["no-such-command"]).status == 2)
            try await scene.daemon.kill()
            #expect(try await scene.daemon.dlctl(["list"]).status == 3)
        }

        /// JSON accepts no other names. With replaced letters, they would be the names of other files.
        @Test(.timeLimit(.minutes(1)))
        func namesThatAreNoUTF8AreRefused() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let program = try Binaries.path("dlctl")
            let dlctl = "\(program) --socket \(scene.daemon.socket) --no-start add \(scene.origin.url("/file"))"
            let script = """
                cd '\(scene.folder.path)' && odd=$(printf 'caf\\351') && mkdir "$odd"
                \(dlctl) -o "$odd/f" -w; echo "status $?"
                cd "$odd" && { \(dlctl) -w; echo "status $?"; \(dlctl) -o f -w; echo "status $?"; }
                """
            let (_, output) = try await Program.run(["sh", "-c", script])
            #expect(output.contains("Argument"), "\(output)")
            #expect(output.ranges(of: "the current folder has a name that is not valid UTF-8").count == 2, "\(output)")
            #expect(output.ranges(of: "status 2").count == 3, "\(output)")
            #expect(scene.origin.requests("/file").isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func aPatternFetchesEachOfItsFiles() async throws {
            let scene = try await Scene()
            for path in ["/a/08", "/a/09", "/a/10", "/b/08", "/b/09", "/b/10"] {
                scene.origin.serve(path, .good(resource))
            }
            let (status, output) = try await scene.daemon.dlctl([
                "add", "-w", "-d", scene.folder.path, "-o", "#1-#2.bin", scene.origin.url("/{a,b}/[08-10]"),
            ])
            #expect(status == 0, "\(output)")
            #expect(
                scene.names.sorted() == ["a-08.bin", "a-09.bin", "a-10.bin", "b-08.bin", "b-09.bin", "b-10.bin"])
            scene.origin.serve("/[1]", .good(resource))
            let literal = try await scene.daemon.dlctl([
                "add", "-w", "-g", "-o", scene.file("one"), scene.origin.url("/[1]"),
            ])
            #expect(literal.status == 0, "\(literal)")
            let bad = try await scene.daemon.dlctl(["add", scene.origin.url("/[1]")])
            #expect(bad.status == 2 && bad.output.contains("'[1]' is not a range"), "\(bad)")
            let standardOutput = try await scene.daemon.dlctl(["add", "-o", "-", scene.origin.url("/a/08")])
            #expect(standardOutput.status == 2 && standardOutput.output.contains("dlctl fetch URL"))
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.count == 7)
        }

        /// Tasks 1 to 6: task 3 was removed, task 1 has ended and the others are paused.
        @Test(.timeLimit(.minutes(1)))
        func rangesNameWhatExists() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            for name in 2...6 { _ = try await scene.add("/file", to: "\(name)", ["startPaused": true]) }
            func run(_ words: String...) async throws -> (status: Int32, output: String) {
                try await scene.daemon.dlctl(words)
            }
            #expect(try await run("cancel", "3").status == 0)
            #expect(try await run("remove", "3-3") == (0, "removed 3\n"))
            let listed = try await run("list", "1-4", "6")
            #expect(listed.status == 0 && listed.output.contains("no such tasks: 3\n"))
            #expect(listed.output.split(separator: "\n").count == 6, "\(listed)")
            #expect(try await run("show", "2-4").output.contains("\n\n4  4\nNow:  paused for "))
            #expect(try await run("explain", "5-6").output.contains("  dlctl resume 6\n"))
            #expect(
                try await run("events", "--task", "3-4", "--type", "task.removed").output.contains("  3  task.removed"))
            #expect(try await run("update", "2-4", "--limit", "1M") == (0, "updated 2\nupdated 4\nno such tasks: 3\n"))
            #expect(try await run("update", "99", "6", "--limit", "1M").status == 4)
            #expect(try await scene.probe.task(6)["rateLimit"] == 1_048_576)
            let resumed = try await run("resume", "1-5", "6", "99")
            #expect(resumed.status == 4 && resumed.output.hasPrefix("resumed 6\nresumed 2, 4-5\nleft as they are: 1\n"))
            #expect(resumed.output.contains("no such tasks: 3\n"))
            #expect(resumed.output.contains("99: refused (task.not_found)"))
            #expect(try await run("wait", "1-9223372036854775807").status == 0)
            #expect(try await run("watch", "1-6").status == 0)
            let nothing = try await run("cancel", "50-60")
            #expect(nothing.status == 4 && nothing.output.contains("There is no task from 50 to 60."))
            #expect(try await run("show", "50-60").status == 4)
            #expect(try await run("remove", "1-1000000") == (0, "removed 1-2, 4-6\nno such tasks: 3, 7-1000000\n"))
        }

        /// Two files of one document: the first mirror of one is gone, and at the first mirror of the other a piece is
        /// wrong.
        @Test(.timeLimit(.minutes(1)))
        func aMetalinkBringsMirrorsAndDigests() async throws {
            let scene = try await Scene()
            let mirror = try MisbehavingOrigin()
            var damaged = resource.content.bytes
            damaged[150_000] ^= 1
            scene.origin.serve("/a", .status(404))
            scene.origin.serve("/b", .good(Resource(Content(bytes: damaged), etag: "\"x\"")))
            mirror.serve("/a", .good(resource))
            mirror.serve("/b", .good(resource))
            func file(_ name: String, _ path: String) -> String {
                let bytes = resource.content.bytes
                let pieces = [bytes[..<100_000], bytes[100_000...]]
                    .map { "<hash>\(Content.hexDigest(of: $0))</hash>" }.joined()
                return """
                    <file name="\(name)"><size>200000</size>
                    <hash type="sha-256">\(Content.hexDigest(of: bytes[...]))</hash>
                    <pieces type="sha-256" length="100000">\(pieces)</pieces>
                    <url priority="2">\(mirror.url(path))</url><url priority="1">\(scene.origin.url(path))</url></file>
                    """
            }
            let document = """
                <?xml version="1.0" encoding="UTF-8"?>
                <metalink xmlns="urn:ietf:params:xml:ns:metalink">\(file("sub/a", "/a"))\(file("b", "/b"))</metalink>
                """
            try Files.write(scene.file("list.meta4"), Array(document.utf8))
            let (status, output) = try await scene.daemon.dlctl(
                ["add", "-w", "-d", scene.folder.path, "--metalink", scene.file("list.meta4")])
            #expect(status == 0, "\(output)")
            #expect(resource.content.matches(scene.file("sub/a")) && resource.content.matches(scene.file("b")))
            #expect(mirror.requests("/b").map { $0.header("Range") } == ["bytes=100000-"])
            try Files.write(scene.file("bad.meta4"), Array("<metalink>".utf8))
            #expect(try await scene.daemon.dlctl(["add", "--metalink", scene.file("bad.meta4")]).status == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatIsPrintedAsJSONIsJSON() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            for command in [["list"], ["show", "\(id)"], ["info"], ["stats"], ["settings"], ["session", "list"]] {
                let (status, output) = try await scene.daemon.dlctl(["--json"] + command)
                #expect(status == 0, "\(command): \(output)")
                #expect(throws: Never.self, "\(command): \(output)") {
                    try ForeignJSON.value(output.utf8)
                }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theDaemonIsStartedOnDemand() async throws {
            let origin = try MisbehavingOrigin()
            origin.serve("/file", .good(resource))
            let folder = try TemporaryFolder()
            var environment = Program.plainEnvironment
            environment["HOME"] = folder.path
            environment["XDG_STATE_HOME"] = folder.file("state")
            environment["XDG_CONFIG_HOME"] = folder.file("config")
            environment["XDG_RUNTIME_DIR"] = try folder.folder("run", mode: 0o700)
            let (status, output) = try await Program.run(
                [try Binaries.path("dlctl"), "add", origin.url("/file"), "-o", folder.file("file"), "-w"],
                environment: environment)
            #expect(status == 0, "\(output)")
            #expect(resource.content.matches(folder.file("file")))
            let probe = try await RPCProbe(folder.file("run/dld/dld.sock"))
            let pid = try #require(try await probe.call("daemon.info")["pid"]?.integerValue)
            kill(pid_t(pid), SIGTERM)
            #expect(await eventually { Glibc.kill(pid_t(pid), 0) != 0 })
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// The promises of docs/operations.md to administrators.
    struct Administration {
        /// Ten thousand tasks must not write twenty thousand lines, nor one line for each server or URL.
        @Test(.timeLimit(.minutes(2)))
        func aStormOfFailuresIsSummedUp() async throws {
            let scene = try await Scene()
            scene.origin.serve("/absent", .status(404))
            let url = scene.origin.url("/absent?token=Zq7secretqZ&x=%0A%3C0%3Eforged")
            let specs = (0..<60).map { number -> JSONValue in
                [
                    "url": .string(url), "destination": ["path": .string(scene.file("file\(number)\u{2028}<0>x"))],
                ]
            }
            let ids = try await scene.probe.add(specs)
            for id in ids { try await scene.probe.wait(for: id, "failed") }
            let once: [String: JSONValue] = ["retry": ["attempts": 1]]
            let id = try await scene.probe.add("http://127.0.0.1:1/", to: scene.file("other"), once)
            try await scene.probe.wait(for: id, "failed")
            #expect(try await scene.daemon.terminate() == 0)
            let lines = scene.daemon.log.split(separator: "\n")
            let failed = lines.filter { $0.contains(" warning failed ") && $0.contains("code=http.status") }
            #expect(failed.count == 10)
            let line = try #require(failed.first)
            for part in ["owner=\(getuid()) ", "status=404 ", "host=http://127.0.0.1", "session=shared", "token=***"] {
                #expect(line.contains(part), "\(part): \(line)")
            }
            #expect(lines.contains { $0.contains(" warning failed ") && $0.contains("code=network.connect") })
            #expect(lines.contains { $0.contains(" warning failed: 50 more ") && $0.contains("total=60") })
            #expect(!scene.daemon.log.contains("Zq7secretqZ"))
            #expect(lines.allSatisfy { $0.wholeMatch(of: /20\d\d-[^ ]+Z [a-z]+ .*/) != nil })
        }

        @Test(.timeLimit(.minutes(1)))
        func settingsSayWhereTheyComeFrom() async throws {
            let folder = try TemporaryFolder()
            try Files.write(folder.file("dld.yaml"), "progressInterval: 2s\nsession:\n  proxy: http://me:Zq7@proxy:1\n")
            let scene = try await Scene(
                ["--config", folder.file("dld.yaml"), "--set", "diskPollInterval=9s"],
                environment: ["DLD_MAXIMUM_CONNECTIONS": "77"])
            let shown = try await scene.daemon.dlctl(["settings", "maximumQueuedTasksPerUser=9"])
            let words = shown.output.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            #expect(shown.status == 0 && words.contains("maximumQueuedTasksPerUser 9 settings.set"), "\(words)")
            try Files.write(folder.file("dld.yaml"), "userAgent: me\nsession:\n  proxy: http://me:Zq7@proxy:1\n")
            let all = try await scene.daemon.dlctl(["settings"])
            let lines = all.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            for line in [
                "progressInterval 2s \(folder.file("dld.yaml")):1", "500ms takes effect after a reload: default",
                "diskPollInterval 9s --set", "maximumConnections 77 DLD_MAXIMUM_CONNECTIONS",
                "me takes effect after a restart: \(folder.file("dld.yaml")):1",
                "session.proxy http://proxy:1 \(folder.file("dld.yaml")):3", "logLevel debug --log-level",
                "stateDirectory \(scene.daemon.stateFolder) --state-dir",
            ] {
                #expect(lines.contains(line), "\(line): \(all.output)")
            }
            #expect(!all.output.contains("Zq7"))
            let section = try await scene.daemon.dlctl(["settings", "--json", "session.retry"])
            let value = try ForeignJSON.value(section.output.utf8)
            #expect(value["settings"]?.arrayValue?.count == 3, "\(section.output)")
            #expect(try await scene.daemon.dlctl(["settings", "nonsense"]).status == 2)
            #expect(try await scene.daemon.dlctl(["settings", "socket=/tmp/x"]).status == 2)
        }

        /// Part files and delivered files have changed since the copy was made, and the server has another version.
        @Test(.timeLimit(.minutes(3)))
        func anOlderCopyOfTheStateFolderIsSafe() async throws {
            let scene = try await Scene()
            let (small, first, second) = (
                Resource.version(1, size: 300_000), Resource.version(2, size: 8 << 20),
                Resource.version(3, size: 9 << 20)
            )
            scene.origin.serve("/small", .good(small))
            scene.origin.serve("/moved", .good(first))
            scene.origin.serve("/changed", .good(first), .good(second))
            scene.origin.serve("/done", .good(first))
            let slow: [String: JSONValue] = ["rateLimit": .integer(1 << 20)]
            let kept = try await scene.add("/small", to: "kept")
            try await scene.probe.wait(for: kept, "completed")
            let moved = try await scene.add("/moved", to: "moved", slow)
            let changed = try await scene.add("/changed", to: "changed", slow)
            let done = try await scene.add("/done", to: "done", slow)
            let paused = try await scene.add("/small", to: "paused", ["startPaused": true])
            for id in [moved, changed, done] { try await scene.probe.wait(for: id, bytes: 2 << 20) }
            #expect(try await scene.daemon.terminate() == 0)
            let (state, copy) = (scene.daemon.stateFolder, scene.file("copy"))
            try await Program.require(["cp", "-a", state, copy])

            try await scene.daemon.start()
            var probe = try await scene.daemon.probe()
            for id in [moved, changed] { try await probe.wait(for: id, bytes: 4 << 20) }
            try await probe.call("task.update", ["id": .integer(done), "rateLimit": 0])
            try await probe.wait(for: done, "completed")
            try await probe.control("resume", paused)
            try await probe.wait(for: paused, "completed")
            let later = try await probe.add(scene.origin.url("/small"), to: scene.file("later"))
            try await probe.wait(for: later, "completed")
            #expect(try await scene.daemon.terminate() == 0)
            #expect(rename(state, state + ".old") == 0)
            try await Program.require(["cp", "-a", copy, state])

            try await scene.daemon.start()
            probe = try await scene.daemon.probe()
            #expect(try await probe.task(kept)["state"] == "completed")
            #expect(try await probe.task(paused)["state"] == "paused")
            try await probe.control("resume", paused)
            for id in [moved, changed, done] {
                try await probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            }
            let wanted = [kept: small, moved: first, changed: second, done: first, paused: small]
            for (id, resource) in wanted {
                let file = try await probe.wait(for: id, "completed", within: 60)["file"]?.stringValue
                #expect(file.map { resource.content.matches($0) } == true, "\(id): \(file ?? "no file")")
            }
            for (name, resource) in ["kept": small, "done": first, "paused": small, "later": small] {
                #expect(resource.content.matches(scene.file(name)), "\(name) is not what was delivered")
            }
            #expect(scene.names.filter { $0.hasSuffix(".dldpart") } == [])
        }

        @Test(.timeLimit(.minutes(1)))
        func aFolderThatIsRemovedDuringADownloadIsNamedAndWaitedFor() async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.2])
            let resource = Resource.version(1, size: 8 << 20)
            scene.origin.serve("/file", .good(resource))
            let folder = scene.file("folder")
            let id = try await scene.add("/file", to: "folder/file", ["rateLimit": .integer(1 << 20)])
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            try await Program.require(["rm", "-r", folder])
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk" && task.errorCode == "disk.io", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains(folder) == true, "\(task)")
            #expect(try await scene.restartCodes(id).isEmpty)
            #expect(!Files.exists(folder))
            #expect(mkdir(folder, 0o755) == 0)
            try await scene.probe.wait(for: id, "completed", within: 30)
            #expect(resource.content.matches(folder + "/file"))
        }

        /// No space that anybody frees would be enough.
        @Test(.timeLimit(.minutes(1)))
        func aFileLongerThanTheDiskFails() async throws {
            let scene = try await Scene()
            scene.origin.serve(
                "/file",
                Behaviour { _, reply in
                    try reply.head(200, "OK", [("Content-Length", "\(Int64.max)")])
                    try reply.body([UInt8](repeating: 7, count: 1 << 20)[...])
                })
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task.errorCode == "destination.not_writable", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains("does not fit") == true, "\(task)")
        }

        /// Runs every line of docs/operations.md that is marked as runnable.
        @Test(.timeLimit(.minutes(1)))
        func theCommandsOfTheDocumentRun() async throws {
            let scene = try await Scene()
            let document = try Files.text(Self.checkout + "/docs/operations.md")
            let blocks = document.matches(of: /```sh\n([\s\S]*?)```/).map { String($0.1) }
            let lines = blocks.joined().split(separator: "\n")
            #expect(lines.count > 5)
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                #expect(words.first == "dlctl")
                let run = try await scene.daemon.dlctl(Array(words.dropFirst()))
                #expect(run.status == 0, "\(line): \(run.output)")
            }
        }

        private static let checkout = #filePath.components(separatedBy: "/Tests/EndToEnd/")[0]
    }
}

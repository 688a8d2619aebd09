import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// The promises of docs/helpers.md, with scripted helpers of both kinds.
    struct Helpers {
        static let kinds = ["many", "single"]

        @Test(.timeLimit(.minutes(1)), arguments: kinds)
        func aHelperServesItsScheme(_ kind: String) async throws {
            let bench = try await HelperScene("many", "single")
            #expect(try await bench.probe.call("daemon.info")["schemes"] == ["many", "single"])
            for name in ["one", "two", "three"] {
                let id = try await bench.add(kind, ["suggest": "x"], to: name, ["headers": [["X-Own", "1"]]])
                let task = try await bench.probe.wait(for: id, "completed")
                #expect(bench.hasArrived(name))
                #expect(task["response", "mimeType"] == "application/x-demo", "\(task)")
                #expect(task["attempts"] == 1)
            }
            #expect(bench.processes.count == (kind == "many" ? 1 : 3))
            #expect(bench.loads.allSatisfy { $0["method"] == "GET" && $0["headers"] == [["X-Own", "1"]] })
            // It has no descriptors except its three and the part file.
            let own = bench.notes.filter {
                $0["descriptors"] != nil && bench.processes.contains($0["pid"]?.integerValue ?? 0)
            }
            #expect(own.allSatisfy { $0["descriptors"] == (kind == "many" ? [0, 1, 2] : [0, 1, 2, 3]) }, "\(own)")
            #expect(bench.scene.names.sorted() == ["one", "source", "three", "two"])
            #expect(bench.scene.daemon.log.contains("serves \(kind)://place/name"))
        }

        /// A helper that uses descriptor 3 before anything else.
        @Test(.timeLimit(.minutes(1))) func aHelperMayNeedItsFileAtOnce() async throws {
            let bench = try await HelperScene("eager")
            // All requests wait until the kind of helper is known.
            var ids: [Int64] = []
            for name in ["one", "two", "three", "four"] { ids.append(try await bench.add("eager", to: name)) }
            for id in ids { try await bench.probe.wait(for: id, "completed") }
            for name in ["one", "two", "three", "four"] { #expect(bench.hasArrived(name)) }
        }

        /// A line about a request that was never sent.
        @Test(.timeLimit(.minutes(1))) func aLineAboutNothingIsIgnored() async throws {
            let bench = try await HelperScene("stray-many")
            let once: JSONValue = ["retry": ["attempts": 1]]
            let upload = try await bench.scene.upload(
                Content(seed: 4, size: 100), to: bench.url("stray-many"), once.objectValue ?? [:], from: "sent")
            #expect(try await bench.probe.wait(for: upload, "failed").errorCode == "request.unsupported")
            #expect(await eventually { bench.scene.daemon.log.contains("answers what it was not asked") })
            try await bench.probe.wait(for: try await bench.add("stray-many"), "completed")
            #expect(bench.hasArrived())
        }

        /// Neither descriptors nor bodies remain after requests have ended.
        @Test(.timeLimit(.minutes(2)), arguments: kinds) func nothingIsKeptOfRequestsThatAreOver(_ kind: String)
            async throws
        {
            let bench = try await HelperScene(kind)
            let pid = try #require(bench.scene.daemon.pid)
            func upload(_ count: Int) async throws {
                for number in 0..<count {
                    let id = try await bench.scene.upload(
                        Content(seed: 4, size: 100), to: bench.url(kind, ["save": bench.scene.file("saved")]),
                        from: "source-\(number)")
                    try await bench.probe.wait(for: id, "completed")
                }
            }
            try await upload(2)
            let before = Files.names(in: "/proc/\(pid)/fd").count
            try await upload(20)
            #expect(await eventually { Files.names(in: "/proc/\(pid)/fd").count < before + 10 })
        }

        /// Silence before the first line counts like any other silence.
        @Test(.timeLimit(.minutes(1))) func aHelperWithoutHelloIsWaitedForAsLongAsTheTaskSays() async throws {
            let bench = try await HelperScene("silent")
            let more: JSONValue = ["retry": ["attempts": 1], "timeoutIntervalForRequest": 1]
            let task = try await bench.probe.wait(
                for: try await bench.add("silent", [:], to: "file", more.objectValue ?? [:]), "failed")
            #expect(task["error", "message"]?.stringValue?.contains("said no hello within 1 s") == true, "\(task)")
        }

        @Test(.timeLimit(.minutes(1)), arguments: kinds)
        func aKilledDaemonGoesOnWhereItWas(_ kind: String) async throws {
            var bench = try await HelperScene(kind, content: Content(seed: 2, size: 6 << 20))
            let stall = ["do": "stall", "at": "\(4 << 20)"].merging(try bench.gate()) { $1 }
            let id = try await bench.add(kind, stall.merging(bench.once()) { $1 })
            try await bench.probe.wait(for: id, bytes: 4 << 20)
            // The journal claims nothing that only another process has seen.
            let stored = try CheckpointCount(bench.scene.daemon.stateFolder)
            #expect(try await eventually { try await stored.checkpoints(from: 4 << 20) == 1 })
            let before = try #require(bench.loads.first?["pid"]?.integerValue)
            bench = try await bench.restarted()
            try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived())
            #expect(await eventually { bench.isGone(before) }, "the helper outlives its daemon")
            #expect(bench.loads.count == 2 && bench.loads[0]["validator"] == .null)
            #expect(bench.offsets.last == 4 << 20 && bench.loads[1]["validator"]?.stringValue != nil, "\(bench.loads)")
        }

        @Test(.timeLimit(.minutes(1)), arguments: kinds, ["die", "finish"])
        func aHelperThatEndsEarlyIsAskedForTheRest(_ kind: String, _ word: String) async throws {
            let bench = try await HelperScene(kind)
            let id = try await bench.add(kind, ["do": word, "at": "200000"].merging(bench.once()) { $1 })
            let task = try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived() && task["attempts"] == 2, "\(task)")
            #expect(bench.offsets == [0, 200_000])
            if word == "die" { #expect(bench.scene.daemon.log.contains("ended with status 3")) }
        }

        /// A validator decides: if it has changed or is missing, or if the helper cannot resume, the download starts
        /// over.
        @Test(.timeLimit(.minutes(1)), arguments: kinds)
        func anotherVersionStartsOver(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            let id = try await bench.add(kind, ["do": "stall", "at": "200000"].merging(try bench.gate()) { $1 })
            try await bench.probe.wait(for: id, bytes: 200_000)
            #expect(try await bench.probe.control("pause", id))
            let changed = Content(seed: 7, size: 250_000)
            try Files.write(bench.scene.file("source"), changed.bytes)
            try await bench.probe.call("task.update", ["id": .integer(id), "url": .string(bench.url(kind))])
            #expect(try await bench.probe.control("resume", id))
            try await bench.probe.wait(for: id, "completed")
            #expect(changed.matches(bench.scene.file()))
            #expect(bench.offsets.dropFirst().first == 200_000)
            #expect(try await bench.scene.restartCodes(id) == ["resume.validator_changed"])
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["forgetful-many", "forgetful"])
        func aHelperThatCannotResumeStartsOver(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            let id = try await bench.add(kind, ["do": "finish", "at": "200000"].merging(bench.once()) { $1 })
            try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived() && bench.offsets == [0, 0])
        }

        /// Wrong lines about one request, and lines that are not of the protocol.
        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ("elsewhere", "helper.protocol"), ("early", "helper.protocol"), ("twice", "helper.protocol"),
                ("type", "helper.protocol"), ("base64", "helper.protocol"), ("garbage", "helper.protocol"),
                ("utf8", "helper.protocol"), ("long", "helper.protocol"), ("fail", "helper.failed"),
                ("finish", "network.lost"),
            ], kinds)
        func liesEndTheTask(_ lie: (word: String, code: String), _ kind: String) async throws {
            let bench = try await HelperScene(kind)
            let once: JSONValue = ["retry": ["attempts": 1]]
            let id = try await bench.add(kind, ["do": lie.word, "at": "100000"], once.objectValue ?? [:])
            let task = try await bench.probe.wait(for: id, "failed")
            #expect(task.errorCode == lie.code, "\(task)")
            #expect(!Files.exists(bench.scene.file()))
            // The next task nevertheless has a helper.
            try await bench.probe.wait(for: try await bench.add(kind, to: "good"), "completed")
            #expect(bench.hasArrived("good"))
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["mute", "newer"])
        func aProgramThatIsNoHelperFailsTheTask(_ name: String) async throws {
            let bench = try await HelperScene(name)
            let task = try await bench.probe.wait(for: try await bench.add(name), "failed")
            #expect(task.errorCode == "helper.protocol" && task["attempts"] == 1, "\(task)")
        }

        @Test(.timeLimit(.minutes(1))) func anOffsetIsBelievedOnlyUpToWhatIsInTheFile() async throws {
            let bench = try await HelperScene("single")
            let id = try await bench.add("single", ["do": "beyond", "at": "100000"])
            try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived())
            let short = try await bench.add(
                "single", ["more": "10", "do": "beyond", "at": "300000"], to: "short", ["retry": ["attempts": 1]])
            #expect(try await bench.probe.wait(for: short, "failed").errorCode == "network.lost")
        }

        /// Bytes for a request that was never made change nothing.
        @Test(.timeLimit(.minutes(1)), arguments: kinds) func strangersAreNotHeard(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            try await bench.probe.wait(for: try await bench.add(kind, ["do": "stranger", "at": "1000"]), "completed")
            #expect(bench.hasArrived())
        }

        @Test(.timeLimit(.minutes(1)), arguments: kinds) func silenceEndsTheRequest(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            let query = ["do": "stall", "at": "100000"].merging(try bench.gate()) { $1 }
            let more: [String: JSONValue] = ["timeoutIntervalForRequest": 1, "retry": ["attempts": 1]]
            let task = try await bench.probe.wait(for: try await bench.add(kind, query, more), "failed")
            #expect(task.errorCode == "network.timeout", "\(task)")
            #expect(bench.notes.contains { $0["type"] == "cancel" })
        }

        /// A paused task has no process that could write its file, even if the helper ignores the cancellation.
        @Test(.timeLimit(.minutes(1)), arguments: kinds + ["stubborn"])
        func aPausedTaskGoesOnLater(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            let query = ["do": "stall", "at": "200000"].merging(try bench.gate()) { $1 }
            let id = try await bench.add(kind, query.merging(bench.once()) { $1 })
            try await bench.probe.wait(for: id, bytes: 200_000)
            #expect(try await bench.probe.control("pause", id))
            let process = try #require(bench.processes.first)
            if kind != "many" { #expect(bench.isGone(process)) }
            #expect(try await bench.probe.control("resume", id))
            try await bench.probe.wait(for: id, "completed")
            #expect(bench.hasArrived() && bench.offsets == [0, 200_000])
            let other = try await bench.add(kind, query, to: "other")
            try await bench.probe.wait(for: other, bytes: 200_000)
            #expect(try await bench.probe.control("cancel", other))
            #expect(bench.scene.names.filter { $0.contains("other") }.isEmpty)
            #expect(await eventually { bench.notes.contains { $0["type"] == "cancel" } } || kind == "stubborn")
        }

        @Test(.timeLimit(.minutes(3))) func aThousandTasksHaveOneProcess() async throws {
            let bench = try await HelperScene("many", content: Content(seed: 3, size: 2000))
            let specs = (0..<1000).map { number -> JSONValue in
                [
                    "url": .string(bench.url("many")),
                    "destination": ["path": .string(bench.scene.file("file\(number)"))],
                ]
            }
            let ids = try await bench.probe.add(specs)
            for id in ids { try await bench.probe.wait(for: id, "completed", within: 120) }
            #expect(bench.processes.count == 1 && bench.loads.count == 1000)
            #expect((0..<1000).allSatisfy { bench.hasArrived("file\($0)") })
        }

        /// Many tasks wait for a helper that always dies.
        @Test(.timeLimit(.minutes(1)), arguments: kinds) func aDyingHelperIsNotStartedForEach(_ kind: String)
            async throws
        {
            let bench = try await HelperScene(kind)
            let specs = (0..<100).map { number -> JSONValue in
                [
                    "url": .string(bench.url(kind, ["do": "die", "at": "0"])),
                    "destination": ["path": .string(bench.scene.file("file\(number)"))],
                    "retry": ["attempts": 2, "firstDelay": 0.01, "longestDelay": 0.01],
                ]
            }
            let ids = try await bench.probe.add(specs)
            let task = try await bench.probe.wait(for: ids[0], "failed", within: 50)
            #expect(task.errorCode == "helper.failed", "\(task)")
            if kind == "many" { #expect(bench.notes.count { $0["started"] != nil } < 20) }
        }

        // MARK: Elsewhere

        @Test(.timeLimit(.minutes(1)), arguments: kinds) func aRedirectLeadsToAServer(_ kind: String) async throws {
            let bench = try await HelperScene(kind)
            bench.scene.origin.serve("/file", .good(.version(1, size: 5000)))
            let id = try await bench.add(kind, ["do": "redirect", "to": bench.scene.origin.url("/file")])
            let task = try await bench.probe.wait(for: id, "completed")
            #expect(Content(seed: 1, size: 5000).size == 5000 && task["response", "status"] == 200, "\(task)")
            #expect(bench.scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1))) func redirectsKeepTheirRules() async throws {
            let bench = try await HelperScene("many")
            func failure(_ target: String, to name: String) async throws -> JSONValue {
                let id = try await bench.add("many", ["do": "redirect", "to": target], to: name)
                return try await bench.probe.wait(for: id, "failed")
            }
            func code(_ target: String, to name: String) async throws -> String? {
                try await failure(target, to: name).errorCode
            }
            #expect(try await code("file:///etc/passwd", to: "a") == "http.protocol")
            // As if the task itself had named it.
            let unknown = try await failure("nosuchscheme:x", to: "b")
            #expect(unknown.errorCode == "request.bad_url", "\(unknown)")
            let words = unknown["error", "message"]?.stringValue ?? ""
            #expect(
                words.contains("dld does not speak \"nosuchscheme\"") && words.contains("no helper for it"), "\(words)")
            #expect(try await code("many://place/%20?do=redirect%26to=x", to: "c") == "request.bad_url")
            // A redirect to itself, again and again.
            let loop = "many://place/loop?do=redirect"
            try await bench.install(
                "loop",
                """
                #!/usr/bin/env python3
                import json, sys
                def say(**line): print(json.dumps(line), flush=True)
                say(type="hello", version=1, resume=False, upload=False, many=True)
                for line in sys.stdin:
                    order = json.loads(line)
                    if order["type"] == "load": say(type="redirect", id=order["id"], url=order["url"] + "x")
                """)
            let id = try await bench.probe.add(
                loop.replacing("many:", with: "loop:"), to: bench.scene.file("d"), Scene.quickRetry)
            #expect(try await bench.probe.wait(for: id, "failed").errorCode == "http.redirect_limit")
        }

        // MARK: Other kinds of tasks

        @Test(.timeLimit(.minutes(1)), arguments: kinds) func dataTasksAndUploads(_ kind: String) async throws {
            let bench = try await HelperScene(kind, content: Content("some text"))
            let ids = try await bench.probe.add([["kind": "data", "url": .string(bench.url(kind))]])
            let task = try await bench.probe.wait(for: ids[0], "completed")
            #expect(task["response", "body", "text"] == "some text" || "\(task)".contains("some text"), "\(task)")
            for (name, size) in [("small", 5000), ("large", 3 << 20)] {
                let content = Content(seed: 9, size: size)
                let id = try await bench.scene.upload(
                    content, to: bench.url(kind, ["save": bench.scene.file("saved-\(name)")]), from: "sent-\(name)")
                try await bench.probe.wait(for: id, "completed")
                #expect(content.matches(bench.scene.file("saved-\(name)")), "\(name)")
            }
        }

        // MARK: Which helper

        @Test(.timeLimit(.minutes(1))) func withoutAHelperTheTaskIsRefused() async throws {
            let bench = try await HelperScene("many")
            func refusal(_ url: String) async throws -> RPCFailure? {
                do {
                    _ = try await bench.probe.add(url, to: bench.scene.file())
                    return nil
                } catch let failure as RPCFailure {
                    return failure
                }
            }
            let failure = try await refusal("gopher://h/x")
            #expect(failure?.code == "request.bad_url")
            for part in ["dld does not speak", "\(bench.home)/.local/lib/dld/schemes", "/usr/local/lib/dld/schemes"] {
                #expect(failure?.message.contains(part) == true, "\(part): \(failure as Any)")
            }
            chmod(bench.home + "/.local/lib/dld/schemes/many", 0o777)
            #expect(
                try await refusal(bench.url("many"))?.message.contains("can be written by others") == true)
            chmod(bench.home + "/.local/lib/dld/schemes/many", 0o755)
            // The program is removed between the check and the start.
            let id = try await bench.add("many", ["do": "die", "at": "0"])
            unlink(bench.home + "/.local/lib/dld/schemes/many")
            let task = try await bench.probe.wait(for: id, "failed")
            #expect(task.errorCode == "request.bad_url", "\(task)")
            #expect(try await bench.probe.call("daemon.info")["schemes"] == [])
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon needs root"))
        func aSystemDaemonLooksAtNobodysHome() async throws {
            let bench = try await HelperScene("many", arguments: ["--system"])
            #expect(try await bench.probe.call("daemon.info")["schemes"] == [])
            let failure = await #expect(throws: RPCFailure.self) { try await bench.add("many") }
            #expect(failure?.code == "request.bad_url" && failure?.message.contains(bench.home) == false)
        }

        /// Root's program in root's folder, and a process for each user.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon and other users need root"))
        func aSystemDaemonHasAProcessForEachUser() async throws {
            let folder = try TemporaryFolder()
            let content = Content(seed: 6, size: 50_000)
            try Files.write(folder.file("source"), content.bytes)
            chmod(folder.path, 0o755)
            let prepare = """
                mount -t tmpfs -o mode=755 none /usr/local/lib && mkdir -p /usr/local/lib/dld/schemes \
                    && install -m 755 "$0" /usr/local/lib/dld/schemes/many && exec "$@"
                """
            let daemon = try await DaemonProcess.started(
                ["--system"],
                wrapper: ["unshare", "-m", "sh", "-c", prepare, try PythonEnvironment.script("helper.py")])
            chmod(daemon.socket, 0o666)
            for user in [IsolationHouse.anna, IsolationHouse.bert] {
                let probe = try await daemon.probe(uid: user)
                #expect(try await probe.call("daemon.info")["schemes"] == ["many"])
                for name in ["one", "two"] {
                    let path = "\(daemon.stateFolder)/files/\(user)/\(name)"
                    let id = try await probe.add("many://h/x?file=\(folder.file("source"))", to: path)
                    try await probe.wait(for: id, "completed")
                    #expect(content.matches(path))
                }
            }
            let notes = try Files.text(daemon.folder.file("helper.log")).split(separator: "\n")
            #expect(notes.count { $0.contains("\"started\"") } == 2 && notes.count { $0.contains("\"load\"") } == 4)
        }
    }
}

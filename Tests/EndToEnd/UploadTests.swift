import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// In the end, the server has the file, or the task says why not.
    struct Uploads {
        private let content = Content(seed: 21, size: 8 << 20)

        @Test(.timeLimit(.minutes(1)))
        func anEmptyBodyIsSentToo() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            let id = try await scene.probe.add([
                ["kind": "upload", "url": .string(server.url("/e")), "method": "PUT", "body": ["text": ""]]
            ])[0]
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/e"]?.bytes == [])
        }

        /// Such files would arrive empty, or never.
        @Test(.timeLimit(.minutes(1)))
        func aFileThatDoesNotSayItsLengthIsRefused() async throws {
            let scene = try await Scene()
            let url = "http://127.0.0.1:9/f"
            for (spec, field) in [
                (["kind": "upload", "source": ["path": "/proc/version"]], "tasks[0].source.path"),
                (["kind": "data", "method": "POST", "body": ["file": "/proc/version"]], "tasks[0].body.file"),
            ] as [([String: JSONValue], String)] {
                let refusal = try await #require(throws: RPCFailure.self) {
                    _ = try await scene.probe.add([.object(spec.merging(["url": .string(url)]) { $1 })])
                }
                #expect(refusal.code == "source.unreadable" && refusal.field == field, "\(refusal)")
                #expect(refusal.message.contains("copy it"), "\(refusal)")
            }
            try Files.write(scene.file("empty"), "")
            _ = try await scene.probe.add([
                ["kind": "upload", "url": .string(url), "source": ["path": .string(scene.file("empty"))]]
            ])
        }

        @Test(.timeLimit(.minutes(1)))
        func autoFindsWhatTheServerSpeaks() async throws {
            let scene = try await Scene()
            for (server, path) in [
                (try UploadServer(TusRules()), "/files/"), (try UploadServer(DraftRules(version: 8)), "/files/"),
                (try UploadServer(PlainRules()), "/files/plain"),
            ] {
                let id = try await scene.upload(content, to: server.url(path))
                try await scene.probe.wait(for: id, "completed")
                #expect(server.files.all.values.map(\.content) == [content])
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledUploadIsEndedAtItsServer() async throws {
            let server = try UploadServer(TusRules())
            server.hold(.files(1 << 20))
            let scene = try await Scene()
            let id = try await scene.upload(content, to: server.url(), ["uploadProtocol": "tus"])
            #expect(await eventually { server.files.total == 1 << 20 })
            #expect(try await scene.probe.control("cancel", id))
            #expect(await eventually { server.files.all.values.first?.isDeleted == true })
            // A new attempt is a new upload.
            server.release()
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files.all.values.filter { !$0.isDeleted }.map(\.content) == [content])
        }

        @Test(.timeLimit(.minutes(1)))
        func anotherURLBeginsAnew() async throws {
            let (old, new) = (try UploadServer(TusRules()), try UploadServer(TusRules()))
            let scene = try await Scene()
            old.hold(.files(1 << 20))
            let id = try await scene.upload(content, to: old.url(), ["uploadProtocol": "tus"])
            #expect(await eventually { old.files.total == 1 << 20 })
            try await scene.probe.call("task.update", ["id": .integer(id), "url": .string(new.url())])
            try await scene.probe.wait(for: id, "completed")
            #expect(new.files.all.values.map(\.content) == [content])
        }

        @Test(.timeLimit(.minutes(1)))
        func aDownloadMaySendABodyFromAFile() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            try Files.write(scene.file("question"), "what is in it?")
            let id = try await scene.probe.add(
                server.url("/echo"), to: scene.file("answer"),
                ["method": "POST", "body": ["file": .string(scene.file("question"))], "startPaused": true])
            unlink(scene.file("question"))
            try await scene.probe.control("resume", id)
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.text(scene.file("answer")) == "what is in it?")
        }

        @Test(.timeLimit(.minutes(1)))
        func pauseStopsAndResumeGoesOn() async throws {
            let server = try UploadServer(TusRules())
            server.hold(.files(2 << 20))
            let scene = try await Scene()
            let id = try await scene.upload(content, to: server.url(), ["uploadProtocol": "tus"])
            #expect(await eventually { server.files.total == 2 << 20 })
            #expect(try await scene.probe.control("pause", id))
            let paused = try await scene.probe.task(id)
            #expect(paused["state"] == "paused")
            server.release()
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files.all.values.map(\.content) == [content])
            #expect(server.received("PATCH") == content.size)
        }

        // MARK: The source

        @Test(.timeLimit(.minutes(1)), arguments: SourceChange.allCases)
        func aSourceThatChangesWhileItsUploadIsPausedIsNotSent(change: SourceChange) async throws {
            let server = try UploadServer(TusRules())
            server.hold(.files(1 << 20))
            let scene = try await Scene()
            let id = try await scene.upload(content, to: server.url(), ["uploadProtocol": "tus"])
            #expect(await eventually { server.files.total == 1 << 20 })
            try await scene.probe.control("pause", id)
            let before = server.files.all.values.first?.bytes.count
            try change.happen(to: scene.file("source"))
            try await scene.probe.control("resume", id)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == change.code)
            #expect(server.files.all.values.first?.bytes.count == before)
            #expect(server.files.all.values.first?.isComplete == false)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatCannotBeSentIsRefusedAtOnce() async throws {
            let scene = try await Scene()
            let cases: [(JSONValue, String)] = [
                (["kind": "upload", "url": "http://x/"], "request.bad_field"),
                (["kind": "upload", "url": "http://x/", "source": ["path": "/no/such/file"]], "source.unreadable"),
                (["kind": "upload", "url": "http://x/", "source": ["path": "/tmp"]], "source.unreadable"),
                (["kind": "upload", "url": "http://x/", "source": ["path": "relative"]], "request.bad_field"),
                (["url": "http://x/", "source": ["path": "/etc/passwd"]], "request.bad_field"),
                (
                    ["kind": "upload", "url": "http://x/", "uploadProtocol": "pigeon", "body": ["text": "x"]],
                    "request.bad_field"
                ),
                (["kind": "data", "url": "ftp://x/"], "request.bad_field"),
            ]
            for (spec, code) in cases {
                do {
                    let ids = try await scene.probe.add([spec])
                    Issue.record("\(spec) was added as \(ids)")
                } catch let failure as RPCFailure {
                    #expect(failure.code == code, "\(spec): \(failure)")
                }
            }
        }

        // MARK: Bodies

        /// The kill comes with the answer, so the daemon cannot do anything later. It may have begun to send.
        @Test(.timeLimit(.minutes(1)), arguments: ["text", "base64", "file"], [false, true])
        func aBodyOutlivesAKillRightAfterTheAnswer(form: String, startsPaused: Bool) async throws {
            let server = try UploadServer(PlainRules())
            var scene = try await Scene()
            let letters = Content(seed: 31, size: 1 << 20).bytes.map { UInt8(ascii: "a") + $0 % 26 }
            let bytes = form == "text" ? letters : Content(seed: 31, size: 1 << 20).bytes
            try Files.write(scene.file("body"), bytes)
            let body: JSONValue =
                switch form {
                case "text": ["text": .string(String(decoding: bytes, as: UTF8.self))]
                case "base64": ["base64": .string(Base64Text.encode(bytes))]
                default: ["file": .string(scene.file("body"))]
                }
            let spec: [String: JSONValue] = [
                "kind": "upload", "url": .string(server.url("/body")), "method": "PUT", "body": body,
                "startPaused": .bool(startsPaused),
            ]
            let id = try await scene.probe.add([.object(spec.merging(Scene.quickRetry) { $1 })])[0]
            try await scene.daemon.kill()
            unlink(scene.file("body"))
            scene = try await scene.restarted()
            if startsPaused { try await scene.probe.control("resume", id) }
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/body"]?.bytes == bytes)
            // The path of a file stays, for a retry that sends it as it is then.
            let kept = task["body"] ?? .null
            #expect(form == "file" ? kept["file"] == .string(scene.file("body")) : kept == .null)
            #expect(task["bytesSent"]?.integerValue == 1 << 20)
        }

        @Test(.timeLimit(.minutes(1)))
        func aSmallBodysFileMayGoAtOnceALargeOneMayNot() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            let (small, large) = (Content(seed: 32, size: 1 << 20), Content(seed: 33, size: (1 << 20) + 1))
            try Files.write(scene.file("small"), small.bytes)
            try Files.write(scene.file("large"), large.bytes)
            var ids: [Int64] = []
            for name in ["small", "large", "large"] {
                ids += try await scene.probe.add([
                    [
                        "kind": "data", "method": "PUT", "url": .string(server.url("/\(name)-\(ids.count)")),
                        "startPaused": true, "body": ["file": .string(scene.file(name))],
                    ]
                ])
            }
            unlink(scene.file("small"))
            for id in ids.prefix(2) {
                try await scene.probe.control("resume", id)
                try await scene.probe.wait(for: id, "completed")
            }
            #expect(server.files["/small-0"]?.content == small)
            #expect(server.files["/large-1"]?.content == large)
            utimes(scene.file("large"), nil)
            try await scene.probe.control("resume", ids[2])
            #expect(try await scene.probe.wait(for: ids[2], "failed").errorCode == "source.changed")
        }

        // MARK: Data tasks

        @Test(.timeLimit(.minutes(1)))
        func theAnswerOfADataTaskIsKeptAndFetchedInPieces() async throws {
            var scene = try await Scene()
            let page = Content(seed: 41, size: 3 << 20)
            scene.origin.serve("/page", .good(Resource(page)))
            let id = try await scene.probe.add([["kind": "data", "url": .string(scene.origin.url("/page"))]])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["bytesReceived"]?.integerValue == 3 << 20)
            #expect(task["response", "body", "truncated"] == true)
            scene = try await scene.restarted()
            var read: [UInt8] = []
            var isLast = false
            while !isLast {
                let piece = try await scene.probe.call(
                    "task.body", ["id": .integer(id), "offset": .integer(Int64(read.count)), "length": 1_000_000])
                read += Base64Text.decode(piece["data"]?.stringValue ?? "")
                isLast = piece["eof"] == true
            }
            #expect(read == page.bytes)
        }

        @Test(.timeLimit(.minutes(1)))
        func anAnswerThatIsTooLongIsNotKept() async throws {
            let scene = try await Scene()
            scene.origin.serve("/page", .good(Resource(Content(seed: 42, size: (16 << 20) + 1))))
            let id = try await scene.probe.add([["kind": "data", "url": .string(scene.origin.url("/page"))]])[0]
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "request.too_large")
            do {
                let piece = try await scene.probe.call("task.body", ["id": .integer(id)])
                Issue.record("there is a body: \(piece)")
            } catch let failure as RPCFailure {
                #expect(failure.code == "task.wrong_state")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func whatTheServerSaysOfARefusedUploadIsOnTheTask() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.status(403, [("Content-Type", "text/plain")], body: "not for you"))
            let id = try await scene.upload(content, to: scene.origin.url("/x"), ["uploadProtocol": "post"])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            #expect(task["response", "status"]?.integerValue == 403)
            #expect(task["response", "body", "text"]?.stringValue == "not for you")
        }

        // MARK: Limits

        /// At 1 B/s, no second piece is sent for hours. If the upload continues, the limit was lifted.
        @Test(.timeLimit(.minutes(1)))
        func theLimitOfEverythingHoldsAndIsLiftedWhileUploadsRun() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            #expect(try await scene.daemon.dlctl(["limit", "--up", "1"]).status == 0)
            var ids: [Int64] = []
            for name in ["a", "b", "c"] {
                let url = server.url("/\(name)")
                ids.append(try await scene.upload(content, to: url, ["uploadProtocol": "put"], from: name))
            }
            #expect(await eventually { server.received("PUT") > 0 })
            // The other direction has another limit.
            scene.origin.serve("/file", .good(Resource(content)))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(server.received("PUT") <= 16 << 10)
            for id in ids { #expect(try await scene.probe.state(id) == "running") }
            #expect(try await scene.daemon.dlctl(["limit", "--up", "none"]).status == 0)
            for (name, id) in zip(["a", "b", "c"], ids) {
                try await scene.probe.wait(for: id, "completed")
                #expect(server.files["/\(name)"]?.content == content)
            }
            // No request started over because of this.
            #expect(server.requests("PUT").count == 3)
            let stats = try await scene.probe.call("daemon.stats")
            #expect((stats["bytesSent"]?.integerValue ?? 0) >= Int64(3 * content.size))
        }

        /// The other way round: a running upload stops at a limit that comes later.
        @Test(.timeLimit(.minutes(1)), arguments: ["task", "session", "everything"])
        func aLimitThatComesLaterHoldsWhatRuns(scope: String) async throws {
            let server = try UploadServer(DrainRules())
            let scene = try await Scene()
            // Long enough to run for minutes. It has holes, so it takes no disk space.
            let size = 64 << 30
            try Files.write(scene.file("source"), "begin")
            truncate(scene.file("source"), size)
            try await scene.probe.call("session.open", ["id": "s"])
            let id = try await scene.probe.add(
                [
                    [
                        "kind": "upload", "url": .string(server.url("/file")), "uploadProtocol": "put",
                        "source": ["path": .string(scene.file("source"))],
                    ]
                ], session: "s")[0]
            #expect(await eventually { server.received("PUT") > 1 << 20 })
            // Before, there was no limit at all.
            switch scope {
            case "task": try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 1])
            case "session":
                try await scene.probe.call("session.open", ["id": "s", "configuration": ["uploadRateLimit": 1]])
            default: try await scene.probe.call("settings.set", ["uploadRateLimit": 1])
            }
            // What is in flight when the limit comes still arrives. After that, it is one byte per second, far from the
            // end.
            var last = Int.min / 2
            let isStill = await eventually(every: 1) {
                let received = server.received("PUT")
                defer { last = received }
                return received - last <= 16
            }
            #expect(isStill)
            #expect(last < size)
            #expect(try await scene.probe.state(id) == "running")
            #expect(try await scene.probe.control("cancel", id))
        }
    }
}

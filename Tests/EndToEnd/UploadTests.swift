import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd {
    /// Uploads: what the server holds in the end is the file, or the task says why not.
    struct Uploads {
        private static let size = 64 << 20
        private let content = Content(seed: 21, size: 8 << 20)

        private func spec(
            _ scene: Scene, _ url: String, _ content: Content, _ more: [String: JSONValue] = [:]
        ) throws -> JSONValue {
            try Files.write(scene.file("source"), content.bytes)
            let spec: [String: JSONValue] = [
                "kind": "upload", "url": .string(url), "source": ["path": .string(scene.file("source"))],
            ]
            return .object(spec.merging(Scene.quickRetry) { $1 }.merging(more) { $1 })
        }

        private func upload(
            _ scene: Scene, _ url: String, _ content: Content, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            try await scene.probe.add([try spec(scene, url, content, more)])[0]
        }

        /// Kills the daemon five times at random while the upload runs; then lets it end.
        private func survivesFiveKills(
            _ server: UploadServer, _ name: String, sending method: String, _ more: [String: JSONValue] = [:]
        ) async throws -> JSONValue {
            var scene = try await Scene()
            let large = Content(seed: 22, size: Self.size)
            let id = try await upload(
                scene, server.url(), large,
                ["uploadProtocol": .string(name), "rateLimit": 24_000_000].merging(more) { $1 })
            for kill in 1...5 {
                let mark = Int.random(in: 1..<10) * (1 << 20) + (kill - 1) * (10 << 20)
                #expect(await eventually { (server.files.all.values.map(\.bytes.count).max() ?? 0) >= mark })
                scene = try await scene.restarted()
            }
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["bytesSent"]?.integerValue == Int64(Self.size))
            #expect(task["bytesToSend"]?.integerValue == Int64(Self.size))
            #expect(server.files.all.count == 1)
            let stored = try #require(server.files.all.values.first)
            #expect(stored.isComplete)
            #expect(stored.bytes == large.bytes)
            // Each continuation began where the server said, so no byte it had came again.
            #expect(server.received(method) == Self.size)
            let resumed = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.resumed"]])
            #expect(resumed.count >= 4)
            #expect(resumed.allSatisfy { $0["expected"]?.integerValue == Int64(Self.size) })
            return task
        }

        @Test(.timeLimit(.minutes(3)))
        func tusSurvivesFiveKills() async throws {
            let server = try UploadServer(TusRules())
            _ = try await survivesFiveKills(server, "tus", sending: "PATCH")
            #expect(server.requests("HEAD").count >= 5)
        }

        @Test(.timeLimit(.minutes(3)), arguments: [8, 6, 5, 3])
        func resumableSurvivesFiveKills(version: Int) async throws {
            let server = try UploadServer(DraftRules(version: version))
            let task = try await survivesFiveKills(
                server, "resumable", sending: "PATCH", ["interopVersion": .integer(Int64(version))])
            #expect(server.requests("HEAD").count >= 5)
            #expect(task["response", "body", "text"]?.stringValue == "stored")
        }

        @Test(.timeLimit(.minutes(3)))
        func contentRangeSurvivesFiveKills() async throws {
            let server = try UploadServer(ContentRangeRules())
            _ = try await survivesFiveKills(server, "contentRange", sending: "PUT")
            #expect(server.requests("PUT").count { $0.header("Content-Range")?.hasPrefix("bytes */") == true } >= 5)
        }

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

        @Test(.timeLimit(.minutes(1)))
        func autoFindsWhatTheServerSpeaks() async throws {
            let scene = try await Scene()
            for (server, path) in [
                (try UploadServer(TusRules()), "/files/"), (try UploadServer(DraftRules(version: 8)), "/files/"),
                (try UploadServer(PlainRules()), "/files/plain"),
            ] {
                let id = try await upload(scene, server.url(path), content)
                try await scene.probe.wait(for: id, "completed")
                #expect(server.files.all.values.map(\.bytes) == [content.bytes])
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledUploadIsEndedAtItsServer() async throws {
            let server = try UploadServer(TusRules())
            let scene = try await Scene()
            let id = try await upload(
                scene, server.url(), content, ["uploadProtocol": "tus", "rateLimit": 1_000_000])
            #expect(await eventually { (server.files.all.values.first?.bytes.count ?? 0) > 100_000 })
            #expect(try await scene.probe.control("cancel", id))
            #expect(await eventually { server.files.all.values.first?.isDeleted == true })
            // A new attempt is a new upload.
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files.all.values.filter { !$0.isDeleted }.map(\.bytes) == [content.bytes])
        }

        @Test(.timeLimit(.minutes(1)))
        func anotherURLBeginsAnew() async throws {
            let (old, new) = (try UploadServer(TusRules()), try UploadServer(TusRules()))
            let scene = try await Scene()
            let id = try await upload(scene, old.url(), content, ["uploadProtocol": "tus", "rateLimit": 1_000_000])
            #expect(await eventually { (old.files.all.values.first?.bytes.count ?? 0) > 100_000 })
            try await scene.probe.call(
                "task.update", ["id": .integer(id), "url": .string(new.url()), "rateLimit": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(new.files.all.values.map(\.bytes) == [content.bytes])
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
            let scene = try await Scene()
            let id = try await upload(
                scene, server.url(), content, ["uploadProtocol": "tus", "rateLimit": 2_000_000])
            #expect(await eventually { (server.files.all.values.first?.bytes.count ?? 0) > 1 << 20 })
            #expect(try await scene.probe.control("pause", id))
            let paused = try await scene.probe.task(id)
            #expect(paused["state"] == "paused")
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files.all.values.map(\.bytes) == [content.bytes])
            #expect(server.received("PATCH") == content.size)
        }

        // MARK: The source

        @Test(.timeLimit(.minutes(1)), arguments: ["truncated", "touched", "replaced", "removed"])
        func aSourceThatChangesBetweenAttemptsIsNotSent(how: String) async throws {
            let server = try UploadServer(TusRules())
            let scene = try await Scene()
            let id = try await upload(
                scene, server.url(), content, ["uploadProtocol": "tus", "rateLimit": 1_000_000])
            #expect(await eventually { (server.files.all.values.first?.bytes.count ?? 0) > 100_000 })
            try await scene.probe.control("pause", id)
            let before = server.files.all.values.first?.bytes.count
            switch how {
            case "truncated": truncate(scene.file("source"), 5 << 20)
            case "touched": utimes(scene.file("source"), nil)
            case "replaced":
                try Files.write(scene.file("other"), Content(seed: 99, size: content.size).bytes)
                rename(scene.file("other"), scene.file("source"))
            default: unlink(scene.file("source"))
            }
            try await scene.probe.control("resume", id)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == (how == "removed" ? "source.unreadable" : "source.changed"))
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

        @Test(.timeLimit(.minutes(1)))
        func aBodyInMemoryOutlivesAKillRightAfterTheAnswer() async throws {
            let server = try UploadServer(PlainRules())
            var scene = try await Scene()
            let bytes = Content(seed: 31, size: 1 << 20).bytes
            let id = try await scene.probe.add([
                [
                    "kind": "upload", "url": .string(server.url("/body")), "method": "PUT", "startPaused": true,
                    "body": ["base64": .string(Base64Text.encode(bytes))],
                ]
            ])[0]
            scene = try await scene.restarted()
            try await scene.probe.control("resume", id)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/body"]?.bytes == bytes)
            #expect(task["body"] == nil || task["body"] == .null)
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
            #expect(server.files["/small-0"]?.bytes == small.bytes)
            #expect(server.files["/large-1"]?.bytes == large.bytes)
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
            let id = try await upload(scene, scene.origin.url("/x"), content, ["uploadProtocol": "post"])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            #expect(task["response", "status"]?.integerValue == 403)
            #expect(task["response", "body", "text"]?.stringValue == "not for you")
        }

        @Test(.timeLimit(.minutes(1)))
        func limitsOfUploadsHoldAndAreLifted() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["uploadRateLimit": 1_000_000])
            let id = try await upload(scene, server.url("/file"), content, ["uploadProtocol": "put"])
            #expect(await eventually { server.received("PUT") > 500_000 })
            let stats = try await scene.probe.call("daemon.stats")
            #expect(stats["activeTransfers"]?.integerValue == 1)
            // 8 MiB at 1 MB/s would need eight seconds: that it has not ended shows the limit.
            #expect(try await scene.probe.state(id) == "running")
            try await scene.probe.call("settings.set", ["uploadRateLimit": .null])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/file"]?.bytes == content.bytes)
            let after = try await scene.probe.call("daemon.stats")
            #expect((after["bytesSent"]?.integerValue ?? 0) >= Int64(content.size))
        }
    }
}

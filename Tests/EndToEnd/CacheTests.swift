import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Remembering {
    /// The cache of data tasks (docs/cache.md), observed by which tasks reach the server.
    struct Cache {
        private struct Answer {
            var id: Int64
            var task: JSONValue
            var body: String

            var isCached: Bool { task["response", "fromCache"]?.boolValue == true }
            var fetchTypes: [String] {
                (task["metrics"]?.arrayValue ?? []).compactMap { $0["fetchType"]?.stringValue }
            }
        }

        private func scene(_ kind: String = "default", _ configuration: JSONValue = [:]) async throws -> Scene {
            let scene = try await Scene()
            try await open(scene.probe, kind, configuration)
            return scene
        }

        private func open(
            _ probe: RPCProbe, _ kind: String = "default", _ configuration: JSONValue = [:], id: String = "v"
        )
            async throws
        {
            try await probe.call(
                "session.open", ["id": .string(id), "kind": .string(kind), "configuration": configuration])
        }

        private func add(
            _ probe: RPCProbe, _ url: String, _ more: [String: JSONValue] = [:], session: String = "v"
        ) async throws -> Int64 {
            let spec: [String: JSONValue] = ["kind": "data", "url": .string(url), "retry": ["attempts": 1]]
            return try await probe.add([.object(spec.merging(more) { $1 })], session: session)[0]
        }

        private func answer(_ probe: RPCProbe, _ id: Int64) async throws -> Answer {
            let task = try await probe.wait(for: id, "completed")
            let data = try await probe.call("task.body", ["id": .integer(id)])["data"]?.stringValue ?? ""
            let body = String(decoding: Base64Text.decode(data), as: UTF8.self)
            return Answer(id: id, task: task, body: body)
        }

        private func fetch(
            _ scene: Scene, _ path: String = "/file", _ more: [String: JSONValue] = [:]
        ) async throws -> Answer {
            try await answer(scene.probe, try await add(scene.probe, scene.origin.url(path), more))
        }

        private static func fresh(_ body: String, _ more: (String, String)...) -> Behaviour {
            .status(200, [("Cache-Control", "max-age=600")] + more.map { ($0.0, $0.1) }, body: body)
        }

        /// The Date of test resources makes them old.
        private static func undated(_ seed: UInt64, _ size: Int) -> Resource {
            var resource = Resource.version(seed, size: size)
            resource.date = nil
            return resource
        }

        // MARK: Fresh answers

        @Test(.timeLimit(.minutes(1)), arguments: ["default", "ephemeral"])
        func aFreshAnswerIsNotAskedForAgain(kind: String) async throws {
            let scene = try await scene(kind)
            scene.origin.serve("/file", Self.fresh("one", ("X-Tag", "a")), Self.fresh("two"))
            let first = try await fetch(scene)
            #expect(first.body == "one" && !first.isCached && first.fetchTypes == ["networkLoad"])
            let second = try await fetch(scene)
            #expect(second.body == "one" && second.isCached && second.fetchTypes == ["localCache"])
            #expect((second.task["response", "age"]?.integerValue ?? -1) >= 0)
            #expect(second.task["response", "status"] == 200)
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// Answers that must not be stored are requested each time.
        @Test(.timeLimit(.minutes(1)))
        func whatMayNotBeKeptIsNot() async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 5000)
            scene.origin.serve("/no", .status(200, [("Cache-Control", "no-store, max-age=60")], body: "x"))
            scene.origin.serve("/star", Self.fresh("x", ("Vary", "*")))
            scene.origin.serve("/redirected", .redirect(to: "/no"))
            scene.origin.serve("/close", .closeDelimited(resource.with("Cache-Control", "max-age=600")))
            for path in ["/no", "/star", "/redirected", "/close"] {
                for _ in 0..<2 { #expect(try await !fetch(scene, path).isCached) }
                #expect(scene.origin.requests(path).count == 2, "\(path)")
            }
        }

        /// An answer that broke off is not stored, and neither is a 206, which is not the whole.
        @Test(.timeLimit(.minutes(1)))
        func partsAreNotKept() async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 5000).with("Cache-Control", "max-age=600")
            scene.origin.serve("/file", .good(resource, cutAfter: 100), .good(resource))
            let broken = try await add(scene.probe, scene.origin.url("/file"))
            try await scene.probe.wait(for: broken, "failed")
            let part = try await fetch(scene, "/file", ["headers": [["Range", "bytes=0-9"]]])
            #expect(part.task["response", "status"] == 206)
            let whole = try await fetch(scene)
            #expect(!whole.isCached && whole.task["bytesReceived"] == 5000)
            #expect(try await fetch(scene).isCached)
        }

        @Test(.timeLimit(.minutes(1)))
        func varyChoosesTheAnswer() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file", .choose { Self.fresh($0.header("Accept-Language") ?? "none", ("Vary", "Accept-Language")) })
            for language in ["de", "fr", "de", "fr"] {
                let answer = try await fetch(scene, "/file", ["headers": [["Accept-Language", .string(language)]]])
                #expect(answer.body == language)
            }
            #expect(try await fetch(scene).body == "none")
            #expect(scene.origin.requests("/file").count == 3)
        }

        /// A stored status counts like the server's: a 404 fails a task that does not accept it.
        @Test(.timeLimit(.minutes(1)))
        func storedErrorsFailAsTheServersDo() async throws {
            let scene = try await scene()
            scene.origin.serve("/file", .status(404, [("Cache-Control", "max-age=600")], body: "gone"))
            let accepting = try await fetch(scene, "/file", ["acceptsAnyStatus": true])
            #expect(accepting.body == "gone" && accepting.task["response", "status"] == 404)
            let id = try await add(scene.probe, scene.origin.url("/file"))
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "http.status")
            #expect(try await fetch(scene, "/file", ["acceptsAnyStatus": true]).isCached)
            #expect(scene.origin.requests("/file").count == 1)
        }

        // MARK: Validation

        @Test(.timeLimit(.minutes(1)))
        func staleAnswersAreValidated() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("If-None-Match") == "\"a\""
                        ? .status(304, [("ETag", "\"a\""), ("X-News", "2"), ("Cache-Control", "no-cache")])
                        : .status(
                            200, [("ETag", "\"a\""), ("X-News", "1"), ("Cache-Control", "no-cache")], body: "one")
                })
            #expect(try await !fetch(scene).isCached)
            let second = try await fetch(scene)
            #expect(second.body == "one" && second.isCached && second.fetchTypes == ["networkLoad", "localCache"])
            #expect(second.task["response", "status"] == 200)
            let headers = second.task["response", "headers"]?.arrayValue ?? []
            #expect(headers.contains(["X-News", "2"]) && !headers.contains(["X-News", "1"]))
        }

        /// A 304 for another version is not believed.
        @Test(.timeLimit(.minutes(1)))
        func anotherVersionIsAskedForAnew() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("If-None-Match") == nil
                        ? .status(200, [("ETag", "\"a\""), ("Cache-Control", "no-cache")], body: "one")
                        : .status(304, [("ETag", "\"b\"")])
                })
            _ = try await fetch(scene)
            let second = try await fetch(scene)
            #expect(second.body == "one" && !second.isCached)
            #expect(scene.origin.requests("/file").map { $0.header("If-None-Match") } == [nil, "\"a\"", nil])
        }

        @Test(.timeLimit(.minutes(1)))
        func staleAnswersStandInForFailuresIfTheServerSaysSo() async throws {
            let scene = try await scene()
            let kept = Behaviour.status(
                200, [("Cache-Control", "max-age=0, stale-if-error=600"), ("ETag", "\"a\"")], body: "one")
            scene.origin.serve("/file", kept, .status(503, [], body: "down"), .hangUp)
            _ = try await fetch(scene)
            for _ in 0..<2 {
                let answer = try await fetch(scene)
                #expect(answer.body == "one" && answer.isCached)
            }
            #expect(scene.origin.requests("/file").count >= 3)
        }

        // MARK: Policies

        @Test(.timeLimit(.minutes(1)))
        func policiesSayWhoIsAsked() async throws {
            let scene = try await scene("default", ["requestCachePolicy": "returnCacheDataDontLoad"])
            scene.origin.serve("/file", Self.fresh("one", ("ETag", "\"a\"")))
            let missing = try await add(scene.probe, scene.origin.url("/file"))
            #expect(try await scene.probe.wait(for: missing, "failed").errorCode == "cache.miss")
            #expect(scene.origin.requests("/file").isEmpty)
            func ask(_ policy: JSONValue?) async throws -> Bool {
                try await fetch(scene, "/file", policy.map { ["requestCachePolicy": $0] } ?? [:]).isCached
            }
            #expect(try await !ask("useProtocolCachePolicy"))
            #expect(try await ask(nil))
            #expect(try await ask("returnCacheDataElseLoad"))
            for policy in ["reloadIgnoringLocalCacheData", "reloadIgnoringLocalAndRemoteCacheData"] as [JSONValue] {
                #expect(try await !ask(policy))
                let asked = scene.origin.requests("/file").last
                #expect(asked?.header("Cache-Control") == "no-cache" && asked?.header("Pragma") == "no-cache")
                #expect(asked?.header("If-None-Match") == nil)
            }
            #expect(try await !ask("reloadRevalidatingCacheData"))
            let asked = scene.origin.requests("/file").last
            #expect(asked?.header("Cache-Control") == "max-age=0" && asked?.header("If-None-Match") == "\"a\"")
            #expect(scene.origin.requests("/file").count == 4)
        }

        /// Conditions in the caller's own headers are not for the cache.
        @Test(.timeLimit(.minutes(1)))
        func conditionsOfTheCallerReachTheServer() async throws {
            let scene = try await scene()
            scene.origin.serve("/file", Self.fresh("one"))
            _ = try await fetch(scene)
            _ = try await fetch(scene, "/file", ["headers": [["If-None-Match", "\"z\""]]])
            #expect(scene.origin.requests("/file").map { $0.header("If-None-Match") } == [nil, "\"z\""])
        }

        @Test(.timeLimit(.minutes(1)))
        func unsafeRequestsInvalidate() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file",
                .choose { $0.method == "GET" ? Self.fresh("one") : .status(204, [("Location", "/other")]) })
            scene.origin.serve("/other", Self.fresh("two"))
            for path in ["/file", "/other"] { _ = try await fetch(scene, path) }
            _ = try await fetch(scene, "/file", ["method": "POST", "body": ["text": "x"]])
            for path in ["/file", "/other"] { #expect(try await !fetch(scene, path).isCached, "\(path)") }
        }

        /// A download may be an unsafe request too.
        @Test(.timeLimit(.minutes(1)))
        func anUnsafeDownloadInvalidates() async throws {
            let scene = try await scene()
            scene.origin.serve("/file", .choose { $0.method == "GET" ? Self.fresh("one") : .status(200, body: "done") })
            _ = try await fetch(scene)
            let download = try await scene.probe.add(
                [
                    [
                        "url": .string(scene.origin.url("/file")), "method": "DELETE",
                        "destination": ["path": .string(scene.folder.file("answer"))],
                    ]
                ], session: "v")[0]
            try await scene.probe.wait(for: download, "completed")
            #expect(try await !fetch(scene).isCached)
        }

        /// A task that must not load anything does not ask, even if the cache takes no part in its request.
        @Test(.timeLimit(.minutes(1)))
        func whatMustNotBeLoadedIsNotAskedFor() async throws {
            let scene = try await scene("default", ["requestCachePolicy": "returnCacheDataDontLoad"])
            scene.origin.serve("/file", Self.fresh("one"))
            let requests: [[String: JSONValue]] = [
                ["method": "HEAD"], ["method": "POST", "body": ["text": "x"]], ["headers": [["Range", "bytes=0-1"]]],
                ["headers": [["If-None-Match", "\"a\""]]], ["headers": [["Cache-Control", "no-store"]]],
                ["body": ["text": "x"]], ["stream": true, "method": "POST"],
            ]
            for request in requests {
                let task = try await add(scene.probe, scene.origin.url("/file"), request)
                #expect(try await scene.probe.wait(for: task, "failed").errorCode == "cache.miss", "\(request)")
            }
            #expect(scene.origin.requests("/file").isEmpty)
        }

        /// Each hop invalidates the URL that was requested there, and those that its answer names.
        @Test(.timeLimit(.minutes(1)))
        func eachHopOfAnUnsafeRequestInvalidates() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/first", .choose { $0.method == "GET" ? Self.fresh("1") : .redirect(to: "/second", status: 307) })
            scene.origin.serve(
                "/second",
                .choose { $0.method == "GET" ? Self.fresh("2") : .status(204, [("Content-Location", "/third")]) })
            for path in ["/third", "/other"] { scene.origin.serve(path, Self.fresh("3")) }
            let paths = ["/first", "/second", "/third", "/other"]
            for path in paths { _ = try await fetch(scene, path) }
            _ = try await fetch(scene, "/first", ["method": "POST", "body": ["text": "x"]])
            for path in paths { #expect(try await fetch(scene, path).isCached == (path == "/other"), "\(path)") }
        }

        /// The end of an HTTP/2 stream shows that an answer without a length is complete.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx", "openssl")))
        func anHTTP2AnswerWithoutALengthIsKept() async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 5000).with("Cache-Control", "max-age=600")
            scene.origin.serve("/file", .chunked(resource, isEnded: true))
            let server = try await Nginx.start(
                tls: true,
                extra: "location / { proxy_pass http://127.0.0.1:\(scene.origin.port); proxy_http_version 1.1; }")
            let authority = try #require(server.certificates?.authority)
            let daemon = try await DaemonProcess.started(["--set", "session.caFile=\(authority)"])
            let probe = try await daemon.probe()
            try await open(probe)
            for isCached in [false, true] {
                let answer = try await answer(probe, try await add(probe, server.tlsURL("file")))
                #expect(answer.isCached == isCached, "\(answer.task)")
                if !isCached { #expect(answer.task["metrics"]?.arrayValue?.last?["protocol"] == "h2") }
            }
        }

        /// A client that decides about answers also decides about stored ones, and a task that waits for the decision
        /// can be cancelled.
        @Test(.timeLimit(.minutes(1)))
        func storedAnswersAreAskedAboutToo() async throws {
            let scene = try await scene("default", ["asks": ["response"]])
            scene.origin.serve("/file", Self.fresh("one"))
            for isCached in [false, true] {
                let id = try await add(scene.probe, scene.origin.url("/file"))
                let question = try await scene.question(id)
                #expect(question["kind"] == "response")
                try await scene.answer(question, "allow")
                #expect(try await answer(scene.probe, id).isCached == isCached)
            }
            let unwanted = try await add(scene.probe, scene.origin.url("/file"))
            _ = try await scene.question(unwanted)
            try await scene.probe.call("task.cancel", ["ids": [.integer(unwanted)]])
            try await scene.probe.wait(for: unwanted, "cancelled")
            let refused = try await add(scene.probe, scene.origin.url("/file"))
            try await scene.answer(try await scene.question(refused), "cancel")
            try await scene.probe.wait(for: refused, "cancelled")
            #expect(scene.origin.requests("/file").count == 1)
        }

        // MARK: Together

        /// Tasks for one URL that begin while its answer arrives make one request. No task waits for an answer that is
        /// not for all.
        @Test(.timeLimit(.minutes(1)))
        func concurrentTasksAskOnce() async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 50_000)
            let gate = Guarded(false)
            let shared = resource.with("Cache-Control", "max-age=600")
            scene.origin.serve("/file", .pausing(shared, after: 1000, until: gate))
            scene.origin.serve("/own", .pausing(resource.with("Cache-Control", "no-store"), after: 1000, until: gate))
            func begin(_ path: String, _ count: Int) async throws -> [Int64] {
                var ids: [Int64] = []
                for _ in 0..<count { ids.append(try await add(scene.probe, scene.origin.url(path))) }
                return ids
            }
            let first = try await begin("/file", 1)
            #expect(await eventually { scene.origin.requests("/file").count == 1 })
            let followers = try await begin("/file", 2)
            let own = try await begin("/own", 2)
            #expect(await eventually { scene.origin.requests("/own").count == 2 })
            gate.withLock { $0 = true }
            for id in first + followers + own { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.origin.requests("/file").count == 1)
            for id in followers { #expect(try await answer(scene.probe, id).isCached) }
        }

        /// A task that waits for another one's answer can be cancelled at once.
        @Test(.timeLimit(.minutes(1)))
        func whoWaitsCanBeCancelled() async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 50_000).with("Cache-Control", "max-age=600")
            scene.origin.serve("/file", .stalling(resource, after: 1000))
            _ = try await add(scene.probe, scene.origin.url("/file"))
            #expect(await eventually { scene.origin.requests("/file").count == 1 })
            let follower = try await add(scene.probe, scene.origin.url("/file"))
            #expect(try await eventually { try await scene.probe.task(follower)["state"] == "running" })
            try await scene.probe.call("task.cancel", ["ids": [.integer(follower)]])
            try await scene.probe.wait(for: follower, "cancelled")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// If the task that asks is stopped, one of those that wait asks, and the others wait for it.
        @Test(.timeLimit(.minutes(1)), arguments: ["task.cancel", "task.pause"])
        func oneOfThoseWhoWaitTakesOver(stop: String) async throws {
            let scene = try await scene()
            let resource = Self.undated(1, 50_000).with("Cache-Control", "max-age=600")
            let gate = Guarded(false)
            scene.origin.serve("/file", .stalling(resource, after: 1000), .pausing(resource, after: 1000, until: gate))
            let first = try await add(scene.probe, scene.origin.url("/file"))
            #expect(await eventually { scene.origin.requests("/file").count == 1 })
            var followers: [Int64] = []
            for _ in 0..<4 { followers.append(try await add(scene.probe, scene.origin.url("/file"))) }
            for id in followers {
                #expect(try await eventually { try await scene.probe.task(id)["state"] == "running" })
            }
            try await scene.probe.call(stop, ["ids": [.integer(first)]])
            #expect(await eventually { scene.origin.requests("/file").count > 1 })
            gate.withLock { $0 = true }
            var cached = 0
            for id in followers { cached += try await answer(scene.probe, id).isCached ? 1 : 0 }
            #expect(cached == 3)
            #expect(scene.origin.requests("/file").count == 2)
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What services rely on: tokens, events that identify their task, selections, and refusals that name the field.
    struct Services {
        private let resource = Resource.version(1, size: 5000)

        private func refusal(_ body: () async throws -> Void) async -> RPCFailure? {
            do {
                try await body()
                return nil
            } catch {
                return error as? RPCFailure
            }
        }

        // MARK: Tokens

        /// However the daemon ends, a request is stored together with its effect.
        @Test(.timeLimit(.minutes(1)))
        func aTokenIsOneSpecificationAcrossKillsAndRemoval() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let spec: [String: JSONValue] = [
                "url": .string(scene.origin.url("/file")), "destination": ["path": .string(scene.file())],
                "clientToken": "job-7", "headers": [["X-A", "1"]],
            ]
            func add(_ spec: [String: JSONValue]) async throws -> JSONValue {
                try await scene.probe.call("task.add", ["tasks": [.object(spec)]])["tasks"]?.arrayValue?.first ?? .null
            }
            let first = try await add(spec)
            let id = try #require(first["id"]?.integerValue)
            #expect(first["existing"] == nil)
            try await scene.probe.wait(for: id, "completed")
            scene = try await scene.restarted()
            #expect(try await add(spec) == ["id": .integer(id), "state": "completed", "existing": true])
            #expect(try await scene.probe.task(id)["clientToken"] == "job-7")
            for change: [String: JSONValue] in [["headers": [["X-A", "2"]]], ["tags": ["new"]]] {
                let error = await refusal { _ = try await add(spec.merging(change) { $1 }) }
                #expect(error?.code == "request.token_reused" && error?.field == "tasks[0].clientToken")
                #expect(error?.data?["details", "task"] == .integer(id))
            }
            try await scene.probe.control("remove", id)
            scene = try await scene.restarted()
            #expect(
                try await add(spec) == ["id": .integer(id), "state": "completed", "existing": true, "removed": true])
            #expect(
                await refusal { _ = try await add(spec.merging(["tags": ["x"]]) { $1 }) }?.code
                    == "request.token_reused")
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
        }

        @Test(.timeLimit(.minutes(1)))
        func eventsSayWhoseTheyAre() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            scene.origin.serve("/gone", .status(404))
            let identity: [String: JSONValue] = ["clientToken": "job-7", "tags": ["a", "b"]]
            let done = try await scene.add("/file?X-Amz-Signature=secret&a=b", to: "file", identity)
            let gone = try await scene.add("/gone", to: "gone", identity.merging(["clientToken": "job-8"]) { $1 })
            try await scene.probe.wait(for: done, "completed")
            try await scene.probe.wait(for: gone, "failed")
            for (id, last, url, token) in [
                (done, "task.completed", "/file?X-Amz-Signature=***&a=b", "job-7"),
                (gone, "task.failed", "/gone", "job-8"),
            ] {
                let events = try await scene.probe.storedEvents([
                    "tasks": [.integer(id)], "types": ["task.added", .string(last)],
                ])
                #expect(events.count == 2)
                for event in events {
                    #expect(event["url"] == .string(scene.origin.url(url)))
                    #expect(event["clientToken"] == .string(token))
                    #expect(event["tags"] == ["a", "b"])
                }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func tasksAreListedByIdsTagsAndTokens() async throws {
            let scene = try await Scene()
            let paused: [String: JSONValue] = ["startPaused": true]
            let a = try await scene.add(
                "/a", to: "a", paused.merging(["tags": ["x", "y"], "clientToken": "1"]) { $1 })
            let b = try await scene.add("/b", to: "b", paused.merging(["tags": ["x"]]) { $1 })
            func list(_ query: JSONValue) async throws -> [Int64?] {
                try await scene.probe.call("task.list", query)["tasks"]?.arrayValue?.map { $0["id"]?.integerValue }
                    ?? []
            }
            #expect(try await list(["ids": [.integer(b), 999]]) == [b])
            #expect(try await list(["tags": ["x"], "order": "newest"]) == [b, a])
            #expect(try await list(["tags": ["x", "y"], "states": ["paused"]]) == [a])
            #expect(try await list(["tags": ["x"], "states": ["queued"]]) == [])
            #expect(try await list(["clientTokens": ["1", "2"]]) == [a])
            for (field, query): (String, JSONValue) in [
                ("order", ["tags": ["x"], "order": "queue"]),
                ("ids", ["ids": .array(Array(repeating: 1, count: 1001))]),
            ] {
                let error = await refusal { _ = try await list(query) }
                #expect(error?.code == "request.bad_field" && error?.field == field)
            }
        }

        // MARK: Refusals

        @Test(.timeLimit(.minutes(1)))
        func refusalsNameTheField() async throws {
            let scene = try await Scene()
            try Files.write(scene.file("source"), "123")
            let good: JSONValue = ["url": "http://localhost:1/f"]
            func bad(_ members: JSONValue) -> JSONValue { ["tasks": [good, good, good, members]] }
            for (method, parameters, field): (String, JSONValue, String) in [
                ("task.add", bad(["url": "x:"]), "tasks[3].url"),
                ("task.add", bad(["url": "http://h/", "priority": 7]), "tasks[3].priority"),
                ("task.add", bad(["url": "http://h/", "connections": 1.5]), "tasks[3].connections"),
                ("task.add", bad(["url": "http://h/", "rateLimit": 0.5]), "tasks[3].rateLimit"),
                ("task.add", bad(["url": "http://h/", "size": 1.5]), "tasks[3].size"),
                ("task.add", bad(["url": "http://h/", "mirrors": ["x:"]]), "tasks[3].mirrors[0]"),
                ("task.add", bad(["url": "http://h/", "netrc": "/nowhere/at/all"]), "tasks[3].netrc"),
                ("task.add", bad(["url": "http://h/", "destination": ["path": "/"]]), "tasks[3].destination.path"),
                (
                    "task.add", bad(["url": "http://h/", "destination": ["path": "/proc/nothing/f"]]),
                    "tasks[3].destination.path"
                ),
                ("task.add", bad(["kind": "upload", "url": "http://h/"]), "tasks[3].source"),
                (
                    "task.add", bad(["kind": "upload", "url": "ftp://h/f", "source": ["path": "/nowhere"]]),
                    "tasks[3].source.path"
                ),
                (
                    "task.add",
                    bad([
                        "kind": "upload", "url": "http://h/", "uploadProtocol": "s3Multipart",
                        "source": ["path": .string(scene.file("source"))],
                        "s3": ["partURLs": ["http://h/1"], "partSize": 2, "completeURL": "http://h/c"],
                    ]), "tasks[3].s3.partURLs"
                ),
                ("task.list", ["limit": 1.5], "limit"), ("task.get", ["id": 1.5], "id"),
                ("task.pause", ["ids": [1, 1.5]], "ids[1]"), ("task.update", ["id": 1, "rateLimit": 1.5], "rateLimit"),
                ("events.list", ["after": 1.5], "after"),
                ("events.ack", ["subscriber": "s", "sequence": 1.5], "sequence"),
                ("settings.set", ["maximumConcurrentTasks": 1.5], "maximumConcurrentTasks"),
                (
                    "session.open", ["id": "s", "configuration": ["maximumConcurrentTasks": 1.5]],
                    "configuration.maximumConcurrentTasks"
                ),
            ] {
                let error = await refusal { try await scene.probe.call(method, parameters) }
                #expect(error?.field == field, "\(parameters): \(String(describing: error))")
                #expect(error?.message.contains(field) == true, "\(String(describing: error))")
            }
        }

        /// Nobody can tell which of the two is meant.
        @Test(.timeLimit(.minutes(1)))
        func aMemberThatIsThereTwiceIsRefusedByName() async throws {
            let scene = try await Scene()
            for (parameters, field) in [
                (#"{"id":1,"id":2}"#, "id"), (#"{"id":1,"\u0069d":2}"#, "id"), (#"{"id":1,"x":1,"x":1}"#, "x"),
            ] {
                let text = #"{"jsonrpc":"2.0","id":1,"method":"task.get","params":\#(parameters)}"# + "\n"
                _ = try await scene.probe.send(Array(text.utf8))
                let answer = try await scene.probe.nextMessage()
                #expect(answer["error", "data", "details", "field"] == .string(field), "\(answer)")
                #expect(answer["error", "message"]?.stringValue?.contains("twice") == true)
            }
            let nested = #"{"tasks":[{"url":"http://h/"},{"url":"http://h/","retry":{"attempts":1,"attempts":2}}]}"#
            let text = #"{"jsonrpc":"2.0","id":1,"method":"task.add","params":\#(nested)}"# + "\n"
            _ = try await scene.probe.send(Array(text.utf8))
            let answer = try await scene.probe.nextMessage()
            #expect(answer["error", "data", "details", "field"] == "tasks[1].retry.attempts", "\(answer)")
            for line in [
                #"{"jsonrpc":"2.0","id":1,"id":2,"method":"daemon.info"}"#,
                #"{"jsonrpc":"2.0","id":1,"method":"daemon.info","method":"daemon.stats"}"#,
            ] {
                _ = try await scene.probe.send(Array((line + "\n").utf8))
                let answer = try await scene.probe.nextMessage()
                #expect(answer["error", "data", "code"] == "rpc.malformed")
                #expect(answer["error", "message"]?.stringValue?.contains("twice") == true)
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aPlaceBeyondTheLogIsRefusedAlike() async throws {
            let scene = try await Scene()
            _ = try await scene.add("/file", to: "file", ["startPaused": true])
            let head = try #require(try await scene.probe.call("events.list", ["after": "start"])["head"]?.integerValue)
            #expect(try await scene.probe.call("events.list", ["after": .integer(head)])["events"] == [])
            for method in ["events.list", "events.subscribe"] {
                let error = await refusal { try await scene.probe.call(method, ["after": .integer(head + 1)]) }
                #expect(error?.code == "request.bad_field" && error?.field == "after")
                #expect(error?.data?["details", "head"] == .integer(head))
            }
        }

        // MARK: Sessions that are paused

        @Test(.timeLimit(.minutes(1)))
        func aPausedSessionRunsNothingUntilItIsResumed() async throws {
            var scene = try await Scene()
            scene.origin.serve(
                "/slow", .stalling(.version(2, size: 8 << 20), at: 1 << 20), .good(.version(2, size: 8 << 20)))
            scene.origin.serve("/file", .good(resource))
            try await scene.probe.call("session.open", ["id": "s"])
            let running = try await scene.add("/slow", to: "slow", session: "s")
            let own = try await scene.add("/file", to: "own", ["startPaused": true], session: "s")
            try await scene.probe.wait(for: running, bytes: 1 << 20)
            let session = try await scene.probe.call("session.pause", ["id": "s"])
            #expect(session["paused"] == true && session["state"] == "active")
            // When it has answered, nothing runs.
            #expect(try await scene.probe.state(running) == "queued")
            let later = try await scene.add("/file", to: "later", session: "s")
            let elsewhere = try await scene.add("/file", to: "elsewhere")
            try await scene.probe.wait(for: elsewhere, "completed")
            scene = try await scene.restarted()
            for id in [running, later] {
                let task = try await scene.probe.task(id)
                #expect(task["state"] == "queued" && task["reason"] == "sessionPaused", "\(task)")
                #expect(task["explanation"]?.stringValue?.contains("dlctl session resume s") == true)
                let (status, output) = try await scene.daemon.dlctl(["explain", "\(id)"])
                #expect(status == 0 && output.contains("dlctl session resume s"))
            }
            // A retry has no effect while the session is paused.
            #expect(try await scene.probe.control("retry", later) == false)
            #expect(scene.origin.requests("/file").count == 1)
            let again = try await scene.daemon.dlctl(["session", "pause", "s"])
            #expect(again.status == 0 && again.output.contains("paused"))
            let (status, _) = try await scene.daemon.dlctl(["session", "resume", "s"])
            #expect(status == 0)
            for id in [running, later] { try await scene.probe.wait(for: id, "completed") }
            #expect(Resource.version(2, size: 8 << 20).content.matches(scene.file("slow")))
            #expect(try await scene.probe.state(own) == "paused")
            let events = try await scene.probe.storedEvents(["types": ["session.paused", "session.resumed"]])
            #expect(events.map { $0["type"] } == ["session.paused", "session.resumed"])
            let stopped = try await scene.probe.storedEvents(["tasks": [.integer(running)], "types": ["task.queued"]])
            #expect(stopped.first?["reason"] == "sessionPaused")
        }

        @Test(.timeLimit(.minutes(1)))
        func aSessionThatIsOverOrUnknownIsNotPaused() async throws {
            let scene = try await Scene()
            #expect(
                await refusal { try await scene.probe.call("session.pause", ["id": "s"]) }?.code == "session.not_found")
            try await scene.probe.call("session.open", ["id": "s"])
            try await scene.probe.call("session.pause", ["id": "s"])
            try await scene.probe.call("session.invalidate", ["id": "s"])
            #expect(
                await refusal { try await scene.probe.call("session.pause", ["id": "s"]) }?.code
                    == "session.invalidated")
            // After it is opened again, it is a new session.
            #expect(try await scene.probe.call("session.open", ["id": "s"])["paused"] == nil)
            #expect(try await scene.probe.call("session.pause", ["id": "shared"])["paused"] == true)
        }
    }
}

import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// Sessions that live as long as the connection that opened them.
    struct VolatileSessions {
        private static let marker = "Zq7volatile7qZ"

        private func open(_ kind: String, _ id: String = "v", on probe: RPCProbe) async throws {
            try await probe.call("session.open", ["id": .string(id), "kind": .string(kind)])
        }

        private func refusal(_ method: String, _ parameters: JSONValue, on probe: RPCProbe) async throws -> String? {
            do {
                try await probe.call(method, parameters)
                return nil
            } catch let failure as RPCFailure {
                return failure.code
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["default", "ephemeral"])
        func tasksCompleteAndTheirAnswersAreRead(kind: String) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(200, [], body: "answer"))
            try await open(kind, on: scene.probe)
            let download = try await scene.add(session: "v")
            let data = try await scene.probe.add(
                [["kind": "data", "url": .string(scene.origin.url("/file"))]], session: "v")[0]
            #expect(download >= 1_000_000_000_000_000)
            try await scene.probe.wait(for: download, "completed")
            try await scene.probe.wait(for: data, "completed")
            #expect(try Files.text(scene.file()) == "answer")
            let body = try await scene.probe.call("task.body", ["id": .integer(data)])
            #expect(body["data"]?.stringValue == Base64Text.encode(Array("answer".utf8)))
            let session = try await scene.probe.call("session.get", ["id": "v"])
            #expect(session["kind"]?.stringValue == kind && session["tasks", "completed"]?.integerValue == 2)
            let listed = try await scene.probe.call("task.list", ["session": "v"])
            #expect(listed["tasks"]?.arrayValue?.compactMap { $0["id"]?.integerValue } == [download, data])
        }

        /// A client that reads gets every event of the longest call, in order, and its answer.
        @Test(.timeLimit(.minutes(4)))
        func theLongestCallKeepsItsConnection() async throws {
            let scene = try await Scene()
            try await open("ephemeral", on: scene.probe)
            try await scene.probe.call(
                "events.subscribe", ["sessions": ["v"], "types": ["task.added", "task.paused"]])
            let spec: JSONValue = ["kind": "data", "url": .string(scene.origin.url("/file")), "startPaused": true]
            let tasks = JSONValue.array(Array(repeating: spec, count: 50_000))
            let added = try await scene.probe.call("task.add", ["session": "v", "tasks": tasks], within: 180)["tasks"]
            let ids = added?.arrayValue?.compactMap { $0["id"]?.integerValue } ?? []
            var told: [Int64] = []
            while told.count < 50_000 {
                let event = try await scene.probe.nextEvent()
                if event["type"] == "task.added", let id = event["task"]?.integerValue { told.append(id) }
            }
            #expect(ids.count == 50_000 && told == ids)
        }

        @Test(.timeLimit(.minutes(1)))
        func nothingOfThemIsInTheDurableStore() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(200, [], body: "answer"))
            let head = try await scene.probe.call("daemon.stats")["head"]?.integerValue
            try await open("ephemeral", on: scene.probe)
            let id = try await scene.add(session: "v")
            try await scene.probe.wait(for: id, "completed")
            #expect(try await scene.probe.call("daemon.stats")["head"]?.integerValue == head)
            #expect(
                try await scene.probe.call("events.list", ["after": "start"])["events"]?.arrayValue?.isEmpty == true)
            let other = try await scene.daemon.probe()
            #expect(try await other.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
            let durable = try await scene.add(to: "other")
            #expect(durable < 1000)
        }

        /// Every selector finds them on their own connection, and no other connection does.
        @Test(.timeLimit(.minutes(1)))
        func theirConnectionListsAndControlsThem() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .silent)
            let other = try await scene.daemon.probe()
            try await open("default", on: scene.probe)
            let durable = try await scene.add("/file", to: "durable")
            let label: [String: JSONValue] = ["tags": ["x"], "clientToken": "token"]
            let spec: [String: JSONValue] = ["kind": "data", "url": .string(scene.origin.url("/file"))]
            let id = try await scene.probe.add([.object(spec.merging(label) { $1 })], session: "v")[0]
            for task in [durable, id] { try await scene.probe.wait(for: task, "running") }
            func listed(_ parameters: JSONValue, _ probe: RPCProbe) async throws -> [Int64] {
                let list = try await probe.call("task.list", parameters)
                return list["tasks"]?.arrayValue?.compactMap { $0["id"]?.integerValue } ?? []
            }
            let range: JSONValue = ["range": ["first": 1, "last": .integer(1 << 53)]]
            for parameters in [
                [:], range, ["states": ["running"]], ["kinds": ["data"]], ["tags": ["x"]], ["match": "/file"],
                ["clientTokens": ["token"]], ["ids": [.integer(durable), .integer(id)]], ["order": "newest"],
                ["order": "activity"],
            ] as [JSONValue] {
                #expect(try await listed(parameters, scene.probe).contains(id), "\(parameters)")
                #expect(try await !listed(parameters, other).contains(id), "\(parameters)")
            }
            let names = try await scene.probe.call("session.list")["sessions"]?.arrayValue?.map { $0["id"] }
            #expect(names == ["shared", "v"])
            #expect(try await other.call("session.list")["sessions"]?.arrayValue?.count == 1)
            #expect(try await scene.probe.call("daemon.stats")["tasks", "running"] == 2)
            #expect(try await other.call("daemon.stats")["tasks", "running"] == 1)
            try await other.call("task.pause", range)
            #expect(try await scene.probe.task(id)["state"] == "running")
            #expect(try await scene.probe.call("task.pause", range)["changed"] == [.integer(id)])
            let all = try await scene.probe.call("task.cancel", ["all": true])
            #expect(all["changed"] == [.integer(durable), .integer(id)], "\(all)")
        }

        /// Neither now nor after the daemon was killed.
        @Test(.timeLimit(.minutes(1)))
        func noIDIsUsedTwice() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .silent)
            var seen: Set<Int64> = []
            for _ in 0..<3 {
                try await open("default", on: scene.probe)
                for name in ["a", "b"] {
                    let id = try await scene.add("/file", to: name, session: "v")
                    #expect(id >= 1_000_000_000_000_000 && seen.insert(id).inserted)
                }
                scene = try await scene.restarted()
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func onlyTheConnectionThatOpenedOneHasIt() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            try await open("default", on: scene.probe)
            let id = try await scene.add(session: "v")
            let other = try await scene.daemon.probe()
            for (method, parameters) in [
                ("session.open", ["id": "v", "kind": "default"]), ("session.open", ["id": "v"]),
                ("session.get", ["id": "v"]), ("session.invalidate", ["id": "v"]), ("task.list", ["session": "v"]),
                ("task.pause", ["session": "v"]), ("decision.list", ["session": "v"]),
                ("cache.info", ["storage": "v"]), ("cache.remove", ["storage": "v"]),
                ("task.add", ["session": "v", "tasks": [["url": "http://127.0.0.1:1/"]]]),
            ] as [(String, JSONValue)] {
                #expect(try await refusal(method, parameters, on: other) == "session.in_use", "\(method)")
            }
            for method in ["task.get", "task.body", "task.resumeData"] {
                #expect(try await refusal(method, ["id": .integer(id)], on: other) == "task.not_found", "\(method)")
            }
            let cancelled = try await other.call("task.cancel", ["ids": [.integer(id)]])
            #expect(cancelled["skipped"]?.arrayValue?.first?["code"]?.stringValue == "task.not_found")
            try await other.call("task.cancel", ["all": true])
            #expect(try await scene.probe.task(id)["state"]?.stringValue != "cancelled")
        }

        @Test(.timeLimit(.minutes(1)))
        func aSessionEndsWithItsConnection() async throws {
            let scene = try await Scene()
            scene.origin.serve("/done", .status(200, [], body: "answer"))
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            let client = try await scene.daemon.probe()
            try await open("ephemeral", on: client)
            let done = try await client.add(scene.origin.url("/done"), to: scene.file("done"), session: "v")
            let running = try await client.add(scene.origin.url("/file"), to: scene.file("half"), session: "v")
            try await client.wait(for: done, "completed")
            try await client.wait(for: running, bytes: 1 << 19)
            client.disconnect()
            // The part file is removed, delivered files stay, and the name is free again.
            #expect(await eventually { scene.names == ["done"] })
            #expect(
                await eventually {
                    (try? await refusal("session.open", ["id": "v", "kind": "default"], on: scene.probe)) == .some(nil)
                })
            let tasks = try await scene.probe.call("task.list", ["session": "v"])["tasks"]?.arrayValue
            #expect(tasks?.isEmpty == true)
            #expect(try await refusal("task.get", ["id": .integer(done)], on: scene.probe) == "task.not_found")
        }

        @Test(.timeLimit(.minutes(1)))
        func aClientThatIsGoneWithManyTasksLeavesNothing() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 200_000), rate: 100_000))
            let client = try await scene.daemon.probe()
            try await open("default", on: client)
            let specs = (0..<1000).map { number -> JSONValue in
                [
                    "url": .string(scene.origin.url("/\(number)")),
                    "destination": ["path": .string(scene.file("\(number)"))],
                ]
            }
            let ids = try await client.add(specs, session: "v")
            try await client.wait(for: ids[0], bytes: 1)
            client.disconnect()
            #expect(
                await eventually {
                    (try? await refusal("session.open", ["id": "v", "kind": "default"], on: scene.probe)) == .some(nil)
                })
            #expect(scene.names.allSatisfy { !$0.hasSuffix(".dldpart") })
            #expect(try await scene.probe.call("daemon.stats")["activeTransfers"]?.integerValue == 0)
        }

        @Test(.timeLimit(.minutes(1)))
        func theirEventsHaveNoNumberAndGoToTheirConnectionOnly() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(200, [], body: "answer"))
            let other = try await scene.daemon.probe()
            for probe in [scene.probe, other] {
                try await probe.call("events.subscribe", ["after": "now", "progressInterval": 0])
            }
            try await open("default", on: scene.probe)
            let id = try await scene.add(session: "v")
            let events = try await scene.probe.events(until: "task.completed")
            #expect(events.allSatisfy { $0["sequence"] == nil })
            let types = events.compactMap { $0["type"]?.stringValue }
            #expect(types.contains("session.opened"))
            #expect(events.last?["task"]?.integerValue == id)
            // The first event that the other client gets is durable.
            let durable = try await scene.add(to: "other")
            let heard = try await other.events(until: "task.completed")
            #expect(heard.allSatisfy { $0["task"]?.integerValue == durable && $0["sequence"] != nil })
        }

        @Test(.timeLimit(.minutes(1)))
        func namesAreOneSpaceWithThoseOfDurableSessions() async throws {
            let scene = try await Scene()
            try await scene.probe.call("session.open", ["id": "b"])
            #expect(
                try await refusal("session.open", ["id": "b", "kind": "ephemeral"], on: scene.probe)
                    == "request.bad_field")
            #expect(
                try await refusal("session.open", ["id": "shared", "kind": "default"], on: scene.probe)
                    == "request.bad_field")
            try await open("default", on: scene.probe)
            for kind in ["background", "ephemeral"] {
                #expect(
                    try await refusal("session.open", ["id": "v", "kind": .string(kind)], on: scene.probe)
                        == "request.bad_field")
            }
            // Without a kind, it is attached to.
            #expect(try await scene.probe.call("session.open", ["id": "v"])["kind"]?.stringValue == "default")
            #expect(
                try await refusal(
                    "session.open", ["id": "w", "kind": "default", "configuration": ["subscriber": "s"]],
                    on: scene.probe) == "request.bad_field")
        }

        /// While it runs and after kill -9: only part files and delivered files may contain the client's text.
        @Test(.timeLimit(.minutes(2)))
        func nothingOfAnEphemeralSessionIsOnADisk() async throws {
            let temporary = try TemporaryFolder()
            let scene = try await Scene(
                ["--log-level", "info"], environment: ["TMPDIR": temporary.path])
            let marker = Self.marker
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            scene.origin.serveEverything(.status(404, [("X-Marker", marker)], body: marker))
            try await open("ephemeral", marker, on: scene.probe)
            let running = try await scene.add(
                "/file", to: "half", ["headers": [["X-Marker", .string(marker)]]], session: marker)
            let body = Base64Text.encode(Array(String(repeating: marker, count: 20_000).utf8))
            let data = try await scene.probe.add(
                [
                    [
                        "kind": "data", "method": "POST", "url": .string(scene.origin.url("/\(marker)")),
                        "body": ["base64": .string(body)], "acceptsAnyStatus": true,
                        "description": .string(marker),
                    ],
                    [
                        "url": .string(scene.origin.url("/\(marker)")),
                        "destination": ["path": .string(scene.file("f"))],
                    ],
                ], session: marker)
            try await scene.probe.wait(for: data[0], "completed")
            try await scene.probe.wait(for: data[1], "failed")
            try await scene.probe.wait(for: running, bytes: 1 << 19)
            let places = [scene.daemon.folder.path, temporary.path, "/dev/shm"]
            #expect(try await found(marker, in: places) == "")
            try await scene.daemon.kill()
            #expect(try await found(marker, in: places) == "")
            #expect(!scene.daemon.log.contains("1000000000000000"))
            #expect(try await found("1000000000000000", in: [scene.daemon.stateFolder]) == "")
        }

        /// The names of the files that contain the text.
        private func found(_ text: String, in places: [String]) async throws -> String {
            // Files of other tests come and go meanwhile.
            try await Program.run(["grep", "-rlaF", "--devices=skip", "-s", "-e", text] + places).output
        }

        /// A killed daemon's part file is removed by the next daemon that delivers there, when it is a day old.
        @Test(.timeLimit(.minutes(1)))
        func whatAKilledDaemonLeftIsRemoved() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            scene.origin.serve("/done", .status(200, [], body: "answer"))
            try await open("ephemeral", on: scene.probe)
            let id = try await scene.add("/file", to: "half", session: "v")
            try await scene.probe.wait(for: id, bytes: 1 << 19)
            #expect(await eventually { scene.names.contains { $0.hasSuffix(".dldpart") } })
            try await scene.daemon.kill()
            for name in scene.names {
                var times = [timespec(tv_sec: 1_600_000_000, tv_nsec: 0), timespec(tv_sec: 1_600_000_000, tv_nsec: 0)]
                #expect(utimensat(AT_FDCWD, scene.file(name), &times, 0) == 0)
            }
            try await scene.daemon.start()
            let probe = try await scene.daemon.probe()
            let next = try await probe.add(scene.origin.url("/done"), to: scene.file("done"))
            try await probe.wait(for: next, "completed")
            #expect(await eventually { scene.names == ["done"] })
        }

        @Test(.timeLimit(.minutes(1)))
        func aDaemonThatStopsLeavesNoParts() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            try await open("default", on: scene.probe)
            let id = try await scene.add(session: "v")
            try await scene.probe.wait(for: id, bytes: 1 << 19)
            #expect(try await scene.daemon.terminate() == 0)
            #expect(scene.names == [])
        }
    }
}

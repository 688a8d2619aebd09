import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// A task that the cache answers when it is added looks like a task that ran and got the same stored answer.
    struct EarlyAnswers {
        /// What a client can see of a task, from its addition to its end.
        private struct Sight {
            var id: Int64
            var stateWhenAdded: JSONValue?
            var events: [JSONValue]
            var task: JSONValue
            var revealed: JSONValue
            var listed: JSONValue?
            var body: JSONValue
        }

        /// What may differ between two tasks with one specification.
        private static let own: Set<String> = [
            "id", "task", "time", "duration", "createdAt", "startedAt", "finishedAt", "fetchStart", "earliestBeginAt",
            "age", "position",
        ]

        private static func common(_ value: JSONValue) -> JSONValue {
            switch value {
            case .object(let members): .object(members.filter { !own.contains($0.key) }.mapValues(common))
            case .array(let values):
                .array(values.filter { $0.arrayValue?.first?.stringValue?.lowercased() != "age" }.map(common))
            case .null, .bool, .integer, .number, .string: value
            }
        }

        private func sight(
            _ scene: Scene, _ more: [String: JSONValue] = [:], awaiting last: String = "session.drained"
        ) async throws -> Sight {
            let spec: [String: JSONValue] = [
                "kind": "data", "url": .string(scene.origin.url("/file")), "tags": ["t"], "description": "d",
            ]
            let added = try await scene.probe.call(
                "task.add", ["session": "v", "tasks": [.object(spec.merging(more) { $1 })]])["tasks"]?.arrayValue?.first
            let id = try #require(added?["id"]?.integerValue)
            let events = try await scene.probe.events(until: last)
            let task = try await scene.probe.task(id)
            let revealed = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
            let listed = try await scene.probe.call("task.list", ["session": "v"])["tasks"]?.arrayValue
            let body = try await scene.probe.call("task.body", ["id": .integer(id)])
            return Sight(
                id: id, stateWhenAdded: added?["state"], events: events, task: task, revealed: revealed,
                listed: listed?.first { $0["id"] == .integer(id) }, body: body)
        }

        private func scene(_ kind: String) async throws -> Scene {
            let scene = try await Scene()
            try await scene.probe.call("session.open", ["id": "v", "kind": .string(kind)])
            try await scene.probe.call("events.subscribe", ["after": "now", "progressInterval": 0])
            return scene
        }

        private static func fresh(_ body: String, _ more: [(String, String)] = []) -> Behaviour {
            .status(
                200,
                [
                    ("Cache-Control", "max-age=600"), ("Content-Type", "text/plain; charset=utf-8"), ("ETag", "\"a\""),
                    ("X-Twice", "1"), ("X-Twice", "2"),
                ] + more, body: body)
        }

        /// With an `earliestBeginAt` in the past, a task runs in the ordinary way.
        @Test(.timeLimit(.minutes(1)), arguments: ["default", "ephemeral"], ["plain \"text\"\n", ""])
        func bothWaysTellTheSame(kind: String, body: String) async throws {
            let scene = try await scene(kind)
            // A cookie of the session's own would be a credential, which makes another request.
            let cookie = kind == "default" ? [("Set-Cookie", "c=d")] : []
            scene.origin.serve("/file", Self.fresh(body, cookie), .status(400, [], body: "asked again"))
            _ = try await sight(scene)
            let early = try await sight(scene)
            let ordinary = try await sight(scene, ["earliestBeginAt": "2020-01-01T00:00:00Z"])
            #expect(early.stateWhenAdded == "completed" && ordinary.stateWhenAdded == "queued")
            #expect(
                early.events.map { $0["type"]?.stringValue } == [
                    "task.added", "task.started", "task.response", "task.completed", "session.drained",
                ])
            #expect(Self.common(.array(early.events)) == Self.common(.array(ordinary.events)))
            #expect(Self.common(early.task) == Self.common(ordinary.task))
            #expect(Self.common(early.revealed) == Self.common(ordinary.revealed))
            #expect(Self.common(early.listed ?? .null) == Self.common(ordinary.listed ?? .null))
            #expect(early.body == ordinary.body)
            for task in [early.task, ordinary.task] {
                #expect(task["response", "fromCache"] == true && (task["response", "age"]?.integerValue ?? -1) >= 0)
                #expect(task["metrics"]?.arrayValue?.compactMap { $0["fetchType"]?.stringValue } == ["localCache"])
            }
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// Some tasks of one call are answered, and the others run.
        @Test(.timeLimit(.minutes(1)))
        func answeredTasksStandAmongOthers() async throws {
            let scene = try await scene("ephemeral")
            scene.origin.serve("/file", Self.fresh("one"))
            scene.origin.serve("/other", Self.fresh("two"))
            _ = try await sight(scene)
            let specs = ["/file", "/other", "/file"].map { path -> JSONValue in
                ["kind": "data", "url": .string(scene.origin.url(path))]
            }
            let added = try await scene.probe.call("task.add", ["session": "v", "tasks": .array(specs)])
            let tasks = added["tasks"]?.arrayValue ?? []
            #expect(tasks.map { $0["state"] } == ["completed", "queued", "completed"])
            let other = try #require(tasks[1]["id"]?.integerValue)
            try await scene.probe.wait(for: other, "completed")
            #expect(scene.origin.requests("/file").count == 1 && scene.origin.requests("/other").count == 1)
        }

        /// A paused session answers nothing before it is resumed.
        @Test(.timeLimit(.minutes(1)))
        func aPausedSessionWaits() async throws {
            let scene = try await scene("default")
            scene.origin.serve("/file", Self.fresh("one"))
            _ = try await sight(scene)
            try await scene.probe.call("session.pause", ["id": "v"])
            let id = try await scene.probe.add(
                [["kind": "data", "url": .string(scene.origin.url("/file"))]], session: "v")[0]
            #expect(try await scene.probe.task(id)["state"] == "queued")
            try await scene.probe.call("session.resume", ["id": "v"])
            #expect(try await scene.probe.wait(for: id, "completed")["response", "fromCache"] == true)
        }

        /// The client of an answered task goes, and nothing of the task remains.
        @Test(.timeLimit(.minutes(1)))
        func whoGoesTakesItsAnswersAlong() async throws {
            let scene = try await scene("default")
            scene.origin.serve("/file", Self.fresh("one"))
            _ = try await sight(scene)
            let client = try await scene.daemon.probe()
            try await client.call("session.open", ["id": "w", "kind": "default"])
            let id = try await client.add(
                [["kind": "data", "url": .string(scene.origin.url("/file"))]], session: "w")[0]
            #expect(try await client.task(id)["state"] == "completed")
            client.disconnect()
            #expect(
                await eventually {
                    (try? await scene.probe.call("session.open", ["id": "w", "kind": "default"])) != nil
                })
            #expect(try await scene.probe.call("task.list", ["session": "w"])["tasks"]?.arrayValue?.isEmpty == true)
            await #expect(throws: RPCFailure.self) { try await scene.probe.task(id) }
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Clients decide where answers are stored.
    struct DecisionCache {
        private func scene(_ kind: String = "default", _ more: [String: JSONValue] = [:]) async throws -> Scene {
            let scene = try await Scene()
            let configuration: [String: JSONValue] = ["asks": ["cache"]]
            try await scene.probe.call(
                "session.open",
                ["id": "s", "kind": .string(kind), "configuration": .object(configuration.merging(more) { $1 })])
            scene.origin.serve("/file", .status(200, [("Cache-Control", "max-age=600")], body: "one"))
            return scene
        }

        /// The number of entries in memory and on the disk.
        private func stored(_ scene: Scene) async throws -> [Int64] {
            let storages = try await scene.probe.call("cache.info")["storages"]?.arrayValue ?? []
            return ["memoryEntries", "diskEntries"].map { name in
                storages.reduce(0) { $0 + ($1[name]?.integerValue ?? 0) }
            }
        }

        private func body(_ scene: Scene, _ id: Int64) async throws -> String {
            try await scene.probe.wait(for: id, "completed")
            let data = try await scene.probe.call("task.body", ["id": .integer(id)])["data"]?.stringValue ?? ""
            return String(decoding: Base64Text.decode(data), as: UTF8.self)
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ("default", "store", [1, 1]), ("default", "memoryOnly", [1, 0]), ("default", "doNotStore", [0, 0]),
                ("ephemeral", "store", [1, 0]), ("ephemeral", "doNotStore", [0, 0]),
            ])
        func theClientSaysWhereAnAnswerIsStored(kind: String, action: String, entries: [Int64]) async throws {
            let scene = try await scene(kind)
            let id = try await scene.request("/file")
            let asked = try await scene.question(id)
            #expect(asked["kind"] == "cache" && asked["response", "status"] == 200 && asked["deadline"] != nil)
            #expect(asked["default"] == (kind == "default" ? "store" : "memoryOnly"), "\(asked)")
            #expect(asked["actions"] == ["store", "memoryOnly", "doNotStore"])
            #expect(try await eventually { try await scene.probe.task(id)["phase"] == "deciding" })
            #expect(try await scene.probe.task(id)["state"] == "running")
            #expect(try await stored(scene) == [0, 0])
            #expect(try await scene.refusal(asked, "allow")?.code == "request.bad_field")
            try await scene.answer(asked, action)
            try await scene.answer(asked, action)
            let other = action == "store" ? "doNotStore" : "store"
            #expect(try await scene.refusal(asked, other)?.code == "decision.gone")
            #expect(try await body(scene, id) == "one")
            #expect(try await stored(scene) == entries)
            let isKept = entries[0] > 0
            let second = try await scene.request("/file")
            if !isKept { try await scene.answer(try await scene.question(second), action) }
            #expect(try await body(scene, second) == "one")
            let task = try await scene.probe.task(second)
            #expect((task["response", "fromCache"]?.boolValue ?? false) == isKept, "\(task)")
            #expect(scene.origin.requests("/file").count == (isKept ? 1 : 2))
        }

        /// An answer that the client keeps off the disk stays off it when the server confirms it.
        @Test(.timeLimit(.minutes(1)))
        func whatIsForMemoryStaysThereWhenItIsValidated() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file",
                .choose { request in
                    let fields = [("ETag", "\"a\""), ("Cache-Control", "no-cache")]
                    return request.header("If-None-Match") == nil
                        ? .status(200, fields, body: "one") : .status(304, fields)
                })
            let first = try await scene.request("/file")
            try await scene.answer(try await scene.question(first), "memoryOnly")
            try await scene.probe.wait(for: first, "completed")
            // The decision applies to the version, so a confirmation asks nothing.
            let second = try await scene.request("/file")
            #expect(try await body(scene, second) == "one")
            #expect(try await scene.probe.task(second)["response", "fromCache"] == true)
            #expect(try await stored(scene) == [1, 0])
        }

        /// A stored answer is removed if the answer that replaces it is not stored.
        @Test(.timeLimit(.minutes(1)), arguments: ["memoryOnly", "doNotStore"])
        func theOlderAnswerGoes(action: String) async throws {
            let scene = try await scene()
            let first = try await scene.request("/file")
            try await scene.answer(try await scene.question(first), "store")
            try await scene.probe.wait(for: first, "completed")
            #expect(try await stored(scene) == [1, 1])
            let second = try await scene.request("/file", ["requestCachePolicy": "reloadIgnoringLocalCacheData"])
            try await scene.answer(try await scene.question(second), action)
            try await scene.probe.wait(for: second, "completed")
            #expect(try await stored(scene) == [action == "memoryOnly" ? 1 : 0, 0])
        }

        /// No client is asked about an answer that would not be stored, and no task waits for one that must not be.
        @Test(.timeLimit(.minutes(1)))
        func onlyStorableAnswersAreAskedAbout() async throws {
            let scene = try await scene()
            scene.origin.serve("/no", .status(200, [("Cache-Control", "no-store")], body: "x"))
            scene.origin.serve("/gone", .status(404, [("Cache-Control", "max-age=600")], body: "x"))
            let unstored = try await scene.request("/no")
            let download = try await scene.add("/file", to: "file", session: "s")
            for id in [unstored, download] { try await scene.probe.wait(for: id, "completed") }
            let refused = try await scene.request("/gone")
            #expect(try await scene.probe.wait(for: refused, "failed").errorCode == "http.status")
            let first = try await scene.request("/file")
            let asked = try await scene.question(first)
            let second = try await scene.request("/file")
            try await scene.answer(try await scene.question(second), "doNotStore")
            try await scene.answer(asked, "store")
            for id in [first, second] { try await scene.probe.wait(for: id, "completed") }
        }

        /// A session of kind `background` has no cache: it may set `asks`, but nothing is asked.
        @Test(.timeLimit(.minutes(1)))
        func backgroundSessionsAreNotAsked() async throws {
            let scene = try await scene("background")
            let id = try await scene.request("/file")
            try await scene.probe.wait(for: id, "completed")
            #expect(try await scene.toldQuestions(id).isEmpty)
        }

        /// The answer is complete, so a task that is stopped does not wait for the decision.
        @Test(.timeLimit(.minutes(1)), arguments: ["task.cancel", "task.pause"])
        func aTaskThatIsStoppedAsksNothing(method: String) async throws {
            let scene = try await scene()
            let id = try await scene.request("/file")
            let asked = try await scene.question(id)
            try await scene.probe.call(method, ["ids": [.integer(id)]])
            try await scene.probe.wait(for: id, method == "task.cancel" ? "cancelled" : "paused")
            #expect(try await scene.questions(id).isEmpty)
            #expect(try await scene.refusal(asked, "store")?.code == "decision.gone")
            #expect(try await stored(scene) == [0, 0])
            if method == "task.pause" {
                #expect(try await scene.probe.control("resume", id))
                try await scene.answer(try await scene.question(id, after: asked), "store")
                try await scene.probe.wait(for: id, "completed")
            }
        }

        /// Two questions about one answer: whether it is wanted, and where it is stored.
        @Test(.timeLimit(.minutes(1)))
        func anAnswerMayBeAskedAboutTwice() async throws {
            let scene = try await scene("default", ["asks": ["response", "cache"]])
            let id = try await scene.request("/file")
            let wanted = try await scene.question(id)
            #expect(wanted["kind"] == "response")
            try await scene.answer(wanted, "allow")
            let kept = try await scene.question(id, after: wanted)
            #expect(kept["kind"] == "cache")
            try await scene.answer(kept, "store")
            #expect(try await body(scene, id) == "one")
            #expect(try await stored(scene) == [1, 1])
        }
    }
}

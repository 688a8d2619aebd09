import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// Streams fill the cache and are answered from it.
    struct CachedStreams {
        private let body = (0..<14_000).map { "\(100_000_000 + $0)\n" }.joined()

        /// Confirms its only version. (The Date of a `Resource` would make it old.)
        private func serve(_ stream: StreamScene, _ freshness: String) {
            let (fields, body) = ([("ETag", "\"v1\""), ("Cache-Control", freshness)], body)
            stream.origin.serve(
                "/file",
                .choose { $0.header("If-None-Match") == nil ? .status(200, fields, body: body) : .status(304, fields) })
        }

        private func hear(_ stream: StreamScene, _ more: [String: JSONValue] = [:]) async throws -> StreamScene.Heard {
            let id = try await stream.add("/file", more)
            try await stream.credit(id, 50_000)
            let heard = try await stream.hear(id, bytes: 50_000)
            #expect(heard.bytes.count == 50_000)
            try await stream.credit(id)
            return try await stream.hear(id, until: "task.completed", after: heard)
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [("max-age=600", [200]), ("no-cache", [200, 304, 304]), ("no-store", [200, 200, 200])])
        func aStoredAnswerIsStreamed(_ freshness: String, _ answers: [Int]) async throws {
            let stream = try await StreamScene()
            serve(stream, freshness)
            for _ in 0..<3 {
                let heard = try await hear(stream)
                #expect(heard.bytes == Array(body.utf8))
                #expect(heard.order.filter { $0 == "task.response" }.count == 1)
                #expect(heard.order.suffix(3) == ["task.response", "task.data", "task.completed"])
                #expect(heard.last["bytes"]?.integerValue == 140_000)
            }
            #expect(stream.origin.requests("/file").map(\.status) == answers)
        }

        /// Tasks whose bodies are kept have the same answers.
        @Test(.timeLimit(.minutes(1))) func aKeptTaskUsesWhatAStreamStored() async throws {
            let stream = try await StreamScene()
            serve(stream, "max-age=600")
            _ = try await hear(stream)
            let kept = try await stream.probe.add(
                [["kind": "data", "url": .string(stream.origin.url("/file"))]], session: "v")[0]
            try await stream.probe.wait(for: kept, "completed")
            #expect(try await stream.probe.task(kept)["response", "fromCache"] == true)
            #expect(stream.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1))) func aStoredAnswerGoesOnAfterAPause() async throws {
            let stream = try await StreamScene()
            serve(stream, "max-age=600")
            _ = try await hear(stream)
            let id = try await stream.add("/file", ["requestCachePolicy": "returnCacheDataDontLoad"])
            try await stream.credit(id, 50_000)
            var heard = try await stream.hear(id, bytes: 50_000)
            try await stream.probe.call("task.pause", ["ids": [.integer(id)]])
            try await stream.credit(id)
            try await stream.probe.call("task.resume", ["ids": [.integer(id)]])
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(heard.bytes == Array(body.utf8))
            #expect(stream.origin.requests("/file").count == 1)
        }

        /// The client has all of a body that nothing could prove to be the same again.
        @Test(.timeLimit(.minutes(1))) func aPauseDuringTheQuestionLosesNothing() async throws {
            let stream = try await StreamScene()
            try await stream.probe.call(
                "session.open", ["id": "v", "kind": "default", "configuration": ["asks": ["cache"]]])
            stream.origin.serve(
                "/file",
                Behaviour { _, reply in
                    try reply.head(200, "OK", [("Cache-Control", "max-age=600"), ("Transfer-Encoding", "chunked")])
                    try reply.chunk(Array("hello".utf8)[...])
                    try reply.chunk([])
                })
            let id = try await stream.add()
            try await stream.credit(id)
            var heard = try await stream.hear(id, until: "task.decision")
            try await stream.probe.call("task.pause", ["ids": [.integer(id)]])
            try await stream.probe.call("task.resume", ["ids": [.integer(id)]])
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(heard.bytes == Array("hello".utf8))
            #expect(stream.origin.requests("/file").count == 1)
        }

        /// Longer than a twentieth of the cache, and broken off: neither is stored.
        @Test(.timeLimit(.minutes(1))) func whatDoesNotFitIsNotStored() async throws {
            let stream = try await StreamScene()
            try await stream.probe.call(
                "session.open",
                [
                    "id": "v", "kind": "default",
                    "configuration": ["urlCache": ["memoryCapacity": 1_000_000, "diskCapacity": 0]],
                ])
            serve(stream, "max-age=600")
            for count in 1...2 {
                #expect(try await hear(stream).bytes == Array(body.utf8))
                #expect(stream.origin.requests("/file").count == count)
            }
        }

        /// A client that takes no bytes holds nobody up who asks for the same.
        @Test(.timeLimit(.minutes(1))) func nobodyWaitsForASlowReader() async throws {
            let stream = try await StreamScene()
            serve(stream, "max-age=600")
            let slow = try await stream.add()
            #expect(await eventually { stream.origin.requests("/file").count == 1 })
            #expect(try await hear(stream).bytes == Array(body.utf8))
            try await stream.credit(slow)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["store", "doNotStore"])
        func aClientDecidesAboutAStream(_ action: String) async throws {
            let stream = try await StreamScene()
            try await stream.probe.call(
                "session.open", ["id": "v", "kind": "default", "configuration": ["asks": ["cache"]]])
            serve(stream, "max-age=600")
            let id = try await stream.add()
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.decision")
            #expect(heard.bytes == Array(body.utf8))
            #expect(heard.last["kind"] == "cache")
            try await stream.scene.answer(heard.last, action)
            _ = try await stream.hear(id, until: "task.completed", after: heard)
            let isKept = action == "store"
            let second = try await stream.add(
                "/file", isKept ? [:] : ["requestCachePolicy": "reloadIgnoringLocalCacheData"])
            try await stream.credit(second)
            if isKept { _ = try await stream.hear(second, until: "task.completed") }
            #expect(await eventually { stream.origin.requests("/file").count == (isKept ? 1 : 2) })
        }
    }
}

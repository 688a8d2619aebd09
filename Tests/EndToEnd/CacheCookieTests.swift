import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Remembering {
    /// Whose answers the cache keeps, and for whom (docs/cache.md).
    struct CacheCookies {
        private func add(_ scene: Scene, _ path: String, session: String = "v") async throws -> Int64 {
            let spec: JSONValue = ["kind": "data", "url": .string(scene.origin.url(path)), "retry": ["attempts": 1]]
            return try await scene.probe.add([spec], session: session)[0]
        }

        private func body(_ scene: Scene, _ id: Int64) async throws -> String {
            try await scene.probe.wait(for: id, "completed")
            let data = try await scene.probe.call("task.body", ["id": .integer(id)])["data"]?.stringValue ?? ""
            return String(decoding: Base64Text.decode(data), as: UTF8.self)
        }

        private func fetch(_ scene: Scene, _ path: String, session: String = "v") async throws -> String {
            try await body(scene, try await add(scene, path, session: session))
        }

        private func open(_ scene: Scene, _ storage: String, id: String = "v") async throws {
            try await scene.probe.call(
                "session.open",
                ["id": .string(id), "kind": "default", "configuration": ["httpCookieStorage": .string(storage)]])
        }

        private static func page(_ request: OriginRequest, _ control: String, _ more: (String, String)...) -> Behaviour
        {
            .status(
                200, [("Cache-Control", control)] + more.map { ($0.0, $0.1) },
                body: request.header("Cookie").map { "of \($0)" } ?? "of nobody")
        }

        /// A 304 of another version logs the user in, so the request that follows has a cookie that the first had not.
        @Test(.timeLimit(.minutes(1)))
        func anAnswerAfterALoginIsNotForThoseWithoutOne() async throws {
            let scene = try await Scene()
            try await open(scene, "shared")
            scene.origin.serve(
                "/page",
                .choose { request in
                    if request.header("If-None-Match") != nil {
                        return .status(304, [("ETag", "\"b\""), ("Set-Cookie", "sid=alice; Path=/")])
                    }
                    return request.header("Cookie") == nil
                        ? Self.page(request, "max-age=0", ("ETag", "\"a\""), ("Vary", "Cookie"))
                        : Self.page(request, "max-age=3600", ("ETag", "\"b\""), ("Vary", "Cookie"))
                })
            #expect(try await fetch(scene, "/page") == "of nobody")
            #expect(try await fetch(scene, "/page") == "of sid=alice")
            try await scene.probe.call("cookies.remove")
            let asked = scene.origin.requests("/page").count
            _ = try await fetch(scene, "/page")
            #expect(scene.origin.requests("/page").count > asked)
        }

        /// A login while a task waits for another one's answer: its own answer is for the cookie that it was sent with,
        /// and no other session gets it.
        @Test(.timeLimit(.minutes(1)))
        func anAnswerToACookieOfTheSessionIsNotForOthers() async throws {
            let scene = try await Scene()
            try await open(scene, "session")
            try await open(scene, "none", id: "w")
            let gate = Guarded(false)
            scene.origin.serve(
                "/page",
                Behaviour { request, reply in
                    // The header waits too.
                    reply.pause = (0, gate)
                    try reply.body([])
                    try Self.page(request, "no-store").respond(request, reply)
                }, .choose { Self.page($0, "max-age=3600") })
            scene.origin.serve(
                "/login", .status(200, [("Set-Cookie", "sid=alice; Path=/"), ("Cache-Control", "no-store")]))
            let first = try await add(scene, "/page")
            #expect(await eventually { scene.origin.requests("/page").count == 1 })
            let second = try await add(scene, "/page")
            #expect(try await eventually { try await scene.probe.task(second)["state"] == "running" })
            _ = try await fetch(scene, "/login")
            gate.withLock { $0 = true }
            try await scene.probe.wait(for: first, "completed")
            #expect(try await body(scene, second) == "of sid=alice")
            #expect(try await fetch(scene, "/page", session: "w") == "of nobody")
        }

        /// Requests of background sessions do not pass through the cache.
        @Test(.timeLimit(.minutes(1)))
        func backgroundSessionsInvalidateNothing() async throws {
            let scene = try await Scene()
            try await open(scene, "shared")
            scene.origin.serve("/page", .choose { Self.page($0, "max-age=3600") })
            _ = try await fetch(scene, "/page")
            try await scene.probe.call("session.open", ["id": "b", "kind": "background"])
            for (session, asked) in [("b", 2), ("v", 4)] {
                let spec: JSONValue = ["kind": "data", "url": .string(scene.origin.url("/page")), "method": "DELETE"]
                let id = try await scene.probe.add([spec], session: session)[0]
                try await scene.probe.wait(for: id, "completed")
                _ = try await fetch(scene, "/page")
                #expect(scene.origin.requests("/page").count == asked)
            }
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    @Suite(.oneDaemon) struct Redirects {
        @Test(.timeLimit(.minutes(1)))
        func anExpiredSignedAddressIsResolvedAgainFromTheOriginalOne() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 1 << 20)
            scene.origin.serve("/file", .redirect { "/signed?token=\($0)" })
            scene.origin.serve(
                "/signed", .good(resource, cutAfter: 400_000), .status(403), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            let targets = scene.origin.requests("/signed")
            #expect(Set(targets.map(\.request.target)).count == targets.count)
            #expect(targets.last?.rangeStart == 400_000)
        }

        @Test(.timeLimit(.minutes(1)))
        func otherOriginsGetNoCredentialsAndNoHeadersOfTheCaller() async throws {
            let scene = try await Scene.shared()
            let other = try MisbehavingOrigin()
            let resource = Resource.version(1, size: 1000)
            other.serve("/file", .good(resource))
            scene.origin.serve("/file", .basic("bWU6c2VjcmV0", then: .redirect(to: other.url("/file"))))
            let id = try await scene.add(
                "/file", to: "file",
                [
                    "username": "me", "password": "secret",
                    "headers": [["X-Api-Key", "secret"], ["Cookie", "a=b"], ["Accept-Language", "de"]],
                ])
            try await scene.probe.wait(for: id, "completed")
            let first = try #require(scene.origin.requests("/file").last)
            #expect(first.header("Authorization") != nil)
            #expect(first.header("X-Api-Key") == "secret")
            let second = try #require(other.requests("/file").last)
            for name in ["Authorization", "X-Api-Key", "Cookie"] { #expect(second.header(name) == nil) }
            #expect(second.header("Accept-Language") == "de")
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/"])
        func otherSchemesAreNotFollowed(location: String) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .redirect(to: location))
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task.errorCode != nil)
            #expect(scene.names.isEmpty)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [300, 304, 305, 306])
        func otherStatusesAreNotFollowed(status: Int) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .redirect(to: "/elsewhere", status: status))
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task.errorCode == "http.status", "\(task)")
            #expect(task["error", "details", "status"] == .integer(Int64(status)))
            #expect(scene.origin.requests("/elsewhere").isEmpty && scene.names.isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFailureThereNamesTheServerThatFailed() async throws {
            let scene = try await Scene()
            let port = try ListeningSocket.freePort()
            scene.origin.serve("/file", .redirect(to: "http://127.0.0.1:\(port)/there"))
            let task = try await scene.probe.wait(for: try await scene.add(), "waiting")
            #expect(
                task["error", "message"]
                    == .string(
                        "127.0.0.1 does not accept connections. "
                            + "127.0.0.1 redirected the request to http://127.0.0.1:\(port)."))
            #expect(task["error", "details", "redirectedTo"] == .string("http://127.0.0.1:\(port)"))
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                (303, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (302, "POST", "GET"),
                (302, "HEAD", "HEAD"), (302, "PUT", "PUT"), (307, "POST", "POST"), (308, "HEAD", "HEAD"),
            ])
        func aRedirectChoosesTheMethod(status: Int, method: String, followed: String) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/first", .redirect(to: "/second", status: status))
            scene.origin.serve("/second", .status(200))
            var spec: [String: JSONValue] = [
                "kind": "data", "method": .string(method), "url": .string(scene.origin.url("/first")),
            ]
            if method != "HEAD" { spec["body"] = ["text": "x"] }
            let id = try await scene.probe.add([.object(spec)])[0]
            try await scene.probe.wait(for: id, "completed")
            let second = try #require(scene.origin.requests("/second").first)
            #expect(second.request.method == followed)
            #expect(second.request.body.count == (["GET", "HEAD"].contains(followed) ? 0 : 1))
        }

        @Test(.timeLimit(.minutes(1)))
        func aLoopEndsAtTheLimit() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .redirect(to: "/file"))
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task.errorCode == "http.redirect_limit")
            #expect(scene.origin.requests("/file").count == 21)
        }
    }

    struct Credentials {
        @Test(.timeLimit(.minutes(1)))
        func aChallengeIsAnsweredWhereItCanBe() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve("/file", .basic("bWU6c2VjcmV0", then: .good(resource)))
            let with = try await scene.add("/file", to: "with", ["username": "me", "password": "secret"])
            let without = try await scene.add("/file", to: "without")
            let wrong = try await scene.add("/file", to: "wrong", ["username": "me", "password": "guess"])
            try await scene.probe.wait(for: with, "completed")
            #expect(try await scene.probe.wait(for: without, "failed").errorCode == "auth.required")
            #expect(try await scene.probe.wait(for: wrong, "failed").errorCode == "auth.required")
            #expect(scene.names == ["with"])
        }

        @Test(.timeLimit(.minutes(1)))
        func secretsStayOutOfViewsEventsAndLogs() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1000)
            scene.origin.serveEverything(.good(resource))
            let secret = "Tops3cret"
            let signature = "s1gnature"
            let id = try await scene.probe.add(
                "http://me:\(secret)@127.0.0.1:\(scene.origin.port)/file?by=\(signature)", to: scene.file(),
                [
                    "headers": [["X-Api-Key", .string(secret)], ["Cookie", .string("k=\(secret)")]],
                    "bearer": .string(secret),
                ])
            try await scene.probe.wait(for: id, "completed")
            for event in try await scene.probe.storedEvents() { #expect(!"\(event)".contains(secret)) }
            let task = try await scene.probe.task(id)
            #expect(!"\(task)".contains(secret))
            #expect(task["url"]?.stringValue?.contains(signature) == true)
            #expect(!"\(try await scene.probe.call("task.list"))".contains(secret))
            let log = scene.daemon.log
            #expect(!log.contains(secret) && !log.contains(signature))
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Cookies through redirects and retries (docs/protocol.md, "Cookies").
    struct Cookies {
        private static let login = [
            "sid=Zq7cookie7qZ; Path=/; HttpOnly", "deep=1; Path=/deep", "token",
            "gone=1; Max-Age=0", "foreign=1; Domain=example.org",
            "lone=1; Secure",
        ]

        private static func redirect(_ location: String, _ cookies: [String]) -> Behaviour {
            .status(302, cookies.map { ("Set-Cookie", $0) } + [("Location", location)])
        }

        private func session(_ scene: Scene, _ configuration: JSONValue) async throws {
            try await scene.probe.call("session.open", ["id": "c", "configuration": configuration])
        }

        /// Serves a redirect to itself until its cookie comes back.
        private func serveGate(_ scene: Scene) {
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("Cookie")?.contains("sid=") == true
                        ? .good(resource) : Self.redirect("/file", Self.login)
                })
        }

        @Test(.timeLimit(.minutes(1)))
        func aServerThatRedirectsUntilItsCookieComesBackIsServed() async throws {
            let scene = try await Scene()
            serveGate(scene)
            try await scene.probe.wait(for: try await scene.add(), "completed")
            let asked = scene.origin.requests("/file")
            #expect(asked.map { $0.header("Cookie") } == [nil, "sid=Zq7cookie7qZ; token"])
            // The next task knows nothing of the cookie.
            try await scene.probe.wait(for: try await scene.add(to: "again"), "completed")
            #expect(scene.origin.requests("/file")[2].header("Cookie") == nil)
        }

        /// The same chain of redirects, compared with libcurl's own cookie engine.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("curl")))
        func cookiesAreChosenAnewAtEachHopAsCurlDoes() async throws {
            let scene = try await Scene()
            let origin = scene.origin
            origin.serve(
                "/a/start",
                Self.redirect(
                    "/a/b/two",
                    [
                        "one=1", "two=2; path=/", "three=3; path=/other",
                        "four=4; path=/a/b", "five=5; domain=127.0.0.1; path=/",
                        "six=\"a b\"; path=/; expires=Wed, 01 Jan 2098 00:00:00 GMT",
                    ]))
            origin.serve(
                "/a/b/two",
                Self.redirect(
                    "/other/three",
                    [
                        "two=; path=/; expires=Thu, 01 Jan 1970 00:00:00 GMT", "six=7; path=/",
                        "eight=8; path=/other; max-age=100", "nine=9; path=/otherwise",
                    ]))
            origin.serve("/other/three", .good(.version(1, size: 1000)))
            let paths = ["/a/start", "/a/b/two", "/other/three"]
            func sent() -> [Set<Substring>] {
                paths.map { path in
                    Set(origin.requests(path).last?.header("Cookie")?.split(separator: "; ") ?? [])
                }
            }
            let url = origin.url("/a/start").replacing("localhost", with: "127.0.0.1")
            try await scene.probe.wait(for: try await scene.probe.add(url, to: scene.file()), "completed")
            let ours = sent()
            try await Program.require(["curl", "--fail", "-sL", "-b", "", "-o", scene.file("curl"), url])
            #expect(ours == sent())
            #expect(
                ours == [
                    [], ["one=1", "two=2", "four=4", "five=5", "six=\"a b\""],
                    ["three=3", "five=5", "six=7", "eight=8"],
                ])
        }

        @Test(.timeLimit(.minutes(1)))
        func anotherHostGetsOtherCookies() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1000)
            let here = scene.origin.url("/file"), there = here.replacing("127.0.0.1", with: "localhost")
            try #require(here != there)
            scene.origin.serve(
                "/file", Self.redirect(there.replacing("/file", with: "/there"), ["here=1; path=/"]))
            scene.origin.serve(
                "/there", Self.redirect(here.replacing("/file", with: "/back"), ["there=1; path=/"]))
            scene.origin.serve("/back", .good(resource))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(scene.origin.requests("/there").first?.header("Cookie") == nil)
            #expect(scene.origin.requests("/back").first?.header("Cookie") == "here=1")
        }

        @Test(.timeLimit(.minutes(1)))
        func aRetryGoesOnWithTheCookies() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(503, [("Set-Cookie", "k=v")]), .good(.version(1, size: 1000)))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(scene.origin.requests("/file").map { $0.header("Cookie") } == [nil, "k=v"])
        }

        /// RFC 6265bis section 5.8.1: one field at most.
        @Test(.timeLimit(.minutes(1)))
        func theCallersCookiesGoBeforeStoredOnes() async throws {
            let scene = try await Scene()
            scene.origin.serve(
                "/file", Self.redirect("/there", ["mine=theirs; path=/", "k=v; path=/"]))
            scene.origin.serve("/there", .good(.version(1, size: 1000)))
            let id = try await scene.add(to: "file", ["headers": [["Cookie", "mine=1; also=2"]]])
            try await scene.probe.wait(for: id, "completed")
            let asked = try #require(scene.origin.requests("/there").first)
            #expect(
                asked.request.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value) == [
                    "mine=1; also=2; k=v"
                ])
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ["httpCookieStorage": "none"], ["httpCookieAcceptPolicy": "never"], ["httpShouldSetCookies": false],
            ] as [JSONValue])
        func sessionsSwitchThemOff(configuration: JSONValue) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", Self.redirect("/there", Self.login))
            scene.origin.serve("/there", .good(.version(1, size: 1000)))
            try await session(scene, configuration)
            try await scene.probe.wait(for: try await scene.add(session: "c"), "completed")
            #expect(scene.origin.requests("/there").map { $0.header("Cookie") } == [nil])
        }

        @Test(.timeLimit(.minutes(1)))
        func onlyTheMainDocumentsSiteSetsCookies() async throws {
            let scene = try await Scene()
            let there = scene.origin.url("/there").replacing("127.0.0.1", with: "localhost")
            scene.origin.serve("/file", Self.redirect(there, Self.login))
            scene.origin.serve("/there", Self.redirect("/last", Self.login))
            scene.origin.serve("/last", .good(.version(1, size: 1000)))
            try await session(scene, ["httpCookieAcceptPolicy": "onlyFromMainDocumentDomain"])
            try await scene.probe.wait(for: try await scene.add(session: "c"), "completed")
            #expect(scene.origin.requests("/last").map { $0.header("Cookie") } == [nil])
        }

        @Test(.timeLimit(.minutes(1)))
        func dataTasksAndUploadsHaveThem() async throws {
            let scene = try await Scene()
            serveGate(scene)
            let data = try await scene.probe.add([["kind": "data", "url": .string(scene.origin.url("/file"))]])[0]
            try await scene.probe.wait(for: data, "completed")
            #expect(scene.origin.requests("/file").count == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFloodOfCookiesHarmsNobody() async throws {
            let scene = try await Scene()
            let flood = (0..<1200).map { "n\($0)=" + String(repeating: "x", count: 100) }
            scene.origin.serve("/file", Self.redirect("/there", flood))
            scene.origin.serve("/there", .good(.version(1, size: 1000)))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            let field = try #require(scene.origin.requests("/there").first?.header("Cookie"))
            #expect(field.utf8.count <= 64 << 10 && field.split(separator: ";").count == 180)
        }

        /// Fields before these are ignored.
        @Test(.timeLimit(.minutes(1)))
        func theLast180FieldsOfAHeadCount() async throws {
            let scene = try await Scene()
            let flood = ["first=1; Path=/"] + Array(repeating: "same=1; Path=/", count: 180)
            scene.origin.serve("/file", Self.redirect("/there", flood))
            scene.origin.serve("/there", .good(.version(1, size: 1000)))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(scene.origin.requests("/there").map { $0.header("Cookie") } == ["same=1"])
        }

        // MARK: Stores

        private static let shared: JSONValue = ["httpCookieStorage": "shared"]

        private func names(_ probe: RPCProbe, _ parameters: JSONValue = [:]) async throws -> [String] {
            try await probe.call("cookies.list", parameters)["cookies"]?.arrayValue?.compactMap {
                $0["name"]?.stringValue
            } ?? []
        }

        /// A server has one name, however a URL writes it: it is asked by that name, and its cookies are the same.
        @Test(
            .timeLimit(.minutes(1)), arguments: ["１２７.0.0.1", "%31%32%37.0.0.1", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1"])
        func aServerHasOneName(host: String) async throws {
            let scene = try await Scene()
            let place = "127.0.0.1:\(scene.origin.port)"
            scene.origin.serve("/set", .status(200, [("Set-Cookie", "k=v; Path=/")], body: "x"))
            scene.origin.serve("/get", .good(.version(1, size: 1000)))
            try await session(scene, Self.shared)
            let written = "http://\(host):\(scene.origin.port)/set"
            let first = try await scene.probe.add(written, to: scene.file("set"), [:], session: "c")
            let task = try await scene.probe.wait(for: first, "completed")
            #expect(
                task["url"] == .string(written) && task["response", "url"] == .string("http://\(place)/set"), "\(task)")
            #expect(scene.origin.requests("/set").map { $0.header("Host") } == [place])
            let second = try await scene.probe.add("http://\(place)/get", to: scene.file("get"), [:], session: "c")
            try await scene.probe.wait(for: second, "completed")
            #expect(scene.origin.requests("/get").map { $0.header("Cookie") } == ["k=v"])
        }

        /// `kill -9` right after a task has completed: the cookies that its server set serve the next task, even in
        /// another session.
        @Test(.timeLimit(.minutes(1)))
        func anOwnersCookiesSurviveAKill() async throws {
            let scene = try await Scene()
            serveGate(scene)
            try await session(scene, Self.shared)
            try await scene.probe.wait(for: try await scene.add(session: "c"), "completed")
            let next = try await scene.restarted()
            #expect(Set(try await names(next.probe)) == ["sid", "deep", ""])
            try await next.probe.call("session.open", ["id": "d", "configuration": Self.shared])
            try await next.probe.wait(for: try await next.add(to: "again", session: "d"), "completed")
            #expect(scene.origin.requests("/file").count == 3, "no redirect was needed")
            // A task with its own cookies gets none of them.
            try await next.probe.wait(for: try await next.add(to: "third"), "completed")
            #expect(scene.origin.requests("/file").count == 5)
        }

        @Test(.timeLimit(.minutes(1)))
        func aSessionsOwnCookiesEndWithIt() async throws {
            let scene = try await Scene()
            serveGate(scene)
            try await session(scene, ["httpCookieStorage": "session"])
            for name in ["one", "two"] {
                try await scene.probe.wait(for: try await scene.add(to: name, session: "c"), "completed")
            }
            #expect(scene.origin.requests("/file").count == 3)
            #expect(try await names(scene.probe).isEmpty)
            #expect(try await names(scene.probe, ["session": "c"]).count == 3)
            try await scene.probe.call("session.invalidate", ["id": "c"])
            try await session(scene, ["httpCookieStorage": "session"])
            #expect(try await names(scene.probe, ["session": "c"]).isEmpty)
        }

        /// `default` sessions have their owner's cookies, and `ephemeral` ones have their own, in memory.
        @Test(.timeLimit(.minutes(1)), arguments: ["default", "ephemeral"])
        func volatileSessions(kind: String) async throws {
            let scene = try await Scene()
            serveGate(scene)
            try await scene.probe.call("session.open", ["id": "v", "kind": .string(kind)])
            for name in ["one", "two"] {
                try await scene.probe.wait(for: try await scene.add(to: name, session: "v"), "completed")
            }
            #expect(scene.origin.requests("/file").count == 3)
            #expect(try await names(scene.probe, ["session": "v"]).count == 3)
            #expect(try await names(scene.probe).count == (kind == "default" ? 3 : 0))
            // A durable write comes after those before it.
            try await scene.probe.call("session.open", ["id": "after"])
            let next = try await scene.restarted()
            #expect(try await names(next.probe).count == (kind == "default" ? 3 : 0))
        }

        @Test(.timeLimit(.minutes(1)))
        func whatAClientSetsIsSent() async throws {
            let scene = try await Scene()
            serveGate(scene)
            try await session(scene, Self.shared)
            try await scene.probe.call(
                "cookies.set", ["cookies": [["name": "sid", "value": "mine", "domain": "127.0.0.1", "hostOnly": true]]])
            try await scene.probe.wait(for: try await scene.add(session: "c"), "completed")
            #expect(scene.origin.requests("/file").map { $0.header("Cookie") } == ["sid=mine"])
            let listed = try await scene.probe.call("cookies.list")
            #expect(!"\(listed)".contains("mine"))
            let whole = try await scene.probe.call("cookies.list", ["secrets": true])
            #expect("\(whole)".contains("mine"))
            #expect(try await scene.probe.call("cookies.remove", ["domain": "127.0.0.1"])["removed"]?.integerValue == 1)
        }

        /// They belong to the task, whatever the tasks of its session share, and are there again after a restart.
        @Test(.timeLimit(.minutes(1)))
        func aTaskBringsCookiesOfItsOwn() async throws {
            let first = try await Scene()
            serveGate(first)
            try await session(first, Self.shared)
            let own: JSONValue = [
                ["name": "sid", "value": "mine", "domain": "127.0.0.1"],
                ["name": "other", "value": "x", "domain": "example.org"],
            ]
            let id = try await first.add("/file", to: "one", ["cookies": own, "startPaused": true], session: "c")
            let scene = try await first.restarted()
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").map { $0.header("Cookie") } == ["sid=mine"])
            #expect(try await names(scene.probe).isEmpty)
            #expect(try await scene.probe.task(id)["cookies"] == nil)
            let whole = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
            #expect(whole["cookies"]?.arrayValue?.count == 2, "\(whole)")
            let bad: JSONValue = [["name": "a", "value": "b;c", "domain": "127.0.0.1"]]
            let refused = try await #require(throws: RPCFailure.self) {
                try await scene.add("/file", to: "two", ["cookies": bad])
            }
            #expect(refused.code == "request.bad_field" && refused.message.hasPrefix("tasks[0].cookies[0]: "))
        }

        @Test(.timeLimit(.minutes(1)))
        func theCommandLineBringsThoseOfAFile() async throws {
            let scene = try await Scene()
            serveGate(scene)
            let lines = [
                "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tfile", "example.org\tFALSE\t/\tFALSE\t0\tsid\tother", "bad",
            ]
            try Files.write(scene.file("cookies.txt"), lines.joined(separator: "\n") + "\n")
            let (status, output) = try await scene.daemon.dlctl([
                "add", "-w", "--cookies", scene.file("cookies.txt"), "-o", scene.file("got"), scene.origin.url("/file"),
            ])
            #expect(status == 0 && output.contains("cookies.txt:3: it has 1 field;"), "\(output)")
            #expect(scene.origin.requests("/file").map { $0.header("Cookie") } == ["sid=file"])
            #expect(try await names(scene.probe).isEmpty)
            let none = try await scene.daemon.dlctl([
                "add", "--paused", "--cookies", scene.file("cookies.txt"), "-d", scene.folder.path,
                "http://localhost:1/f",
            ])
            #expect(none.status == 0 && none.output.contains("has no cookie for f"), "\(none.output)")
        }

        @Test(.timeLimit(.minutes(1)))
        func noValueIsSeen() async throws {
            let scene = try await Scene(["--log-level", "trace"])
            serveGate(scene)
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let shown = "\(try await scene.probe.task(id)) \(try await scene.probe.storedEvents([:]))"
            #expect(!shown.contains("Zq7cookie7qZ"))
            #expect(!scene.daemon.log.contains("Zq7cookie7qZ"))
        }
    }
}

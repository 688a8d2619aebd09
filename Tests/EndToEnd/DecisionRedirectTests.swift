import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Redirects about which the client is asked.
    struct DecisionRedirects {
        private func scene(_ status: Int = 302) async throws -> Scene {
            let scene = try await Scene.asking("redirect")
            scene.origin.serve("/file", .redirect(to: "/there?token=S3cretS3cretS3cret1", status: status))
            scene.origin.serve("/there", .good(.version(1, size: 5000)))
            scene.origin.serve("/other", .good(.version(2, size: 6000)))
            return scene
        }

        @Test(.timeLimit(.minutes(1))) func aRedirectIsAskedAboutAndFollowed() async throws {
            var scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await scene.question(id)
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "decision", "\(task)")
            #expect(asked["kind"] == "redirect" && asked["default"] == "follow" && asked["deadline"] != nil, "\(asked)")
            #expect(asked["response", "status"] == 302)
            #expect(asked["request", "url"] == .string(scene.origin.url("/there?token=***")), "\(asked)")
            #expect(asked["request", "method"] == "GET")
            #expect(scene.origin.requests("/there").isEmpty)
            // For the next daemon, it is the same question, which is reported once.
            scene = try await scene.restarted()
            #expect(try await scene.question(id) == asked)
            #expect(try await scene.toldQuestions(id).map { $0["decision"] } == [asked["decision"]])
            let wrong = try #require(try await scene.refusal(asked, "useCredential"))
            #expect(wrong.code == "request.bad_field" && wrong.message.contains("follow, followWith, refuse"))
            try await scene.answer(asked, "follow")
            scene = try await scene.restarted()
            try await scene.answer(asked, "follow")
            #expect(try await scene.refusal(asked, "refuse")?.code == "decision.gone")
            try await scene.probe.wait(for: id, "completed")
            #expect(Resource.version(1, size: 5000).content.matches(scene.file()))
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// Also after a restart, and once the task has ended. Another answer is refused.
        @Test(.timeLimit(.minutes(1))) func anAnswerMayBeRepeatedAfterTheNextQuestion() async throws {
            var scene = try await scene()
            scene.origin.serve("/there", .redirect(to: "/other", status: 302))
            let id = try await scene.add(session: "s")
            let first = try await scene.question(id)
            let request: JSONValue = ["url": .string(scene.origin.url("/there?token=S3cretS3cretS3cret2"))]
            try await scene.answer(first, "followWith", ["request": request])
            let second = try await scene.question(id, after: first)
            for _ in 0..<2 {
                let repeated = try await scene.answer(first, "followWith", ["request": request])
                #expect(repeated["task"] == .integer(id) && repeated["action"] == "followWith", "\(repeated)")
                #expect(try await scene.refusal(first, "follow")?.code == "decision.gone")
                let other: JSONValue = ["url": .string(scene.origin.url("/other"))]
                #expect(try await scene.refusal(first, "followWith", ["request": other])?.code == "decision.gone")
                scene = try await scene.restarted()
            }
            #expect(try await scene.questions(id).map { $0["decision"] } == [second["decision"]])
            try await scene.answer(second, "follow")
            try await scene.probe.wait(for: id, "completed")
            try await scene.answer(first, "followWith", ["request": request])
            try await scene.answer(second, "follow")
            try await scene.probe.call("task.remove", ["ids": [.integer(id)]])
            #expect(try await scene.refusal(first, "followWith", ["request": request])?.code == "decision.gone")
        }

        /// Nobody is asked where mirrors lead, so they may lead nowhere, and none is learnt.
        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func mirrorsDoNotLeadElsewhere(isLearnt: Bool) async throws {
            let scene = try await Scene.asking("redirect")
            let mirror = try MisbehavingOrigin()
            let content = Content(seed: 1, size: 1 << 20)
            var own = Resource(content, etag: "\"own\"")
            if isLearnt { own.headers = [(name: "Link", value: "<\(mirror.url("/copy"))>; rel=duplicate")] }
            scene.origin.serve("/file", .good(own, cutAfter: 1 << 19), .status(410))
            scene.origin.serve("/inside", .good(Resource(content, etag: "\"copy\"")))
            mirror.serve("/copy", .redirect(to: scene.origin.url("/inside"), status: 302))
            let named: [String: JSONValue] = isLearnt ? [:] : ["mirrors": [.string(mirror.url("/copy"))]]
            let more = named.merging(["checksum": content.checksum]) { $1 }
            let id = try await scene.add("/file", to: "file", more, session: "s")
            try await scene.probe.wait(for: id, "failed")
            #expect(scene.origin.requests("/inside").isEmpty)
            #expect(mirror.requests().isEmpty == isLearnt)
        }

        /// `task.get` with `secrets` shows the request that was made, and only then.
        @Test(.timeLimit(.minutes(1))) func theOwnerSeesTheRequestThatWasMade() async throws {
            let scene = try await scene()
            let id = try await scene.request("/file")
            let request: JSONValue = [
                "url": .string(scene.origin.url("/other?token=S3cretS3cretS3cret3")), "method": "PUT",
                "headers": [["X-New", "1"]], "body": ["text": "new"],
            ]
            try await scene.answer(try await scene.question(id), "followWith", ["request": request])
            try await scene.probe.wait(for: id, "completed")
            let seen = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
            #expect(seen["currentRequest"] == request, "\(seen)")
            #expect(seen["url"] == .string(scene.origin.url("/file")))
            #expect(try await scene.probe.task(id)["currentRequest"] == nil)
            let plain = try await scene.request("/other")
            try await scene.probe.wait(for: plain, "completed")
            let own = try await scene.probe.call("task.get", ["id": .integer(plain), "secrets": true])
            #expect(own["currentRequest"] == nil, "\(own)")
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["data", "download"])
        func aRefusedRedirectIsTheResponse(kind: String) async throws {
            let scene = try await scene()
            let any: [String: JSONValue] = ["acceptsAnyStatus": true]
            let id =
                kind == "data"
                ? try await scene.request("/file", any) : try await scene.add("/file", to: "file", any, session: "s")
            try await scene.answer(try await scene.question(id), "refuse")
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 302, "\(task)")
            #expect(scene.origin.requests("/there").isEmpty)
            let plain = try await scene.request("/file")
            try await scene.answer(try await scene.question(plain), "refuse")
            let failed = try await scene.probe.wait(for: plain, "failed")
            #expect(failed.errorCode == "http.status" && failed["error", "details", "status"] == 302, "\(failed)")
        }

        /// What the server sends next time is not the answer.
        @Test(
            .timeLimit(.minutes(1)),
            arguments: [("data", "GET"), ("data", "POST"), ("download", "GET"), ("download", "POST")])
        func aRefusedRedirectIsNotFetchedAgain(kind: String, method: String) async throws {
            var scene = try await scene()
            scene.origin.serve(
                "/file", .status(302, [("Location", "/there"), ("X-First", "yes")], body: "It has moved."),
                .good(.version(1, size: 5000)))
            let more: [String: JSONValue] = ["acceptsAnyStatus": true, "method": .string(method)]
            let id =
                kind == "data"
                ? try await scene.request("/file", more) : try await scene.add("/file", to: "file", more, session: "s")
            let asked = try await scene.question(id)
            #expect(!"\(asked)".contains("moved"), "\(asked)")
            scene = try await scene.restarted()
            try await scene.answer(asked, "refuse")
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 302, "\(task)")
            #expect(task["response", "headers"]?.arrayValue?.contains(["X-First", "yes"]) == true, "\(task)")
            #expect(scene.origin.requests("/file").count == 1)
            if kind == "data" {
                #expect(try await scene.body(id) == "It has moved.")
            } else {
                #expect(try Files.text(scene.file()) == "It has moved." && scene.names == ["file"])
            }
        }

        /// The bytes that are held are not part of the answer.
        @Test(.timeLimit(.minutes(1))) func aRefusedRedirectReplacesWhatIsHeld() async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file", .good(.version(1, size: 800_000), cutAfter: 400_000),
                .status(302, [("Location", "/there")], body: "It has moved."))
            let id = try await scene.add("/file", to: "file", ["acceptsAnyStatus": true], session: "s")
            try await scene.answer(try await scene.question(id), "refuse")
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["bytesReceived"] == 13, "\(task)")
            #expect(try Files.text(scene.file()) == "It has moved." && scene.names == ["file"], "\(scene.names)")
            let told = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.restarted"]])
            #expect(told.count == 1)
        }

        /// A body that is too long to be kept, or was cut, is fetched again where the method allows that.
        @Test(.timeLimit(.minutes(1)), arguments: ["GET", "POST"], [true, false])
        func aRedirectThatIsNotKeptIsFetchedAgain(method: String, isCut: Bool) async throws {
            let scene = try await scene()
            let body = String(repeating: "x", count: isCut ? 100 : 100_000)
            let cut = Behaviour { _, reply in
                try reply.head(302, "Found", [("Location", "/there"), ("Content-Length", "100")])
                try reply.body(Array("xx".utf8)[...])
                throw Reply.Gone()
            }
            let whole = Behaviour.status(302, [("Location", "/there")], body: body)
            scene.origin.serve("/file", isCut ? cut : whole, whole)
            let id = try await scene.request("/file", ["acceptsAnyStatus": true, "method": .string(method)])
            try await scene.answer(try await scene.question(id), "refuse")
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 302, "\(task)")
            #expect(try await scene.body(id) == (method == "GET" ? body : ""))
            #expect(scene.origin.requests("/file").count == (method == "GET" ? 2 : 1))
        }

        @Test(.timeLimit(.minutes(1))) func aRefusedRedirectIsDecoded() async throws {
            let scene = try await scene()
            let coded = try await Packing.pack(Array("It has moved.".utf8), "gzip")
            scene.origin.serve(
                "/file",
                Behaviour { _, reply in
                    try reply.head(
                        302, "Found",
                        [("Location", "/there"), ("Content-Encoding", "gzip"), ("Content-Length", "\(coded.count)")])
                    try reply.body(coded[...])
                })
            let id = try await scene.request("/file", ["acceptsAnyStatus": true])
            try await scene.answer(try await scene.question(id), "refuse")
            try await scene.probe.wait(for: id, "completed")
            #expect(try await scene.body(id) == "It has moved." && scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1))) func aRefusedRedirectIsStreamed() async throws {
            let stream = try await StreamScene()
            try await stream.probe.call("session.open", ["id": "v", "configuration": ["asks": ["redirect"]]])
            stream.origin.serve("/file", .status(302, [("Location", "/there")], body: "It has moved."))
            let id = try await stream.add("/file", ["acceptsAnyStatus": true])
            try await stream.credit(id, 3)
            try await stream.scene.answer(try await stream.scene.question(id), "refuse")
            var heard = try await stream.hear(id, bytes: 3)
            #expect(heard.bytes == Array("It ".utf8))
            try await stream.credit(id)
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(heard.bytes == Array("It has moved.".utf8) && heard.last["bytes"] == 13, "\(heard.last)")
            #expect(stream.origin.requests("/file").count == 1)
        }

        /// A POST is not made twice, whatever the answer about its redirect.
        @Test(.timeLimit(.minutes(1)), arguments: ["follow", "refuse"])
        func aRequestThatMustNotBeRepeatedIsNot(action: String) async throws {
            let scene = try await scene(303)
            let id = try await scene.request(
                "/file", ["method": "POST", "body": ["text": "order"], "acceptsAnyStatus": true])
            let asked = try await scene.question(id)
            #expect(asked["request", "method"] == "GET", "\(asked)")
            try await scene.answer(asked, action)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == .integer(action == "follow" ? 200 : 303), "\(task)")
            #expect(scene.origin.requests("/file").count == 1)
            #expect(scene.origin.requests("/there").count == (action == "follow" ? 1 : 0))
        }

        @Test(.timeLimit(.minutes(1))) func aBodyGoesAlongWith307() async throws {
            let scene = try await scene(307)
            let id = try await scene.request("/file", ["method": "PUT", "body": ["text": "all of it"]])
            let asked = try await scene.question(id)
            #expect(asked["request", "method"] == "PUT")
            try await scene.answer(asked, "follow")
            try await scene.probe.wait(for: id, "completed")
            let last = try #require(scene.origin.requests("/there").last)
            #expect(last.request.method == "PUT" && last.header("Content-Length") == "9")
        }

        @Test(.timeLimit(.minutes(1)), arguments: [301, 305, 306, 307, 308, 399])
        func everyStatusWithAPlaceIsAskedAbout(status: Int) async throws {
            let scene = try await scene(status)
            let id = try await scene.add(session: "s")
            #expect(try await scene.question(id)["response", "status"] == .integer(Int64(status)))
        }

        @Test(.timeLimit(.minutes(1)), arguments: [300, 304])
        func someStatusesAreFinal(status: Int) async throws {
            let scene = try await scene(status)
            let id = try await scene.add(session: "s")
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "http.status")
            #expect(try await scene.toldQuestions(id).isEmpty)
        }

        @Test(.timeLimit(.minutes(1))) func headStaysHead() async throws {
            let scene = try await scene(303)
            let id = try await scene.request("/file", ["method": "HEAD"])
            #expect(try await scene.question(id)["request", "method"] == "HEAD")
        }

        @Test(.timeLimit(.minutes(1))) func aClientGoesElsewhere() async throws {
            let scene = try await scene()
            let id = try await scene.add("/file", to: "file", ["headers": [["X-Own", "mine"]]], session: "s")
            let asked = try await scene.question(id)
            for (request, field) in [
                (["url": "ftp://127.0.0.1/x"], "request.url"), (["headers": [["a b", "c"]]], "request.headers[0]"),
                (["body": ["file": "/etc/passwd"]], "request.body.file"),
            ] as [(JSONValue, String)] {
                let refusal = try await scene.refusal(asked, "followWith", ["request": request])
                #expect(refusal?.message.contains(field) == true, "\(String(describing: refusal))")
            }
            #expect(try await scene.refusal(asked, "followWith")?.code == "request.bad_field")
            try await scene.answer(
                asked, "followWith",
                ["request": ["url": .string(scene.origin.url("/other")), "headers": [["X-New", "value"]]]])
            try await scene.probe.wait(for: id, "completed")
            #expect(Resource.version(2, size: 6000).content.matches(scene.file()))
            let last = try #require(scene.origin.requests("/other").last)
            #expect(last.header("X-New") == "value" && last.header("X-Own") == nil)
        }

        /// The caller's credentials stay with their server, however the question about the redirect is answered.
        @Test(.timeLimit(.minutes(1))) func anotherServerGetsNoCredentials() async throws {
            let scene = try await Scene.asking("redirect")
            let other = try MisbehavingOrigin()
            other.serve("/there", .good(.version(1, size: 1000)))
            scene.origin.serve("/file", .redirect(to: other.url("/there")))
            let id = try await scene.add(
                "/file", to: "file",
                ["bearer": "t0ken", "headers": [["X-Api-Key", "secret"], ["Accept-Language", "de"]]], session: "s")
            let asked = try await scene.question(id)
            #expect(!"\(asked)".contains("t0ken") && !"\(asked)".contains("secret"), "\(asked)")
            try await scene.answer(asked, "follow")
            try await scene.probe.wait(for: id, "completed")
            let last = try #require(other.requests("/there").last)
            for name in ["Authorization", "X-Api-Key"] { #expect(last.header(name) == nil) }
            #expect(last.header("Accept-Language") == "de")
        }

        /// The redirect's cookies are stored before the question, and are sent wherever the task goes then.
        @Test(
            .timeLimit(.minutes(1)),
            arguments: [("follow", "/there"), ("followWith", "/other")])
        func itsCookiesCount(action: String, path: String) async throws {
            let scene = try await scene()
            let cookies = ["all=Zq7", "there=Zq7; Path=/there", "other=Zq7; Path=/other"]
            scene.origin.serve(
                "/file", .status(302, cookies.map { ("Set-Cookie", $0) } + [("Location", "/there")]))
            let id = try await scene.request("/file", ["acceptsAnyStatus": true])
            let asked = try await scene.question(id)
            #expect(!"\(asked)".contains("Zq7"), "\(asked)")
            let request: JSONValue = ["url": .string(scene.origin.url("/other"))]
            try await scene.answer(asked, action, action == "followWith" ? ["request": request] : [:])
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").first?.header("Cookie") == nil)
            let expected = ["/there": "there=Zq7; all=Zq7", "/other": "other=Zq7; all=Zq7"]
            #expect(scene.origin.requests(path).last?.header("Cookie") == expected[path])
        }

        /// They are not lost either if the redirect is refused and the request must not be made again.
        @Test(.timeLimit(.minutes(1))) func aRefusedRedirectsCookiesStay() async throws {
            let scene = try await Scene()
            try await scene.openAsking(["redirect"], ["httpCookieStorage": "shared"])
            scene.origin.serve("/file", .status(303, [("Set-Cookie", "kept=Zq7"), ("Location", "/there")]))
            let id = try await scene.request(
                "/file", ["method": "POST", "body": ["text": "order"], "acceptsAnyStatus": true])
            try await scene.answer(try await scene.question(id), "refuse")
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").count == 1)
            let kept = try await scene.probe.call("cookies.list", [:])["cookies"]?.arrayValue ?? []
            #expect(kept.map { $0["name"] } == ["kept"], "\(kept)")
        }

        @Test(.timeLimit(.minutes(1))) func eachRedirectIsAskedAboutUntilTheLimit() async throws {
            let scene = try await Scene.asking("redirect")
            scene.origin.serve("/file", .redirect(to: "/file"))
            let id = try await scene.add(session: "s")
            var last: JSONValue?
            for _ in 0..<20 {
                let asked = try await scene.question(id, after: last)
                try await scene.answer(asked, "follow")
                last = asked
            }
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "http.redirect_limit")
        }
    }

    /// Tasks that ask their client before they begin.
    struct DecisionBeginnings {
        private func scene() async throws -> (Scene, Int64) {
            let scene = try await Scene.asking("begin")
            scene.origin.serve("/file", .good(.version(1, size: 5000)))
            scene.origin.serve("/other", .good(.version(2, size: 6000)))
            let begin: JSONValue = .string(Timestamp.now().advanced(by: 0.3).description)
            return (scene, try await scene.add("/file", to: "file", ["earliestBeginAt": begin], session: "s"))
        }

        @Test(.timeLimit(.minutes(1))) func aTaskAsksWhenItsTimeHasCome() async throws {
            var (scene, id) = try await scene()
            let asked = try await scene.question(id)
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "decision" && task["attempts"] == 0, "\(task)")
            #expect(asked["kind"] == "begin" && asked["default"] == "continue" && asked["deadline"] != nil, "\(asked)")
            #expect(asked["request", "url"] == .string(scene.origin.url("/file")))
            scene = try await scene.restarted()
            #expect(try await scene.question(id) == asked)
            #expect(scene.origin.requests("/file").isEmpty)
            try await scene.answer(asked, "continue")
            try await scene.probe.wait(for: id, "completed")
            #expect(try await scene.toldQuestions(id).count == 1)
        }

        @Test(.timeLimit(.minutes(1))) func anotherRequestTakesItsPlace() async throws {
            var (scene, id) = try await scene()
            let asked = try await scene.question(id)
            try await scene.answer(asked, "newRequest", ["request": ["url": .string(scene.origin.url("/other"))]])
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(Resource.version(2, size: 6000).content.matches(scene.file()))
            #expect(scene.origin.requests("/file").isEmpty)
        }

        @Test(.timeLimit(.minutes(1))) func cancelCancelsIt() async throws {
            let (scene, id) = try await scene()
            try await scene.answer(try await scene.question(id), "cancel")
            try await scene.probe.wait(for: id, "cancelled")
            #expect(scene.origin.requests("/file").isEmpty)
        }

        @Test(.timeLimit(.minutes(1))) func aPersonAnswers() async throws {
            let (scene, id) = try await scene()
            let asked = try await scene.question(id)["decision"]?.integerValue ?? 0
            for words in [["decisions"], ["explain", "\(id)"]] {
                let output = try await scene.daemon.dlctl(words).output
                #expect(output.contains("dlctl answer \(asked) continue"), "\(output)")
                #expect(output.contains("If nobody answers, dld takes continue at "), "\(output)")
            }
            let answered = try await scene.daemon.dlctl([
                "answer", "\(asked)", "newRequest", "--url", scene.origin.url("/other"), "-H", "X-New: value",
            ])
            #expect(answered.status == 0, "\(answered)")
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/other").last?.header("X-New") == "value")
        }
    }
}

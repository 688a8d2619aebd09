import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// `asks`: the client is asked about a server's challenge, and may be gone meanwhile.
    struct Decisions {
        private static let login = Base64Text.encode(Array("anna:right".utf8))
        private static let asking: JSONValue = ["id": "s", "configuration": ["asks": ["challenge"]]]

        private func scene() async throws -> Scene {
            let scene = try await Scene()
            scene.origin.serve("/file", .basic(Self.login, then: .good(.version(1, size: 5000))))
            try await scene.probe.call("session.open", Self.asking)
            return scene
        }

        private func questions(_ scene: Scene) async throws -> [JSONValue] {
            try await scene.probe.call("decision.list")["decisions"]?.arrayValue ?? []
        }

        /// Waits for the task's question.
        private func question(_ id: Int64, _ scene: Scene, after last: JSONValue? = nil) async throws -> JSONValue {
            var found: JSONValue?
            let isAsked = try await eventually {
                let list = try await scene.probe.call("decision.list", ["tasks": [.integer(id)]])
                found = list["decisions"]?.arrayValue?.first
                return found != nil && found?["decision"] != last
            }
            guard isAsked, let found else {
                let task = try await scene.probe.task(id)
                throw SupportError("task \(id) asks nothing: \(task)")
            }
            return found
        }

        private func answer(
            _ question: JSONValue, _ action: String, password: String? = nil, _ probe: RPCProbe
        ) async throws -> JSONValue {
            var parameters: [String: JSONValue] = ["id": question["decision"] ?? .null, "action": .string(action)]
            if let password {
                parameters["credential"] = ["username": "anna", "password": .string(password), "persistence": "none"]
            }
            return try await probe.call("decision.answer", .object(parameters))
        }

        private func refusal(_ body: () async throws -> JSONValue) async -> String? {
            do {
                let answer = try await body()
                return "answered \(answer)"
            } catch {
                return (error as? RPCFailure)?.code
            }
        }

        private func told(_ id: Int64, _ scene: Scene) async throws -> [JSONValue] {
            try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.decision"]])
        }

        @Test(.timeLimit(.minutes(1))) func aQuestionOutlivesTheDaemonAndIsToldOnce() async throws {
            var scene = try await scene()
            let id = try await scene.add(session: "s")
            let before = try await question(id, scene)
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "authentication", "\(task)")
            #expect(before["kind"] == "challenge" && before["default"] == "wait" && before["deadline"] == nil)
            #expect(before["session"] == "s" && before["previousFailureCount"] == 0 && before["proposedUser"] == nil)
            #expect(
                before["protectionSpace"] == [
                    "host": "127.0.0.1", "port": .integer(Int64(scene.origin.port)), "protocol": "http",
                    "realm": "test", "method": "httpBasic", "isProxy": false,
                ], "\(before)")
            #expect(before["response", "status"] == 401)
            scene = try await scene.restarted()
            #expect(try await question(id, scene) == before)
            let events = try await told(id, scene)
            #expect(events.count == 1 && events[0]["decision"] == before["decision"], "\(events)")
            #expect(events[0]["protectionSpace"] == before["protectionSpace"])
            _ = try await answer(before, "useCredential", password: "right", scene.probe)
            // The decision outlives the daemon too.
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(try await told(id, scene).count == 1)
            #expect(try await questions(scene).isEmpty)
        }

        @Test(.timeLimit(.minutes(1))) func aRefusedCredentialIsAskedForAgainAndNotSentAgain() async throws {
            let scene = try await scene()
            let id = try await scene.add(session: "s")
            let first = try await question(id, scene)
            _ = try await answer(first, "useCredential", password: "wrong", scene.probe)
            let second = try await question(id, scene, after: first["decision"])
            #expect(second["previousFailureCount"] == 1 && second["proposedUser"] == "anna", "\(second)")
            // After a pause and a resume, it asks again; the old question is closed.
            #expect(try await scene.probe.control("pause", id))
            #expect(try await questions(scene).isEmpty)
            #expect(await refusal { try await answer(second, "cancel", scene.probe) } == "decision.gone")
            #expect(try await scene.probe.control("resume", id))
            let third = try await question(id, scene, after: second["decision"])
            #expect(third["previousFailureCount"] == 1, "\(third)")
            _ = try await answer(third, "rejectProtectionSpace", scene.probe)
            let failed = try await scene.probe.wait(for: id, "failed")
            #expect(failed.errorCode == "auth.required", "\(failed)")
            let wrong = "Basic " + Base64Text.encode(Array("anna:wrong".utf8))
            let sent = scene.origin.requests("/file").filter { $0.request.header("Authorization") == wrong }
            #expect(sent.count == 1)
            // After a retry, it asks from the beginning.
            #expect(try await scene.probe.control("retry", id))
            let fourth = try await question(id, scene)
            #expect(fourth["previousFailureCount"] == 0, "\(fourth)")
            _ = try await answer(fourth, "useCredential", password: "right", scene.probe)
            try await scene.probe.wait(for: id, "completed")
        }

        @Test(.timeLimit(.minutes(1))) func theFirstAnswerCounts() async throws {
            let scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await question(id, scene)
            #expect(await refusal { try await answer(asked, "follow", scene.probe) } == "request.bad_field")
            #expect(await refusal { try await answer(asked, "useCredential", scene.probe) } == "request.bad_field")
            let answered = try await answer(asked, "useCredential", password: "right", scene.probe)
            #expect(answered["task"] == .integer(id), "\(answered)")
            #expect(try await answer(asked, "useCredential", password: "right", scene.probe) == answered)
            #expect(await refusal { try await answer(asked, "cancel", scene.probe) } == "decision.gone")
            #expect(
                await refusal { try await answer(asked, "useCredential", password: "other", scene.probe) }
                    == "decision.gone")
            #expect(await refusal { try await answer(["decision": 99], "cancel", scene.probe) } == "decision.gone")
            try await scene.probe.wait(for: id, "completed")
            #expect(try await answer(asked, "useCredential", password: "right", scene.probe) == answered)
        }

        /// A password for one task is on the disk only while the task needs it: not in the log and not in a backup after it.
        @Test(.timeLimit(.minutes(1))) func aPasswordForOneTaskLeavesTheDiskWithIt() async throws {
            var scene = try await scene()
            func isGone(_ password: String) async throws -> Bool {
                try await eventually {
                    try await Program.run(["grep", "-raqF", "-e", password, scene.daemon.stateFolder]).status == 1
                }
            }
            let id = try await scene.add(session: "s")
            let first = try await question(id, scene)
            _ = try await answer(first, "useCredential", password: "Wq7-refused", scene.probe)
            let second = try await question(id, scene, after: first["decision"])
            #expect(try await isGone("Wq7-refused"))
            let login = Base64Text.encode(Array("anna:Wq8-accepted".utf8))
            scene.origin.serve("/file", .basic(login, then: .stalling(.version(1, size: 5000), after: 1000)))
            _ = try await answer(second, "useCredential", password: "Wq8-accepted", scene.probe)
            #expect(try await eventually { try await scene.probe.task(id)["bytesReceived"] == 1000 })
            // It resumes without its client.
            #expect(try await scene.daemon.stores("Wq8-accepted"))
            scene.origin.serve("/file", .basic(login, then: .good(.version(1, size: 5000))))
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(try await isGone("Wq8-accepted"))
            // A daemon that is killed first leaves it to the next one.
            scene.origin.serve("/file", .basic(Self.login, then: .good(.version(1, size: 5000))))
            let other = try await scene.add("/file", to: "other", session: "s")
            let third = try await question(other, scene)
            _ = try await answer(third, "useCredential", password: "right", scene.probe)
            try await scene.probe.wait(for: other, "completed")
            try await scene.daemon.kill()
            try await scene.daemon.start()
            #expect(try await isGone("right"))
        }

        /// A credential for the session serves its other tasks until it is refused.
        @Test(.timeLimit(.minutes(1))) func aCredentialOfTheSessionServesItsTasks() async throws {
            var scene = try await scene()
            let first = try await scene.add(session: "s")
            let credential: JSONValue = ["username": "anna", "password": "right", "persistence": "session"]
            try await scene.answer(try await question(first, scene), "useCredential", ["credential": credential])
            try await scene.probe.wait(for: first, "completed")
            scene = try await scene.restarted()
            let second = try await scene.add("/file", to: "second", session: "s")
            try await scene.probe.wait(for: second, "completed")
            #expect(try await told(second, scene).isEmpty)
            // It belongs to this session alone, and is not sent again after it was refused.
            let other = Base64Text.encode(Array("anna:other".utf8))
            scene.origin.serve("/file", .basic(other, then: .good(.version(1, size: 5000))))
            let third = try await scene.add("/file", to: "third", session: "s")
            let asked = try await question(third, scene)
            #expect(asked["previousFailureCount"] == 1 && asked["proposedUser"] == "anna", "\(asked)")
            let fourth = try await scene.add("/file", to: "fourth", session: "s")
            #expect(try await question(fourth, scene)["previousFailureCount"] == 0)
        }

        @Test(.timeLimit(.minutes(1))) func cancelCancelsTheTask() async throws {
            let scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await question(id, scene)
            _ = try await answer(asked, "cancel", scene.probe)
            try await scene.probe.wait(for: id, "cancelled")
            _ = try await answer(asked, "cancel", scene.probe)
            #expect(scene.names.isEmpty)
            // Nobody is asked for a task of a session that does not ask.
            let other = try await scene.add("/file", to: "other")
            #expect(try await scene.probe.wait(for: other, "failed").errorCode == "auth.required")
        }

        /// With any status accepted, a task whose challenge is rejected gets the refusal as its answer.
        @Test(.timeLimit(.minutes(1)), arguments: ["download", "data"])
        func aRejected401IsTheResponse(kind: String) async throws {
            let scene = try await scene()
            var spec: [String: JSONValue] = [
                "kind": .string(kind), "url": .string(scene.origin.url("/file")), "acceptsAnyStatus": true,
            ]
            if kind == "download" { spec["destination"] = ["path": .string(scene.file())] }
            let id = try await scene.probe.add([.object(spec)], session: "s")[0]
            _ = try await answer(try await question(id, scene), "performDefaultHandling", scene.probe)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 401, "\(task)")
        }

        /// A credential is sent only to the server that asked, wherever the request came from.
        @Test(.timeLimit(.minutes(1))) func aCredentialGoesToWhoAskedAlone() async throws {
            let scene = try await scene()
            let other = try MisbehavingOrigin()
            other.serve("/away", .redirect(to: scene.origin.url("/file")))
            let id = try await scene.probe.add(other.url("/away"), to: scene.file(), session: "s")
            let asked = try await question(id, scene)
            #expect(asked["protectionSpace", "port"] == .integer(Int64(scene.origin.port)), "\(asked)")
            _ = try await answer(asked, "useCredential", password: "right", scene.probe)
            try await scene.probe.wait(for: id, "completed")
            #expect(other.requests("/away").allSatisfy { $0.request.header("Authorization") == nil })
        }

        /// Neither an endless challenge nor a strange realm does harm.
        @Test(.timeLimit(.minutes(1))) func aServerMaySayWhatItLikes() async throws {
            let scene = try await scene()
            let realm = "safe\u{202E}cba" + String(repeating: "x", count: 4000)
            scene.origin.serve("/odd", .status(401, [("WWW-Authenticate", "Basic realm=\"\(realm)\"")]))
            scene.origin.serve("/bearer", .status(401, [("WWW-Authenticate", "Bearer realm=\"r\"")]))
            let odd = try await scene.add("/odd", to: "odd", session: "s")
            let asked = try await question(odd, scene)
            let told = asked["protectionSpace", "realm"]?.stringValue ?? ""
            #expect(told.hasPrefix("safe\u{FFFD}cba") && told.unicodeScalars.count == 256, "\(told)")
            let output = try await scene.daemon.dlctl(["decisions"]).output
            #expect(output.contains("dlctl answer") && !output.contains("\u{202E}"), "\(output)")
            let bearer = try await scene.add("/bearer", to: "bearer", session: "s")
            #expect(try await scene.probe.wait(for: bearer, "failed").errorCode == "auth.required")
            var last = asked
            for _ in 0..<19 {
                _ = try await answer(last, "useCredential", password: "x", scene.probe)
                last = try await question(odd, scene, after: last["decision"])
            }
            #expect(last["previousFailureCount"] == 19)
            _ = try await answer(last, "useCredential", password: "x", scene.probe)
            #expect(try await scene.probe.wait(for: odd, "failed").errorCode == "auth.required")
        }

        @Test(.timeLimit(.minutes(1))) func aPassedDeadlineClosesTheQuestion() async throws {
            let scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await question(id, scene)
            try await scene.probe.call("task.update", ["id": .integer(id), "deadlineAt": "2020-01-01T00:00:00Z"])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "deadline.exceeded")
            #expect(try await questions(scene).isEmpty)
            #expect(
                await refusal { try await answer(asked, "useCredential", password: "right", scene.probe) }
                    == "decision.gone")
        }

        @Test(.timeLimit(.minutes(1))) func everyKindIsBuiltAndOthersAreRefused() async throws {
            let scene = try await scene()
            @discardableResult func open(_ kinds: [JSONValue]) async throws -> JSONValue {
                try await scene.probe.call("session.open", ["id": "t", "configuration": ["asks": .array(kinds)]])
            }
            let error = await refusal { try await open(["challenge", "gossip"]) }
            #expect(error == "request.bad_field")
            try await open(DecisionKind.allCases.map { .string($0.rawValue) })
            let features = try await scene.probe.call("daemon.info")["features"]?.arrayValue ?? []
            for kind in DecisionKind.allCases { #expect(features.contains(.string("decisions.\(kind.rawValue)"))) }
        }

        @Test(.timeLimit(.minutes(1))) func anAbsentProgramIsStarted() async throws {
            let scene = try await scene()
            let script = "echo $DLD_SUBSCRIBER >> \(scene.file("mark"))"
            try await scene.probe.call(
                "session.open",
                [
                    "id": "s",
                    "configuration": [
                        "sendsLaunchEvents": true, "subscriber": "app", "launchInterval": 3600,
                        "launch": ["argv": ["/bin/sh", "-c", .string(script)]],
                    ],
                ])
            _ = try await question(try await scene.add(session: "s"), scene)
            #expect(await eventually { (try? Files.text(scene.file("mark"))) == "app\n" })
        }

        @Test(.timeLimit(.minutes(1))) func thePersonAnswersOnTheCommandLine() async throws {
            let scene = try await scene()
            try Files.write(scene.file("password"), "right\n", mode: 0o600)
            let id = try await scene.add(session: "s")
            let asked = try await question(id, scene)["decision"]?.integerValue ?? 0
            let command = "dlctl answer \(asked) useCredential --user NAME"
            for words in [["decisions"], ["explain", "\(id)"], ["show", "\(id)"]] {
                let (status, output) = try await scene.daemon.dlctl(words)
                #expect(status == 0 && output.contains(command) && output.contains("\"test\""), "\(output)")
            }
            let (status, output) = try await scene.daemon.dlctl([
                "answer", "\(asked)", "useCredential", "--user", "anna", "--password-file", scene.file("password"),
            ])
            #expect(status == 0, "\(output)")
            try await scene.probe.wait(for: id, "completed")
            let again = try await scene.daemon.dlctl(["answer", "\(asked)", "cancel"])
            #expect(again.0 == 4, "\(again)")
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("apache2", "htpasswd")))
        func apacheWithDigestAndBasic() async throws {
            let server = try await Apache.start()
            try server.publish("file", Content(seed: 3, size: 100_000))
            let scene = try await scene()
            for (name, url) in [("httpDigest", server.digestURL("file")), ("httpBasic", server.basicURL("file"))] {
                let id = try await scene.probe.add(url, to: scene.file(name), session: "s")
                let asked = try await question(id, scene)
                #expect(asked["protectionSpace", "method"] == .string(name), "\(asked)")
                #expect(asked["protectionSpace", "realm"] == "files")
                try await scene.probe.call(
                    "decision.answer",
                    [
                        "id": asked["decision"] ?? .null, "action": "useCredential",
                        "credential": [
                            "username": .string(Apache.user), "password": .string(Apache.password),
                        ],
                    ])
                try await scene.probe.wait(for: id, "completed")
            }
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("squid", "htpasswd", "nginx")))
        func squidAsksAsAProxy() async throws {
            let proxy = try await Squid.start()
            let server = try await Nginx.start()
            try server.publish("file", Content(seed: 4, size: 100_000))
            let scene = try await scene()
            let url = proxy.url(password: "wrong")
            let id = try await scene.probe.add(
                server.url("file"), to: scene.file(), ["proxy": .string(url)], session: "s")
            let asked = try await question(id, scene)
            #expect(asked["protectionSpace", "isProxy"] == true, "\(asked)")
            #expect(asked["protectionSpace", "port"] == .integer(Int64(proxy.port)), "\(asked)")
            try await scene.probe.call(
                "decision.answer",
                [
                    "id": asked["decision"] ?? .null, "action": "useCredential",
                    "credential": ["username": "proxy", "password": "secret"],
                ])
            try await scene.probe.wait(for: id, "completed")
        }
    }
}

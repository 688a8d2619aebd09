import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Credentials of the user's store and of a helper, when no client is asked.
    struct Credentials {
        private static let right = Base64Text.encode(Array("anna:Zq7right7qZ".utf8))

        private func serve(_ scene: Scene, _ path: String = "/file", login: String = right) {
            scene.origin.serve(path, .basic(login, then: .good(.version(1, size: 5000))))
        }

        private func space(_ scene: Scene, _ more: [String: JSONValue] = [:]) -> JSONValue {
            let own: [String: JSONValue] = [
                "host": "127.0.0.1", "port": .integer(Int64(scene.origin.port)), "protocol": "http",
            ]
            return .object(own.merging(more) { $1 })
        }

        @discardableResult
        private func set(
            _ scene: Scene, _ password: String = "Zq7right7qZ", _ more: [String: JSONValue] = [:],
            in space: JSONValue? = nil, on probe: RPCProbe? = nil
        ) async throws -> JSONValue {
            let own: [String: JSONValue] = [
                "protectionSpace": space ?? self.space(scene),
                "credential": ["username": "anna", "password": .string(password)],
            ]
            return try await (probe ?? scene.probe).call("credentials.set", .object(own.merging(more) { $1 }))
        }

        private func list(_ scene: Scene, _ session: String? = nil) async throws -> [JSONValue] {
            let which: JSONValue = session.map { ["session": .string($0)] } ?? [:]
            return try await scene.probe.call("credentials.list", which)["credentials"]?.arrayValue ?? []
        }

        private func sent(_ scene: Scene, _ password: String, _ path: String = "/file") -> Int {
            let value = "Basic " + Base64Text.encode(Array("anna:\(password)".utf8))
            return scene.origin.requests(path).count { $0.request.header("Authorization") == value }
        }

        /// A redirect to another origin and back drops the task's own credential. Its server has not refused it.
        @Test(.timeLimit(.minutes(1))) func whatARedirectDroppedIsNotRefused() async throws {
            let scene = try await Scene()
            let other = try MisbehavingOrigin()
            serve(scene)
            scene.origin.serve("/start", .redirect(to: other.url("/away")))
            other.serve("/away", .redirect(to: scene.origin.url("/file")))
            let login: [String: JSONValue] = ["username": "anna", "password": "Zq7right7qZ"]
            let task = try await scene.probe.wait(for: try await scene.add("/start", login), "completed")
            #expect(task["attempts"] == 2 && sent(scene, "Zq7right7qZ") == 1, "\(task)")
            #expect(other.requests("/away").allSatisfy { $0.request.header("Authorization") == nil })
            // A wrong one is refused once.
            let wrong: [String: JSONValue] = ["username": "anna", "password": "wrong"]
            let id = try await scene.add("/start", to: "wrong", wrong)
            let refused = try await scene.probe.wait(for: id, "failed")
            #expect(refused.errorCode == "auth.required" && refused["attempts"] == 2, "\(refused)")
        }

        /// The store answers for tasks without credentials, also after `kill -9`, and no client is asked.
        @Test(.timeLimit(.minutes(1))) func theStoreAnswersWhereNobodyIsAsked() async throws {
            var scene = try await Scene()
            serve(scene)
            try await set(scene)
            scene = try await scene.restarted()
            for name in ["one", "two"] {
                let id = try await scene.add(to: name)
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(task["attempts"] == 2, "\(task)")
                let events = try await scene.probe.storedEvents(["tasks": [.integer(id)]])
                #expect(!events.contains { $0["type"] == "task.decision" || $0["type"] == "task.failed" })
            }
            // One request that is refused, and one with the credentials found.
            #expect(sent(scene, "Zq7right7qZ") == 2 && scene.origin.requests("/file").count == 4)
            #expect(try await list(scene).map { $0["username"] } == ["anna"])
            let removed = try await scene.probe.call("credentials.remove", ["protectionSpace": space(scene)])
            #expect(removed["removed"] == 1)
            let id = try await scene.add(to: "three")
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "auth.required")
        }

        /// An answer that a client gives after a removal is stored, even if it is the credential that was removed.
        @Test(.timeLimit(.minutes(1))) func anAnswerAfterARemovalIsStored() async throws {
            let scene = try await Scene()
            serve(scene)
            try await set(scene)
            try await scene.probe.call("credentials.remove", ["protectionSpace": space(scene)])
            try await scene.openAsking(["challenge"])
            let id = try await scene.add(to: "one", session: "s")
            let credential: JSONValue = [
                "username": "anna", "password": "Zq7right7qZ", "persistence": "permanent",
            ]
            try await scene.answer(
                try await scene.question(id), "useCredential", ["credential": credential])
            try await scene.probe.wait(for: id, "completed")
            #expect(try await list(scene).map { $0["username"] } == ["anna"])
        }

        /// Credentials for another realm, method, port or scheme are not sent.
        @Test(.timeLimit(.minutes(1))) func onlyItsOwnProtectionSpaceGetsIt() async throws {
            let scene = try await Scene()
            serve(scene)
            let others: [[String: JSONValue]] = [
                ["realm": "other"], ["method": "httpDigest"], ["port": 1], ["protocol": "https"], ["isProxy": true],
            ]
            for other in others { try await set(scene, in: space(scene, other)) }
            let first = try await scene.add(to: "first")
            #expect(try await scene.probe.wait(for: first, "failed").errorCode == "auth.required")
            #expect(sent(scene, "Zq7right7qZ") == 0)
            try await set(scene, in: space(scene, ["realm": "test", "method": "httpBasic"]))
            try await scene.probe.wait(for: try await scene.add(to: "second"), "completed")
        }

        /// A redirect leads from one realm to another of the same server. Each gets its own credential, and neither gets
        /// that of the other.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func eachRealmOfARedirectGetsItsOwn(knowsBoth: Bool) async throws {
            let scene = try await Scene()
            for (path, realm) in [("/one", "ONE"), ("/two", "TWO")] {
                let login = "Basic " + Base64Text.encode(Array("anna:\(realm)".utf8))
                let passed: Behaviour = path == "/one" ? .redirect(to: "/two") : .good(.version(1, size: 5000))
                scene.origin.serve(
                    path,
                    .choose {
                        $0.header("Authorization") == login
                            ? passed : .status(401, [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
                    })
                guard knowsBoth || realm == "ONE" else { continue }
                try await set(scene, realm, in: space(scene, ["realm": .string(realm)]))
            }
            let id = try await scene.probe.add([
                ["kind": "data", "url": .string(scene.origin.url("/one"))]
            ])[0]
            let task = try await scene.probe.wait(for: id, knowsBoth ? "completed" : "failed")
            #expect(knowsBoth || task.errorCode == "auth.required")
            #expect(sent(scene, "TWO", "/one") == 0 && sent(scene, "ONE", "/two") == 0)
            #expect(try await list(scene).allSatisfy { $0["isRefused"] == false })
            #expect(scene.origin.requests("/two").count == (knowsBoth ? 2 : 1))
        }

        /// The task's own credentials come first, then the store's. A refused credential is not sent again until it is
        /// stored again.
        @Test(.timeLimit(.minutes(1))) func aRefusedOneIsNotSentAgain() async throws {
            var scene = try await Scene()
            serve(scene)
            try await set(scene, "wrong")
            let first = try await scene.add(to: "first", ["username": "anna", "password": "own"])
            #expect(try await scene.probe.wait(for: first, "failed").errorCode == "auth.required")
            #expect(sent(scene, "own") == 1 && sent(scene, "wrong") == 1)
            #expect(try await list(scene).map { $0["isRefused"] } == [true])
            scene = try await scene.restarted()
            let second = try await scene.add(to: "second")
            #expect(try await scene.probe.wait(for: second, "failed").errorCode == "auth.required")
            #expect(try await scene.probe.control("retry", first))
            try await scene.probe.wait(for: first, "failed")
            #expect(sent(scene, "wrong") == 1)
            try await set(scene)
            #expect(try await scene.probe.control("retry", second))
            try await scene.probe.wait(for: second, "completed")
        }

        /// With any status accepted, the refusal is the task's answer if the store has no usable credentials.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func aRefusalIsTheAnswerWhereEveryStatusIs(isRight: Bool) async throws {
            let scene = try await Scene()
            serve(scene)
            try await set(scene, isRight ? "Zq7right7qZ" : "wrong")
            let id = try await scene.probe.add([
                ["kind": "data", "url": .string(scene.origin.url("/file")), "acceptsAnyStatus": true]
            ])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == .integer(isRight ? 200 : 401), "\(task)")
        }

        /// A client that answers challenges is asked first. The default handling uses the store.
        @Test(.timeLimit(.minutes(1))) func defaultHandlingIsTheStore() async throws {
            let scene = try await Scene.asking("challenge")
            serve(scene)
            try await set(scene)
            let id = try await scene.add(session: "s")
            let asked = try await scene.question(id)
            #expect(asked["proposedUser"] == "anna" && asked["previousFailureCount"] == 0, "\(asked)")
            // Subscribers are told to answer, not to change the task.
            let waits = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.waiting"]])
            let message = waits.last?["error", "message"]?.stringValue ?? ""
            #expect(message.contains("decision.answer") && !message.contains("task.update"), "\(waits)")
            try await scene.answer(asked, "performDefaultHandling")
            try await scene.probe.wait(for: id, "completed")
            let other = try await scene.add(to: "other", session: "s")
            try await scene.answer(try await scene.question(other), "rejectProtectionSpace")
            #expect(try await scene.probe.wait(for: other, "failed").errorCode == "auth.required")
        }

        /// After the question, whatever the answer, and in the request for the body of the refusal.
        @Test(
            .timeLimit(.minutes(1)), arguments: ["rejectProtectionSpace", "performDefaultHandling"],
            [(false, false), (true, false), (true, true)])
        func theTasksOwnIsNotSentAgain(action: String, shape: (any: Bool, inURL: Bool)) async throws {
            let scene = try await Scene.asking("challenge")
            serve(scene)
            var url = scene.origin.url("/file")
            var more: [String: JSONValue] = ["kind": "data", "acceptsAnyStatus": .bool(shape.any)]
            if shape.inURL {
                url = url.replacing("://", with: "://anna:own@")
            } else {
                more.merge(["username": "anna", "password": "own"]) { $1 }
            }
            more["url"] = .string(url)
            let id = try await scene.probe.add([.object(more)], session: "s")[0]
            let asked = try await scene.question(id)
            #expect(asked["previousFailureCount"] == 1 && asked["proposedUser"] == "anna", "\(asked)")
            try await scene.answer(asked, action)
            let task = try await scene.probe.wait(for: id, shape.any ? "completed" : "failed")
            #expect(task["response", "status"] == 401, "\(task)")
            #expect(sent(scene, "own") == 1)
            // Other credentials are sent.
            let again = try await scene.request("/file", ["username": "anna", "password": "own"])
            let next = try await scene.question(again)
            try await scene.probe.call(
                "task.update", ["id": .integer(again), "password": "Zq7right7qZ", "username": "anna"])
            #expect(try await scene.refusal(next, action)?.code == "decision.gone")
            try await scene.probe.wait(for: again, "completed")
            #expect(sent(scene, "own") == 2)
        }

        /// Where nobody is asked: the task's own, the store's, and then the refusal with its body.
        @Test(.timeLimit(.minutes(1))) func eachIsSentOnceWhereEveryStatusIsAnAnswer() async throws {
            let scene = try await Scene()
            serve(scene)
            try await set(scene, "wrong")
            let id = try await scene.probe.add([
                [
                    "kind": "data", "url": .string(scene.origin.url("/file")), "acceptsAnyStatus": true,
                    "username": "anna", "password": "own",
                ]
            ])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 401, "\(task)")
            #expect(sent(scene, "own") == 1 && sent(scene, "wrong") == 1)
        }

        /// A `permanent` answer serves all of the owner's tasks as soon as it has worked, but not before.
        @Test(.timeLimit(.minutes(1))) func aPermanentAnswerIsStoredOnceItHasWorked() async throws {
            var scene = try await Scene.asking("challenge")
            serve(scene)
            let id = try await scene.add(session: "s")
            let wrong: JSONValue = ["username": "anna", "password": "wrong", "persistence": "permanent"]
            let first = try await scene.question(id)
            try await scene.answer(first, "useCredential", ["credential": wrong])
            let second = try await scene.question(id, after: first)
            #expect(try await list(scene).isEmpty)
            let right: JSONValue = ["username": "anna", "password": "Zq7right7qZ", "persistence": "permanent"]
            try await scene.answer(second, "useCredential", ["credential": right])
            try await scene.probe.wait(for: id, "completed")
            scene = try await scene.restarted()
            let stored = try await list(scene)
            #expect(stored.map { $0["protectionSpace", "realm"] } == ["test"] && stored.count == 1, "\(stored)")
            // Used by a session that asks no questions, and by this one without a further question.
            try await scene.probe.wait(for: try await scene.add(to: "other"), "completed")
            let again = try await scene.add(to: "again", session: "s")
            try await scene.probe.wait(for: again, "completed")
            #expect(sent(scene, "wrong") == 1)
        }

        /// The table "Kinds of session": `default` uses the owner's store, `ephemeral` its own in memory.
        @Test(.timeLimit(.minutes(1))) func volatileSessionsHaveTheirStores() async throws {
            let scene = try await Scene()
            serve(scene)
            try await set(scene)
            for kind in ["default", "ephemeral"] {
                try await scene.probe.call("session.open", ["id": .string(kind), "kind": .string(kind)])
            }
            try await scene.probe.wait(for: try await scene.add(to: "default", session: "default"), "completed")
            let without = try await scene.add(to: "without", session: "ephemeral")
            #expect(try await scene.probe.wait(for: without, "failed").errorCode == "auth.required")
            try await set(scene, "Zq7right7qZ", ["session": "ephemeral"])
            try await scene.probe.wait(for: try await scene.add(to: "with", session: "ephemeral"), "completed")
            #expect(try await list(scene, "ephemeral").map { $0["persistence"] } == ["session"])
        }

        /// An upload's source is sent again with the store's credentials.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("apache2", "htpasswd")))
        func apacheWithDigestAndBasic() async throws {
            let server = try await Apache.start()
            try server.publish("file", Content(seed: 3, size: 100_000))
            let scene = try await Scene()
            for (name, url) in [("httpDigest", server.digestURL("file")), ("httpBasic", server.basicURL("file"))] {
                let port = url.split(separator: ":")[2].prefix { $0.isNumber }
                let host = url.split(separator: "/")[1].prefix { $0 != ":" }
                let space: JSONValue = [
                    "host": .string(String(host)), "port": .integer(Int64(port) ?? 0), "protocol": "http",
                    "realm": "files", "method": .string(name),
                ]
                let failed = try await scene.probe.add(url, to: scene.file("none-\(name)"))
                #expect(try await scene.probe.wait(for: failed, "failed").errorCode == "auth.required")
                try await scene.probe.call(
                    "credentials.set",
                    [
                        "protectionSpace": space,
                        "credential": ["username": .string(Apache.user), "password": .string(Apache.password)],
                    ])
                let id = try await scene.probe.add(url, to: scene.file(name))
                try await scene.probe.wait(for: id, "completed")
                #expect(try Files.read(scene.file(name)) == Content(seed: 3, size: 100_000).bytes)
            }
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("python3")))
        func anNTLMServerIsServedToo() async throws {
            let content = Content(seed: 6, size: 100_000)
            let server = try await NTLMServer.start(content, asksAsProxy: false)
            let scene = try await Scene()
            try await scene.probe.call(
                "credentials.set",
                [
                    "protectionSpace": [
                        "host": "127.0.0.1", "port": .integer(Int64(server.port)), "protocol": "http", "method": "ntlm",
                    ],
                    "credential": [
                        "username": .string(NTLMServer.user), "password": .string(NTLMServer.password),
                    ],
                ])
            let id = try await scene.probe.add(server.url, to: scene.file(), Scene.quickRetry)
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.read(scene.file()) == content.bytes)
        }

        /// git's helper: a credential is stored after it has worked, and erased after it was refused.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("git")))
        func gitsStoreGivesCredentials() async throws {
            let folder = try TemporaryFolder()
            let file = folder.file("credentials")
            let scene = try await Scene(["--set", "credentialHelper=git credential-store --file \(file)"])
            serve(scene)
            let line = { (password: String) in "http://anna:\(password)@127.0.0.1%3a\(scene.origin.port)\n" }
            try Files.write(file, line("wrong"), mode: 0o600)
            let id = try await scene.add()
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "auth.required")
            #expect(sent(scene, "wrong") == 1)
            #expect(await eventually { (try? Files.text(file)) == "" })
            try Files.write(file, line("Zq7right7qZ"), mode: 0o600)
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(await eventually { (try? Files.text(file)) == line("Zq7right7qZ") })
            #expect(try await list(scene).isEmpty)
        }

        /// A password appears only in the database.
        @Test(.timeLimit(.minutes(1))) func noPasswordIsSeen() async throws {
            let scene = try await Scene(["--log-level", "debug"])
            serve(scene)
            let set = try await set(scene)
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let seen = [
                "\(set)", "\(try await list(scene))", "\(try await scene.probe.task(id))",
                "\(try await scene.probe.storedEvents([:]))", scene.daemon.log,
                try await scene.daemon.dlctl(["credential", "list"]).output,
            ]
            for text in seen { #expect(!text.contains("Zq7right7qZ") && !text.contains(Self.right)) }
            #expect(try await scene.daemon.stores("Zq7right7qZ"))
        }

        @Test(.timeLimit(.minutes(1))) func thePersonAddsListsAndRemoves() async throws {
            let scene = try await Scene()
            serve(scene)
            try Files.write(scene.file("password"), "Zq7right7qZ\n", mode: 0o600)
            let place = "http://127.0.0.1:\(scene.origin.port)"
            let added = try await scene.daemon.dlctl([
                "credential", "add", place, "--realm", "test", "--username", "anna", "--password-file",
                scene.file("password"),
            ])
            #expect(added.status == 0, "\(added)")
            try await scene.probe.wait(for: try await scene.add(), "completed")
            let listed = try await scene.daemon.dlctl(["credential", "list"]).output
            #expect(listed.contains(place) && listed.contains("anna") && listed.contains("test"), "\(listed)")
            let removed = try await scene.daemon.dlctl(["credential", "remove", place, "--username", "anna"])
            #expect(removed.status == 0 && removed.output.contains("1 credential"), "\(removed)")
            #expect(try await scene.daemon.dlctl(["credential", "remove", place]).output.contains("no credential"))
            for bad in ["ftp://a", "a/b", "http://", "u@a", "a:0", "a:x"] {
                let refused = try await scene.daemon.dlctl(["credential", "remove", bad])
                #expect(refused.status == 2, "\(bad): \(refused)")
            }
        }
    }
}

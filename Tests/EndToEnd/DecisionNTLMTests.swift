import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// `asks`: a server or a proxy that wants NTLM.
    @Suite(.enabled(if: Requirements.has("python3")))
    struct DecisionsOfNTLM {
        private func question(_ id: Int64, _ scene: Scene, after last: JSONValue? = nil) async throws -> JSONValue {
            var found: JSONValue?
            let isAsked = try await eventually {
                let list = try await scene.probe.call("decision.list", ["tasks": [.integer(id)]])
                found = list["decisions"]?.arrayValue?.first
                return found != nil && found?["decision"] != last
            }
            guard isAsked, let found else {
                throw SupportError("task \(id) asks nothing: \(try await scene.probe.task(id))")
            }
            return found
        }

        private func answer(_ question: JSONValue, _ password: String, _ scene: Scene) async throws {
            try await scene.probe.call(
                "decision.answer",
                [
                    "id": question["decision"] ?? .null, "action": "useCredential",
                    "credential": ["username": .string(NTLMServer.user), "password": .string(password)],
                ])
        }

        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func aConnectionIsProvedWithThePassword(isProxy: Bool) async throws {
            let content = Content(seed: 6, size: 100_000)
            let server = try await NTLMServer.start(content, asksAsProxy: isProxy)
            let scene = try await Scene()
            try await scene.probe.call("session.open", ["id": "s", "configuration": ["asks": ["challenge"]]])
            let way: [String: JSONValue] = isProxy ? ["proxy": .string("http://127.0.0.1:\(server.port)")] : [:]
            let id = try await scene.probe.add(
                isProxy ? "http://origin.example/file" : server.url, to: scene.file(),
                Scene.quickRetry.merging(way) { $1 }, session: "s")
            let asked = try await question(id, scene)
            #expect(
                asked["protectionSpace"] == [
                    "host": "127.0.0.1", "port": .integer(Int64(server.port)), "protocol": "http", "method": "ntlm",
                    "isProxy": .bool(isProxy),
                ], "\(asked)")
            #expect(server.steps == ["asked"])
            try await answer(asked, "wrong", scene)
            let again = try await question(id, scene, after: asked["decision"])
            #expect(again["previousFailureCount"] == 1 && again["proposedUser"] == "anna", "\(again)")
            #expect(server.steps.filter { $0 == "refused" }.count == 1, "\(server.steps)")
            try await answer(again, NTLMServer.password, scene)
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.read(scene.file()) == content.bytes)
            #expect(server.steps.last == "served")
        }

        /// A request with a body authenticates before the body is sent.
        @Test(.timeLimit(.minutes(1))) func anUploadIsProvedToo() async throws {
            let server = try await NTLMServer.start(Content(seed: 7, size: 10))
            let scene = try await Scene()
            try await scene.probe.call("session.open", ["id": "s", "configuration": ["asks": ["challenge"]]])
            let id = try await scene.probe.add(
                [
                    [
                        "kind": "data", "method": "POST", "url": .string(server.url), "body": ["text": "hello"],
                    ]
                ], session: "s")[0]
            try await answer(try await question(id, scene), NTLMServer.password, scene)
            try await scene.probe.wait(for: id, "completed")
        }
    }
}

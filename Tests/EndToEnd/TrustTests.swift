import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Servers that a user trusts for good: the answer `trust` with `persistence: permanent`.
    @Suite(.enabled(if: Requirements.has("nginx", "openssl")))
    struct Trust {
        /// A server with an unknown authority, and sessions that ask.
        struct House {
            let server: Nginx
            var scene: Scene

            init() async throws {
                server = try await Nginx.start(
                    tls: true, extra: "add_header Strict-Transport-Security max-age=1000 always;")
                try server.publish("file", Content(seed: 5, size: 100_000))
                scene = try await Scene()
            }

            func open(
                _ session: String, _ more: [String: JSONValue] = ["asks": ["challenge"]], kind: String = "background"
            ) async throws {
                try await scene.probe.call(
                    "session.open",
                    ["id": .string(session), "kind": .string(kind), "configuration": .object(more)])
            }

            func add(to name: String, session: String) async throws -> Int64 {
                try await scene.probe.add(
                    server.tlsURL("file"), to: scene.file(name), Scene.quickRetry, session: session)
            }

            /// A new session needs no answer.
            func isTrusted(in session: String) async throws {
                try await scene.probe.wait(for: try await add(to: "of-\(session)", session: session), "completed")
            }

            /// The task waits for an answer, or fails because nobody asks. The server has seen no request of it.
            func isRefused(_ session: String) async throws {
                let requests = server.accessLog.count
                let id = try await add(to: "no-\(session)", session: session)
                #expect(try await scene.probe.wait(for: id, "failed").errorCode == "tls.untrusted")
                #expect(server.accessLog.count == requests)
            }

            func isAsked(_ session: String) async throws -> JSONValue {
                try await scene.question(try await add(to: "asked-\(session)", session: session))
            }

            /// Answers a question of a new task for good, and waits for the task.
            func trust(in session: String) async throws {
                let id = try await add(to: "first-\(session)", session: session)
                try await scene.answer(try await scene.question(id), "trust", ["persistence": "permanent"])
                try await scene.probe.wait(for: id, "completed")
            }

            func servers() async throws -> [JSONValue] {
                try await scene.probe.call("trust.list")["servers"]?.arrayValue ?? []
            }
        }

        @Test(.timeLimit(.minutes(1))) func anAnswerForGoodOutlivesItsSessionAndTheDaemon() async throws {
            var house = try await House()
            try await house.open("first")
            let id = try await house.add(to: "file", session: "first")
            let asked = try await house.scene.question(id)
            try await house.scene.answer(asked, "trust", ["persistence": "permanent"])
            // What the answer promises is on the disk when it comes.
            house.scene = try await house.scene.restarted()
            try await house.scene.probe.wait(for: id, "completed")
            try await house.scene.probe.call("session.invalidate", ["id": "first"])
            for kind in ["background", "default"] {
                try await house.open(kind, kind: kind)
                try await house.isTrusted(in: kind)
            }
            let known = try await house.servers()
            #expect(known.count == 1 && known.first?["host"] == "localhost", "\(known)")
            #expect(known.first?["port"] == .integer(Int64(house.server.tlsPort)))
            #expect(known.first?["keys"] == .array([asked["key"] ?? .null]))
            // Who does not ask leaves trust to the verification.
            try await house.open("silent", [:])
            try await house.isRefused("silent")
        }

        /// An ephemeral session neither reads nor writes it; there the answer lasts as long as the session.
        @Test(.timeLimit(.minutes(1))) func anEphemeralSessionTrustsForItselfAlone() async throws {
            let house = try await House()
            try await house.open("e", kind: "ephemeral")
            try await house.trust(in: "e")
            try await house.isTrusted(in: "e")
            #expect(try await house.servers().isEmpty)
            try await house.open("d", kind: "default")
            try await house.trust(in: "d")
            #expect(try await house.servers().count == 1)
            try await house.open("other", kind: "ephemeral")
            #expect(try await house.isAsked("other")["protectionSpace", "method"] == "serverTrust")
        }

        @Test(.timeLimit(.minutes(1))) func anotherKeyIsAskedAboutAndTrustIsRemoved() async throws {
            let house = try await House()
            try await house.open("s")
            try await house.trust(in: "s")
            try await house.server.renewCertificates()
            let requests = house.server.accessLog.count
            try await house.open("t")
            let again = try await house.isAsked("t")
            #expect(again["keyChanged"] == true, "\(again)")
            #expect(again["reason"]?.stringValue?.contains("the pinned key has changed") == true, "\(again)")
            #expect(house.server.accessLog.count == requests)
            try await house.scene.answer(again, "trust", ["persistence": "permanent"])
            #expect(try await house.servers().first?["keys"]?.arrayValue?.count == 2)
            let daemon = house.scene.daemon
            let (_, shown) = try await daemon.dlctl(["trust", "list"])
            #expect(shown.contains("https://localhost:\(house.server.tlsPort)"), "\(shown)")
            #expect(shown.contains(again["key"]?.stringValue ?? "?"), "\(shown)")
            let (status, said) = try await daemon.dlctl(["trust", "remove", house.server.tlsURL("file")])
            #expect(status == 0 && said.contains("1 server trusted no longer"), "\(said)")
            try await house.open("u")
            let asked = try await house.isAsked("u")
            #expect(asked["keyChanged"] == false, "\(asked)")
        }

        /// RFC 6797 section 8.4.
        @Test(.timeLimit(.minutes(1))) func aHostThatIsKnownForHSTSIsNotTrustedByItsKey() async throws {
            let house = try await House()
            try await house.open("s")
            try await house.trust(in: "s")
            let authority = try #require(house.server.certificates?.authority)
            try await house.open("learns", ["hsts": true, "caFile": .string(authority)])
            try await house.isTrusted(in: "learns")
            try await house.open("obeys", ["hsts": true, "asks": ["challenge"]])
            try await house.isRefused("obeys")
        }
    }
}

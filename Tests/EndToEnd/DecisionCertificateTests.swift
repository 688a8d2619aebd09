import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// `asks`: a TLS server that wants a client certificate gets the one that its owner chooses, before it sees the
    /// request.
    @Suite(.enabled(if: Requirements.has("nginx", "openssl")))
    struct DecisionsOfCertificates {
        private struct House {
            let server: Nginx
            let scene: Scene
            let authority: String

            /// A server that accepts certificates of its own authority, and answers with the name in them.
            init(_ tls: String) async throws {
                scene = try await Scene()
                server = try await Nginx.start(
                    tls: true,
                    extra: """
                        ssl_protocols \(tls); ssl_verify_client on; ssl_client_certificate ca.pem;
                        location = /who { return 200 "$ssl_client_s_dn"; }
                        """)
                authority = try #require(server.certificates?.authority)
                try await scene.probe.call(
                    "session.open",
                    ["id": "s", "configuration": ["asks": ["challenge"], "caFile": .string(authority)]])
            }

            /// Makes a certificate of the server's authority, whose key has a pass phrase.
            func identify(as name: String) async throws {
                let folder = scene.folder
                try await Program.require([
                    "openssl", "req", "-newkey", "rsa:2048", "-keyout", folder.file("own.key"), "-passout",
                    "pass:opensesame", "-out", folder.file("own.csr"), "-subj", "/CN=\(name)",
                ])
                try await Program.require([
                    "openssl", "x509", "-req", "-in", folder.file("own.csr"), "-CA", authority, "-CAkey",
                    server.folder.file("ca.key"), "-CAcreateserial", "-out", folder.file("own.pem"), "-days", "30",
                ])
            }

            func add(_ name: String) async throws -> Int64 {
                try await scene.probe.add(
                    server.tlsURL("who"), to: scene.file(name), Scene.quickRetry, session: "s")
            }

            func question(_ id: Int64) async throws -> JSONValue {
                var found: JSONValue?
                _ = try await eventually {
                    let list = try await scene.probe.call("decision.list", ["tasks": [.integer(id)]])
                    found = list["decisions"]?.arrayValue?.first
                    return found != nil
                }
                if let found { return found }
                throw SupportError("task \(id) asks nothing: \(try await scene.probe.task(id))")
            }

            func answer(
                _ question: JSONValue, _ action: String, _ credential: [String: JSONValue]? = nil
            ) async throws {
                var parameters: [String: JSONValue] = ["id": question["decision"] ?? .null, "action": .string(action)]
                if let credential { parameters["credential"] = .object(credential) }
                try await scene.probe.call("decision.answer", .object(parameters))
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["TLSv1.2", "TLSv1.3"])
        func theServerHearsNothingBeforeTheAnswer(tls: String) async throws {
            let house = try await House(tls)
            try await house.identify(as: "anna")
            let id = try await house.add("file")
            let asked = try await house.question(id)
            #expect(asked["protectionSpace", "method"] == "clientCertificate" && asked["default"] == "wait", "\(asked)")
            // Unusable certificates are refused, and the question stays open.
            let missing: JSONValue = .string(house.scene.file("nosuch.pem"))
            await #expect(throws: RPCFailure.self) {
                try await house.answer(asked, "useCredential", ["certificate": missing])
            }
            #expect(try await house.question(id) == asked)
            let names = asked["distinguishedNames"]?.arrayValue?.compactMap { $0.stringValue.map(Base64Text.decode) }
            #expect(names?.count == 1 && names?[0].contains(Array("Test authority".utf8)) == true, "\(asked)")
            #expect(house.server.accessLog.isEmpty, "\(house.server.accessLog)")
            let wrong: [[String: JSONValue]] = [
                ["username": "a", "password": "b"], ["certificate": "own.pem"], ["key": "/k"],
                ["certificate": "/c", "username": "a"],
            ]
            for credential in wrong {
                let refused = try await #require(throws: RPCFailure.self) {
                    try await house.answer(asked, "useCredential", credential)
                }
                #expect(refused.code == "request.bad_field", "\(credential): \(refused)")
            }
            // A certificate that could not be shown is refused too.
            let (own, key) = (
                JSONValue.string(house.scene.file("own.pem")), JSONValue.string(house.scene.file("own.key"))
            )
            let others: JSONValue = .string(house.server.folder.file("ca.key"))
            let unusable: [(field: String, credential: [String: JSONValue])] = [
                ("password", ["certificate": own, "key": key, "password": "wrong"]),
                ("password", ["certificate": own, "key": key]), ("key", ["certificate": own]),
                ("key", ["certificate": own, "key": others]), ("key", ["certificate": own, "key": own]),
                ("certificate", ["certificate": key, "key": key, "password": "opensesame"]),
            ]
            for (field, credential) in unusable {
                let refused = try await #require(throws: RPCFailure.self) {
                    try await house.answer(asked, "useCredential", credential)
                }
                #expect(refused.code == "request.bad_field", "\(refused)")
                #expect(refused.message.hasPrefix("credential.\(field): "), "\(refused)")
            }
            try await house.answer(
                asked, "useCredential",
                [
                    "certificate": .string(house.scene.file("own.pem")), "key": .string(house.scene.file("own.key")),
                    "password": "opensesame",
                ])
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try Files.text(house.scene.file()) == "CN=anna")
            let told = try await house.scene.probe.line("events.list", ["after": "start"])
            #expect(!told.contains("opensesame") && !house.scene.daemon.log.contains("opensesame"))
        }

        @Test(.timeLimit(.minutes(1))) func withoutOneTheServerIsAskedAllTheSame() async throws {
            let house = try await House("TLSv1.2 TLSv1.3")
            let id = try await house.add("file")
            try await house.answer(try await house.question(id), "performDefaultHandling")
            let task = try await house.scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status" && task["error", "details", "status"] == 400, "\(task)")
        }

        @Test(.timeLimit(.minutes(1))) func thePersonAnswersOnTheCommandLine() async throws {
            let house = try await House("TLSv1.3")
            try await house.identify(as: "bert")
            let id = try await house.add("file")
            let asked = try await house.question(id)["decision"]?.integerValue ?? 0
            let (listed, output) = try await house.scene.daemon.dlctl(["decisions"])
            #expect(
                listed == 0 && output.contains("dlctl answer \(asked) useCredential --certificate FILE"), "\(output)")
            try Files.write(house.scene.file("phrase"), "opensesame\n", mode: 0o600)
            let (status, said) = try await house.scene.daemon.dlctl([
                "answer", "\(asked)", "useCredential", "--certificate", house.scene.file("own.pem"), "--key",
                house.scene.file("own.key"), "--password-file", house.scene.file("phrase"),
            ])
            #expect(status == 0, "\(said)")
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try Files.text(house.scene.file()) == "CN=bert")
        }

        /// It is shown to the server that wanted it, and a task with its own certificate is not asked.
        @Test(.timeLimit(.minutes(1))) func aTaskWithACertificateOfItsOwnIsNotAsked() async throws {
            let house = try await House("TLSv1.3")
            try await house.identify(as: "anna")
            let id = try await house.scene.probe.add(
                house.server.tlsURL("who"), to: house.scene.file(),
                [
                    "clientCertificate": [
                        "certificate": .string(house.scene.file("own.pem")),
                        "key": .string(house.scene.file("own.key")), "password": "opensesame",
                    ]
                ], session: "s")
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try Files.text(house.scene.file()) == "CN=anna")
        }
    }
}

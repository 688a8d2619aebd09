import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// `asks`: trust in a TLS server, and the client certificate for it, are decided before it sees the request.
    @Suite(.enabled(if: Requirements.has("nginx", "openssl")))
    struct DecisionsOfTLS {
        /// A server with an unknown authority, and a session that asks.
        fileprivate struct House {
            let server: Nginx
            let scene: Scene

            init(http: String = "", extra: String = "") async throws {
                server = try await Nginx.start(tls: true, http: http, extra: extra)
                try server.publish("file", Content(seed: 5, size: 100_000))
                scene = try await Scene()
                try await scene.probe.call("session.open", DecisionsOfTLS.asking("s"))
            }

            func add(_ url: String? = nil, to name: String = "file", session: String? = "s") async throws -> Int64 {
                try await scene.probe.add(
                    url ?? server.tlsURL("file"), to: scene.file(name), Scene.quickRetry, session: session)
            }
        }

        private static func asking(_ session: String) -> JSONValue {
            ["id": .string(session), "configuration": ["asks": ["challenge"]]]
        }

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

        @discardableResult
        private func answer(
            _ question: JSONValue, _ action: String, _ scene: Scene, _ more: [String: JSONValue] = [:]
        ) async throws -> JSONValue {
            let parameters: [String: JSONValue] = ["id": question["decision"] ?? .null, "action": .string(action)]
            return try await scene.probe.call("decision.answer", .object(parameters.merging(more) { $1 }))
        }

        private func refusal(_ body: () async throws -> JSONValue) async -> String? {
            do { return "answered \(try await body())" } catch { return (error as? RPCFailure)?.code }
        }

        /// Makes another key and a self-signed certificate for the server `name`.
        private static func certificate(
            _ name: String, in folder: TemporaryFolder, as file: String, days: String = "30"
        ) async throws {
            let (key, request) = (folder.file(file + ".key"), folder.file(file + ".csr"))
            try await Program.require([
                "openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", key, "-out", request, "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
            ])
            try await Program.require([
                "openssl", "x509", "-req", "-in", request, "-signkey", key, "-out", folder.file(file + ".pem"), "-days",
                days, "-copy_extensions", "copy",
            ])
        }

        // MARK: Server trust

        @Test(.timeLimit(.minutes(1))) func anUntrustedServerHearsNothingBeforeTheAnswer() async throws {
            var house = try await House()
            let certificate = try #require(house.server.certificates).certificate
            let id = try await house.add()
            let asked = try await question(id, house.scene)
            #expect(asked["kind"] == "challenge" && asked["default"] == "reject" && asked["keyChanged"] == false)
            #expect(
                asked["protectionSpace"] == [
                    "host": "localhost", "port": .integer(Int64(house.server.tlsPort)), "protocol": "https",
                    "method": "serverTrust", "isProxy": false,
                ], "\(asked)")
            #expect(asked["reason"]?.stringValue?.contains("issuer certificate") == true, "\(asked)")
            let der = try await Program.run([
                "sh", "-c", "openssl x509 -in '\(certificate)' -outform der | openssl base64 -A",
            ]).output
            #expect(asked["certificates"] == [.string(der)], "\(asked)")
            let key = try await Program.run([
                "sh", "-c",
                "openssl x509 -in '\(certificate)' -noout -pubkey | openssl pkey -pubin -outform der "
                    + "| openssl dgst -sha256 -binary | openssl base64 -A",
            ]).output
            #expect(asked["key"] == .string("sha256//" + key), "\(asked)")
            let task = try await house.scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "authentication", "\(task)")
            #expect(house.server.accessLog.isEmpty, "\(house.server.accessLog)")
            house = try await house.restarted()
            #expect(try await question(id, house.scene) == asked)
            try await answer(asked, "trust", house.scene)
            try await house.scene.probe.wait(for: id, "completed")
            #expect(house.server.accessLog.count == 1)
            // All tasks of the session trust it, also after a restart. No other task does, whatever connections exist.
            try await house.scene.probe.wait(for: try await house.add(to: "second"), "completed")
            house = try await house.restarted()
            try await house.scene.probe.wait(for: try await house.add(to: "third"), "completed")
            let quiet = try await house.add(to: "quiet", session: nil)
            #expect(try await house.scene.probe.wait(for: quiet, "failed").errorCode == "tls.untrusted")
            try await house.scene.probe.call("session.open", Self.asking("t"))
            let other = try await house.add(to: "other", session: "t")
            try await answer(try await question(other, house.scene), "performDefaultHandling", house.scene)
            #expect(try await house.scene.probe.wait(for: other, "failed").errorCode == "tls.untrusted")
            #expect(house.server.accessLog.count == 3, "\(house.server.accessLog)")
        }

        /// A server that records every byte that reaches it inside the encryption.
        @Test(.timeLimit(.minutes(1))) func noByteComesToAServerThatIsNotTrusted() async throws {
            let scene = try await Scene()
            try await scene.probe.call("session.open", Self.asking("s"))
            try await Self.certificate("localhost", in: scene.folder, as: "server")
            let port = try ListeningSocket.freePort()
            let server = try Program(
                [
                    "sh", "-c",
                    "tail -f /dev/null | openssl s_server -quiet -accept 127.0.0.1:\(port) "
                        + "-cert '\(scene.file("server.pem"))' -key '\(scene.file("server.key"))'",
                ], output: scene.file("seen"))
            #expect(await eventually { ServerProcess.accepts(port) })
            let id = try await scene.probe.add(
                "https://localhost:\(port)/file", to: scene.file(), Scene.quickRetry, session: "s")
            let asked = try await question(id, scene)
            #expect(asked["reason"]?.stringValue?.contains("self-signed") == true, "\(asked)")
            let seen = { (try? Files.text(scene.file("seen"))) ?? "" }
            #expect(!seen().contains("GET") && !seen().contains("/file"), "\(seen())")
            try await answer(asked, "trust", scene, ["persistence": "none"])
            #expect(await eventually { seen().contains("GET /file HTTP/1.1") }, "\(seen())")
            #expect(server.isRunning)
        }

        @Test(.timeLimit(.minutes(1))) func anotherKeyIsAskedForAnew() async throws {
            var house = try await House()
            let folder = house.server.folder
            let old = (try Files.text(folder.file("server.pem")), try Files.text(folder.file("server.key")))
            let first = try await house.add()
            let asked = try await question(first, house.scene)
            try await answer(asked, "trust", house.scene)
            try await house.scene.probe.wait(for: first, "completed")
            house = try await house.withAnotherKey()
            let before = house.server.accessLog.count
            let id = try await house.add(to: "second")
            let again = try await question(id, house.scene)
            #expect(again["keyChanged"] == true && again["key"] != asked["key"], "\(again)")
            #expect(house.server.accessLog.count == before)
            let output = try await house.scene.daemon.dlctl(["decisions"]).output
            #expect(output.contains("shows another key") && output.contains(again["key"]?.stringValue ?? "?"))
            #expect(output.contains("dlctl answer \(again["decision"]?.integerValue ?? 0) trust"), "\(output)")
            // If the new key is not trusted, only the first one is still trusted.
            try await answer(again, "performDefaultHandling", house.scene)
            #expect(try await house.scene.probe.wait(for: id, "failed").errorCode == "tls.untrusted")
            #expect(house.server.accessLog.count == before)
            let third = try await house.add(to: "third")
            let last = try await question(third, house.scene)
            let (status, said) = try await house.scene.daemon.dlctl([
                "answer", "\(last["decision"]?.integerValue ?? 0)", "trust",
            ])
            #expect(status == 0, "\(said)")
            try await house.scene.probe.wait(for: third, "completed")
            // Both keys are trusted from now on, as for one name that several machines serve in turn.
            try await house.server.restart(certificate: old.0, key: old.1)
            try await house.scene.probe.wait(for: try await house.add(to: "fourth"), "completed")
        }

        @Test(.timeLimit(.minutes(1))) func trustForOneTaskIsOfThatTask() async throws {
            let house = try await House()
            let first = try await house.add()
            let asked = try await question(first, house.scene)
            let credential: JSONValue = ["username": "a", "password": "b"]
            let code = await refusal { try await answer(asked, "trust", house.scene, ["credential": credential]) }
            #expect(code == "request.bad_field")
            #expect(await refusal { try await answer(asked, "useCredential", house.scene) } == "request.bad_field")
            try await answer(asked, "trust", house.scene, ["persistence": "none"])
            #expect(
                try await answer(asked, "trust", house.scene, ["persistence": "none"])["task"] == .integer(first))
            #expect(await refusal { try await answer(asked, "trust", house.scene) } == "decision.gone")
            try await house.scene.probe.wait(for: first, "completed")
            let second = try await house.add(to: "second")
            try await answer(try await question(second, house.scene), "cancel", house.scene)
            try await house.scene.probe.wait(for: second, "cancelled")
            // An ended session trusts nobody when it is opened again.
            let third = try await house.add(to: "third")
            try await answer(try await question(third, house.scene), "trust", house.scene)
            try await house.scene.probe.wait(for: third, "completed")
            try await house.scene.probe.call("session.invalidate", ["id": "s"])
            try await house.scene.probe.call("session.open", Self.asking("s"))
            _ = try await question(try await house.add(to: "fourth"), house.scene)
        }

        /// Other faults besides an unknown issuer make no difference.
        @Test(.timeLimit(.minutes(1)), arguments: ["wrong name", "expired"])
        func otherFaultsAreAskedAbout(fault: String) async throws {
            let folder = try TemporaryFolder()
            chmod(folder.path, 0o755)
            let port = try ListeningSocket.freePort()
            let isWrong = fault == "wrong name"
            try await Self.certificate(
                isWrong ? "elsewhere.example" : "localhost", in: folder, as: "server", days: isWrong ? "30" : "-1")
            let house = try await House(
                http: """
                    server {
                      listen 127.0.0.1:\(port) ssl; ssl_certificate \(folder.file("server.pem"));
                      ssl_certificate_key \(folder.file("server.key")); return 200 "given";
                    }
                    """)
            // Verification finds no other fault.
            let id = try await house.scene.probe.add(
                "https://localhost:\(port)/", to: house.scene.file(),
                Scene.quickRetry.merging(["caFile": .string(folder.file("server.pem"))]) { $1 }, session: "s")
            let asked = try await question(id, house.scene)
            let mark = isWrong ? "name" : "expired"
            #expect(asked["reason"]?.stringValue?.contains(mark) == true, "\(asked)")
            #expect(house.server.accessLog.isEmpty)
            try await answer(asked, "trust", house.scene)
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try Files.text(house.scene.file()) == "given")
        }

        /// An administrator sees the question and may refuse.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon needs root"))
        func onlyTheOwnerTrusts() async throws {
            let server = try await Nginx.start(tls: true)
            let daemon = try await DaemonProcess.started(["--system"])
            chmod(daemon.socket, 0o666)
            let (anna, root) = (try await daemon.probe(uid: IsolationHouse.anna), try await daemon.probe())
            try await anna.call("session.open", Self.asking("s"))
            let home = daemon.stateFolder + "/files/\(IsolationHouse.anna)"
            let id = try await anna.add(server.tlsURL("file"), to: home + "/file", Scene.quickRetry, session: "s")
            var asked: JSONValue?
            _ = try await eventually {
                asked = try await root.call("decision.list", ["owner": "*"])["decisions"]?.arrayValue?.first
                return asked != nil
            }
            let number = asked?["decision"] ?? .null
            let refused = await refusal { try await root.call("decision.answer", ["id": number, "action": "trust"]) }
            #expect(refused == "permission.denied")
            try await root.call("decision.answer", ["id": number, "action": "performDefaultHandling"])
            #expect(try await anna.wait(for: id, "failed").errorCode == "tls.untrusted")
            #expect(server.accessLog.isEmpty)
        }

        /// Credentials and requests wait for trust at each place to which a request leads.
        @Test(.timeLimit(.minutes(1))) func aRedirectLeadsToAnotherQuestion() async throws {
            let house = try await House()
            house.scene.origin.serve("/away", .redirect(to: house.server.tlsURL("file")))
            let id = try await house.add(house.scene.origin.url("/away"))
            let asked = try await question(id, house.scene)
            #expect(asked["protectionSpace", "port"] == .integer(Int64(house.server.tlsPort)), "\(asked)")
            #expect(house.server.accessLog.isEmpty)
            try await answer(asked, "trust", house.scene)
            try await house.scene.probe.wait(for: id, "completed")
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("squid", "htpasswd")))
        func theQuestionComesThroughAProxy() async throws {
            let proxy = try await Squid.start()
            let house = try await House()
            let id = try await house.scene.probe.add(
                house.server.tlsURL("file"), to: house.scene.file(), ["proxy": .string(proxy.url())], session: "s")
            let asked = try await question(id, house.scene)
            #expect(asked["protectionSpace", "method"] == "serverTrust", "\(asked)")
            try await answer(asked, "trust", house.scene)
            try await house.scene.probe.wait(for: id, "completed")
        }
    }
}

extension EndToEnd.Asking.DecisionsOfTLS.House {
    fileprivate init(_ server: Nginx, _ scene: Scene) {
        self.server = server
        self.scene = scene
    }

    fileprivate func restarted() async throws -> Self { Self(server, try await scene.restarted()) }

    /// Restarts the server with another key, issued by another authority.
    fileprivate func withAnotherKey() async throws -> Self {
        try await server.renewCertificates()
        return self
    }
}

import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Negotiate against Apache servers of one realm (RFC 4559).
    @Suite(
        .enabled(if: Requirements.has("apache2", "krb5kdc", "kdb5_util", "kadmin.local", "kinit")),
        SharedServer { try await KerberosRealm.start() })
    struct Negotiates {
        let realm: KerberosRealm
        let server: KerberosApache
        let content = Content(seed: 4, size: 100_000)

        init() async throws {
            realm = try SharedServer<KerberosRealm>.current
            server = try await KerberosApache.start(in: realm)
            try server.publish("file", content)
        }

        /// - Parameter cache: with tickets.
        private func scene(_ arguments: [String] = [], cache: String? = nil) async throws -> Scene {
            try await Scene(arguments, environment: realm.environment(cache: cache))
        }

        private func space(_ more: [String: JSONValue] = [:]) -> JSONValue {
            let own: [String: JSONValue] = [
                "host": "127.0.0.1", "port": .integer(Int64(server.port)), "protocol": "http",
            ]
            return .object(own.merging(more) { $1 })
        }

        private func login(
            _ user: String = KerberosRealm.user, _ password: String = KerberosRealm.password
        ) -> [String: JSONValue] { ["username": .string(user), "password": .string(password)] }

        private func add(
            _ scene: Scene, to name: String = "file", _ more: [String: JSONValue] = [:], from url: String? = nil,
            session: String? = nil
        ) async throws -> Int64 {
            try await scene.probe.add(
                url ?? server.url(), to: scene.file(name), Scene.quickRetry.merging(more) { $1 }, session: session)
        }

        private var statuses: [Int] { server.traffic.map(\.status) }
        private static let principal = KerberosRealm.user + "@" + KerberosRealm.name

        // MARK: Questions

        /// The question survives `kill -9`; a mistyped password is asked for again; the tickets leave no file.
        @Test(.timeLimit(.minutes(1))) func aPasswordIsAskedFor() async throws {
            var scene = try await scene()
            try await scene.openAsking(["challenge"])
            let id = try await add(scene, session: "s")
            let asked = try await scene.question(id)
            #expect(asked["protectionSpace"] == space(["method": "negotiate", "isProxy": false]), "\(asked)")
            #expect(asked["previousFailureCount"] == 0 && asked["response", "status"] == 401, "\(asked)")
            scene = try await scene.restarted()
            try await scene.answer(asked, "useCredential", ["credential": .object(login("anna", "Zq7wrongqZ"))])
            let again = try await scene.question(id, after: asked)
            #expect(again["protectionSpace", "method"] == "negotiate", "\(again)")
            #expect(again["previousFailureCount"] == 1 && again["proposedUser"] == "anna", "\(again)")
            #expect(again["reason"]?.stringValue?.isEmpty == false, "\(again)")
            let shown = try await scene.daemon.dlctl(["decisions"]).output
            #expect(shown.contains("Negotiate") && shown.contains("Kerberos says"), "\(shown)")
            // The password of nobody is sent in vain.
            #expect(server.traffic.allSatisfy { $0.scheme == "-" }, "\(server.traffic)")
            try await scene.answer(again, "useCredential", ["credential": .object(login())])
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(server.traffic.last?.user == Self.principal && server.traffic.last?.scheme == "Negotiate")
            #expect(!Files.exists(realm.folder.file("no-tickets")))
            for secret in ["Zq7", "YII"] { #expect(!scene.daemon.log.contains(secret)) }
        }

        /// `performDefaultHandling` is the daemon's own tickets, `rejectProtectionSpace` is nothing.
        @Test(.timeLimit(.minutes(1))) func defaultHandlingHasTickets() async throws {
            let scene = try await scene(cache: try await realm.login())
            try await scene.openAsking(["challenge"])
            let id = try await add(scene, session: "s")
            try await scene.answer(try await scene.question(id), "performDefaultHandling")
            try await scene.probe.wait(for: id, "completed")
            #expect(server.traffic.last?.user == Self.principal)
            let other = try await add(scene, to: "other", session: "s")
            try await scene.answer(try await scene.question(other), "rejectProtectionSpace")
            #expect(try await scene.probe.wait(for: other, "failed").errorCode == "auth.required")
        }

        // MARK: Nobody is asked

        /// Any status is an answer, but not where a ticket helps.
        @Test(.timeLimit(.minutes(1))) func ticketsServeWhereNobodyIsAsked() async throws {
            let scene = try await scene(cache: try await realm.login())
            let id = try await add(scene)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()) && task["attempts"] == 2, "\(task)")
            #expect(server.traffic.last?.user == Self.principal, "\(server.traffic)")
            let data = try await scene.probe.add([
                ["kind": "data", "url": .string(server.url()), "acceptsAnyStatus": true]
            ])[0]
            #expect(try await scene.probe.wait(for: data, "completed")["response", "status"] == 200)
            let features = try await scene.probe.call("daemon.info")["features"]?.arrayValue ?? []
            #expect(features.contains("decisions.challenge.negotiate"))
        }

        /// A server takes no token twice: each request has its own, also those of segments.
        @Test(.timeLimit(.minutes(1))) func noTokenIsSentTwice() async throws {
            let scene = try await scene(cache: try await realm.login())
            let resource = Resource.version(1, size: 32 << 20)
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("Authorization")?.hasPrefix("Negotiate YII") == true
                        ? .good(resource, rate: 4 << 20) : .status(401, [("WWW-Authenticate", "Negotiate")])
                })
            let id = try await scene.add("/file", to: "file", ["connections": 4])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            let sent = scene.origin.requests("/file").compactMap { $0.request.header("Authorization") }
            #expect(sent.count >= 4 && Set(sent).count == sent.count, "\(sent.count)")
            // A server may take the whole connection as proved: it serves nobody else.
            scene.origin.serve("/open", .good(.version(1, size: 5000)))
            try await scene.probe.wait(for: try await scene.add("/open", to: "open"), "completed")
            let proved = scene.origin.requests("/file").filter { $0.request.header("Authorization") != nil }
            let connections = Set(proved.map(\.request.connection))
            #expect(scene.origin.requests("/open").allSatisfy { !connections.contains($0.request.connection) })
        }

        /// Task, store and helper have the password; the tickets of the daemon's user are another user's here.
        @Test(.timeLimit(.minutes(1)), arguments: ["task", "store", "helper"])
        func aPasswordGoesBeforeNothingElse(source: String) async throws {
            let folder = try TemporaryFolder()
            let words = "username=\(KerberosRealm.other)\\npassword=\(KerberosRealm.otherPassword)\\n"
            try Files.write(
                folder.file("helper"), "#!/bin/sh\n[ $1 = get ] && printf '\(words)'\n", mode: 0o700)
            let scene = try await scene(
                source == "helper" ? ["--set", "credentialHelper=\(folder.file("helper"))"] : [],
                cache: source == "helper" ? nil : try await realm.login())
            let other = login(KerberosRealm.other, KerberosRealm.otherPassword)
            if source == "store" {
                try await scene.probe.call(
                    "credentials.set", ["protectionSpace": space(), "credential": .object(other)])
            }
            let id = try await add(scene, source == "task" ? other : [:])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.traffic.last?.user == "\(KerberosRealm.other)@\(KerberosRealm.name)", "\(server.traffic)")
            #expect(statuses == [401, 200])
        }

        /// What Kerberos says is in the error, and in `explain`.
        @Test(.timeLimit(.minutes(1))) func whatIsMissingIsSaid() async throws {
            let scene = try await scene()
            let none = try await add(scene, to: "none")
            let task = try await scene.probe.wait(for: none, "failed")
            #expect(task.errorCode == "auth.required", "\(task)")
            #expect(task["error", "details", "kerberos"]?.stringValue?.contains("no-tickets") == true, "\(task)")
            let explained = try await scene.daemon.dlctl(["explain", "\(none)"]).output
            #expect(explained.contains("Kerberos says"), "\(explained)")
            for user in ["anna@\(KerberosRealm.absent)", "anna@NOWHERE.TEST", "nobody"] {
                let id = try await add(scene, to: user, login(user, "x"))
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == "auth.required", "\(task)")
                let said = task["error", "details", "kerberos"]?.stringValue ?? ""
                #expect(said.contains(user.split(separator: "@").last ?? ""), "\(said)")
            }
            #expect(Set(statuses) == [401])
        }

        /// A realm that is not reached refuses nobody: what is stored stays good.
        @Test(.timeLimit(.minutes(1))) func onlyARefusedCredentialIsNotSentAgain() async throws {
            let scene = try await scene()
            for (user, isRefused) in [("anna@\(KerberosRealm.absent)", false), (KerberosRealm.user, true)] {
                try await scene.probe.call(
                    "credentials.set", ["protectionSpace": space(), "credential": .object(login(user, "wrong"))])
                try await scene.probe.wait(for: try await add(scene, to: user), "failed")
                let stored = try await scene.probe.call("credentials.list")["credentials"]?.arrayValue ?? []
                #expect(stored.first { $0["username"] == .string(user) }?["isRefused"] == .bool(isRefused), "\(stored)")
                try await scene.probe.call("credentials.remove", ["protectionSpace": space()])
            }
        }

        // MARK: Others

        /// Without tickets and without a realm, Basic is what it was. With tickets it is not needed.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func basicServesWhereKerberosDoesNot(hasRealm: Bool) async throws {
            let scene = try await Scene(
                environment: hasRealm ? realm.environment() : ["KRB5_CONFIG": "/dev/null", "KRB5CCNAME": "MEMORY:none"])
            try await scene.probe.call(
                "credentials.set",
                ["protectionSpace": space(["method": "httpBasic"]), "credential": .object(login())])
            let id = try await add(scene, from: server.bothURL())
            try await scene.probe.wait(for: id, "completed")
            #expect(server.traffic.map(\.scheme) == ["-", "Basic"], "\(server.traffic)")
            try await scene.openAsking(["challenge"])
            let asking = try await add(scene, to: "asking", from: server.bothURL(), session: "s")
            let asked = try await scene.question(asking)
            #expect(asked["protectionSpace", "method"] == .string(hasRealm ? "negotiate" : "httpBasic"), "\(asked)")
            // A realm that does not answer: the server is told in the other way, if the client says so.
            let user = hasRealm ? "anna@\(KerberosRealm.absent)" : KerberosRealm.user
            try await scene.answer(
                asked, "useCredential", ["credential": .object(login(user))])
            if hasRealm {
                let next = try await scene.question(asking, after: asked)
                #expect(next["protectionSpace", "method"] == "httpBasic" && next["reason"] != nil, "\(next)")
                try await scene.answer(next, "useCredential", ["credential": .object(login())])
            }
            try await scene.probe.wait(for: asking, "completed")
            #expect(server.traffic.last?.scheme == "Basic")
        }

        /// A credential for any method goes by Negotiate, and by Basic if Kerberos is no help.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func whatKerberosCannotUseGoesByBasic(isAbsent: Bool) async throws {
            let scene = try await scene()
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("Authorization")?.hasPrefix("Basic ") == true
                        ? .good(.version(1, size: 5000))
                        : .status(
                            401, [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", "Basic realm=\"test\"")])
                })
            let user = isAbsent ? "anna@\(KerberosRealm.absent)" : KerberosRealm.user
            try await scene.probe.call(
                "credentials.set",
                [
                    "protectionSpace": [
                        "host": "127.0.0.1", "port": .integer(Int64(scene.origin.port)), "protocol": "http",
                    ],
                    "credential": .object(login(user)),
                ])
            try await scene.probe.wait(for: try await scene.add(), "completed")
            let schemes = scene.origin.requests("/file").map {
                $0.request.header("Authorization")?.prefix { $0 != " " } ?? "-"
            }
            #expect(schemes == ["-", isAbsent ? "-" : "Negotiate", "Basic"])
        }

        /// A realm that says nothing holds up neither its task's end nor other tasks.
        @Test(.timeLimit(.minutes(1))) func aSilentRealmHoldsNobodyUp() async throws {
            let scene = try await scene()
            let silent = login("anna@" + KerberosRealm.silent, "x")
            var held: [Int64] = []
            for name in ["one", "two"] { held.append(try await add(scene, to: name, silent)) }
            for id in held {
                #expect(
                    try await eventually {
                        let task = try await scene.probe.task(id)
                        return task["state"] == "running" && task["attempts"] == 2
                    })
            }
            try await scene.probe.wait(for: try await add(scene, to: "three", login()), "completed")
            for (id, action, state) in [(held[0], "task.cancel", "cancelled"), (held[1], "task.pause", "paused")] {
                try await scene.probe.call(action, ["ids": [.integer(id)]])
                #expect(try await scene.probe.task(id)["state"] == .string(state))
            }
            #expect(statuses == [401, 401, 401, 200])
        }

        /// Neither a ticket nor a password leaves its origin.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func anotherHostGetsNoToken(hasTickets: Bool) async throws {
            let scene = try await scene(cache: hasTickets ? try await realm.login() : nil)
            let elsewhere = try MisbehavingOrigin()
            elsewhere.serve("/file", .good(.version(1, size: 5000)))
            let target = elsewhere.url("/file")
            scene.origin.serve(
                "/file",
                .choose { request in
                    request.header("Authorization")?.hasPrefix("Negotiate YII") == true
                        ? .redirect(to: target) : .status(401, [("WWW-Authenticate", "Negotiate")])
                })
            try await scene.probe.wait(for: try await scene.add(to: "file", hasTickets ? [:] : login()), "completed")
            #expect(elsewhere.requests("/file").map { $0.request.header("Authorization") } == [nil])
            let tokens = scene.origin.requests("/file").compactMap { $0.request.header("Authorization") }
            #expect(tokens.count == 1)
        }

        /// A refusal with a token wants a dialogue: that is said, and nothing is sent again.
        @Test(.timeLimit(.minutes(1))) func aDialogueIsNotHeld() async throws {
            let scene = try await scene(cache: try await realm.login())
            scene.origin.serve("/file", .status(401, [("WWW-Authenticate", "Negotiate oRQwEqADCgEB")]))
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task["error", "details", "kerberos"]?.stringValue?.contains("dialogue") == true, "\(task)")
            #expect(scene.origin.requests("/file").count == 2)
        }

        /// The source is sent whole after the challenge.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func anUploadSurvivesTheChallenge(hasTickets: Bool) async throws {
            let scene = try await scene(cache: hasTickets ? try await realm.login() : nil)
            let id = try await scene.upload(
                content, to: server.davURL("file"),
                ["uploadProtocol": "put"].merging(hasTickets ? [:] : login()) { $1 })
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == 201, "\(task)")
            #expect(content.matches(server.folder.file("dav/file")))
            #expect(await eventually { statuses == [401, 201] }, "\(server.traffic)")
        }

        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func aProxyWantsItToo(hasTickets: Bool) async throws {
            let scene = try await scene(cache: hasTickets ? try await realm.login() : nil)
            let way: [String: JSONValue] = ["proxy": .string(server.proxy)]
            if hasTickets {
                let id = try await add(scene, way, from: server.openURL())
                try await scene.probe.wait(for: id, "completed")
                return
            }
            try await scene.openAsking(["challenge"])
            let id = try await add(scene, way, from: server.openURL(), session: "s")
            let asked = try await scene.question(id)
            #expect(asked["protectionSpace"] == space(["method": "negotiate", "isProxy": true]), "\(asked)")
            try await scene.answer(asked, "useCredential", ["credential": .object(login())])
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
        }

        /// At CONNECT the proxy gets its token, and the server behind it gets none.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx", "openssl")))
        func aTunnelIsProved() async throws {
            let behind = try await Nginx.start(tls: true)
            try behind.publish("file", content)
            let scene = try await scene(cache: try await realm.login())
            let id = try await add(
                scene,
                [
                    "proxy": .string(server.proxy),
                    "caFile": .string(try #require(behind.certificates).authority),
                ], from: behind.tlsURL("file"))
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
        }

        /// Nobody's tickets serve the clients of a system daemon.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon needs root"))
        func aSystemDaemonHasNoTickets() async throws {
            let scene = try await scene(["--system"], cache: try await realm.login())
            let id = try await scene.probe.add([["kind": "data", "url": .string(server.url())]])[0]
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "auth.required")
            #expect(statuses == [401])
            let spec: [String: JSONValue] = ["kind": "data", "url": .string(server.url())]
            let own = try await scene.probe.add([.object(spec.merging(login()) { $1 })])[0]
            try await scene.probe.wait(for: own, "completed")
            #expect(server.traffic.last?.user == Self.principal)
        }
    }
}

import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel

extension EndToEnd.Remembering {
    /// Hosts that are reached over https only (RFC 6797), with nginx configured for that.
    @Suite(.enabled(if: Requirements.has("nginx", "openssl", "curl")))
    struct HSTS {
        /// A server that asks for HSTS, known as `localhost`, and a session that obeys. Its port is not 80, so the port
        /// stays.
        struct House {
            let server: Nginx
            var scene: Scene
            let authority: String

            init(_ header: String = "max-age=1000; includeSubDomains", extra: String = "") async throws {
                server = try await Nginx.start(
                    tls: true,
                    extra: """
                        location = /plain { return 200 plain; }
                        location / {
                            add_header Strict-Transport-Security "\(header)" always;
                            dav_methods PUT;
                        }
                        location = /echo {
                            add_header X-Method $request_method always;
                            add_header X-Jar $http_cookie always;
                            return 200 $scheme;
                        }
                        \(extra)
                        """)
                try server.publish("file", Content(seed: 5, size: 300_000))
                authority = try #require(server.certificates?.authority)
                scene = try await Scene()
                try await open("s")
            }

            func open(_ session: String, _ more: [String: JSONValue] = [:], kind: String = "background") async throws {
                let own: [String: JSONValue] =
                    ["caFile": .string(authority)].merging(kind == "background" ? ["hsts": true] : [:]) { $1 }
                try await scene.probe.call(
                    "session.open",
                    [
                        "id": .string(session), "kind": .string(kind),
                        "configuration": .object(own.merging(more) { $1 }),
                    ])
            }

            /// The server's TLS port over http; nginx answers 400 to that.
            func insecure(_ path: String) -> String { "http://localhost:\(server.tlsPort)/\(path)" }

            func add(
                _ url: String, to name: String = "file", _ more: [String: JSONValue] = [:], session: String = "s"
            ) async throws -> Int64 {
                try await scene.probe.add(
                    url, to: scene.file(name), Scene.quickRetry.merging(more) { $1 }, session: session)
            }

            /// Runs a data task and returns its answer's body.
            func ask(_ url: String, _ more: [String: JSONValue] = [:], session: String = "s") async throws -> JSONValue
            {
                let spec: [String: JSONValue] = ["kind": "data", "url": .string(url)]
                let id = try await scene.probe.add([.object(spec.merging(more) { $1 })], session: session)[0]
                return try await scene.probe.wait(for: id, "completed")
            }

            /// Fetches over https, so that the daemon learns.
            func learn(session: String = "s") async throws {
                let id = try await add(server.tlsURL("file"), to: "learned-\(session)", session: session)
                try await scene.probe.wait(for: id, "completed")
            }

            func known(_ session: String? = nil) async throws -> [JSONValue] {
                let which: JSONValue = session.map { ["session": .string($0)] } ?? [:]
                return try await scene.probe.call("hsts.list", which)["hosts"]?.arrayValue ?? []
            }
        }

        /// The first request goes over https, as task, events and log show, also after `kill -9`.
        @Test(.timeLimit(.minutes(1))) func aKnownHostIsReachedOverHTTPSAlone() async throws {
            var house = try await House()
            let before = try await house.add(house.insecure("file"), to: "before")
            #expect(try await house.scene.probe.wait(for: before, "failed").errorCode == "http.status")
            try await house.learn()
            house.scene = try await house.scene.restarted()
            let known = try await house.known()
            #expect(known.map { $0["domain"] } == ["localhost"] && known[0]["includesSubdomains"] == true, "\(known)")
            let id = try await house.add(house.insecure("file"), to: "after")
            let task = try await house.scene.probe.wait(for: id, "completed")
            #expect(task["response", "url"] == .string(house.server.tlsURL("file")), "\(task)")
            #expect(task["metrics"]?.arrayValue?.last?["tls", "version"]?.stringValue?.hasPrefix("TLS") == true)
            let events = try await house.scene.probe.storedEvents(
                ["tasks": [.integer(id)], "types": ["task.redirected"]])
            #expect(events.map { $0["url"] } == [.string(house.server.tlsURL("file"))], "\(events)")
            #expect(events.first?["status"] == 307 && events.first?["hsts"] == true)
            // The session `shared` is of kind `background`, which ignores HSTS by default.
            let other = try await house.add(house.insecure("file"), to: "other", session: "shared")
            #expect(try await house.scene.probe.wait(for: other, "failed").errorCode == "http.status")
        }

        /// A forgotten host is not secured, not even after a restart, until it asks again.
        @Test(.timeLimit(.minutes(1))) func aForgottenHostIsReachedAsItIsNamed() async throws {
            var house = try await House()
            try await house.learn()
            #expect(
                try await house.scene.probe.call("hsts.remove", ["domain": "localhost"])["removed"] == 1)
            house.scene = try await house.scene.restarted()
            #expect(try await house.known().isEmpty)
            let id = try await house.add(house.insecure("file"))
            #expect(try await house.scene.probe.wait(for: id, "failed").errorCode == "http.status")
            try await house.learn()
            #expect(try await house.scene.probe.control("retry", id))
            try await house.scene.probe.wait(for: id, "completed")
        }

        /// A port that speaks http alone: the task fails at once (RFC 6797 section 8.4), the error says who asked for https,
        /// and `explain` how that ends.
        @Test(.timeLimit(.minutes(1))) func aPortWithoutHTTPSIsExplained() async throws {
            let house = try await House()
            try await house.learn()
            let id = try await house.add("http://localhost:\(house.server.port)/plain", to: "plain")
            let task = try await house.scene.probe.wait(for: id, "failed")
            #expect(task["attempts"] == 1 && task["error", "retryable"] == false, "\(task)")
            #expect(
                task.errorCode == "tls.failed" && task["error", "details", "hsts", "domain"] == "localhost", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains("HSTS turned http into https: localhost") == true)
            let explained = try await house.scene.daemon.dlctl(["explain", "\(id)"]).output
            #expect(explained.contains("  dlctl hsts remove localhost\n"), "\(explained)")
            // A URL stands for its host.
            let removal = try await house.scene.daemon.dlctl(["hsts", "remove", "http://localhost:1/plain"])
            #expect(removal.status == 0)
            #expect(try await house.known().isEmpty)
            #expect(try await house.scene.probe.control("retry", id))
            try await house.scene.probe.wait(for: id, "completed")
        }

        /// A request keeps its method and body, and gets the server's cookies for https.
        @Test(.timeLimit(.minutes(1))) func theRequestGoesOnAsIfItHadNamedHTTPS() async throws {
            let house = try await House()
            try await house.open("jar", ["httpCookieStorage": "session"])
            try await house.learn(session: "jar")
            try await house.scene.probe.call(
                "cookies.set",
                [
                    "session": "jar",
                    "cookies": [["name": "k", "value": "v", "domain": "localhost", "secure": true]],
                ])
            let answer = try await house.ask(
                house.insecure("echo"),
                [
                    "method": "POST", "body": ["text": "hello"],
                ], session: "jar")
            let fields = answer["response", "headers"]?.arrayValue ?? []
            func value(_ name: String) -> JSONValue? {
                fields.first { $0.arrayValue?.first?.stringValue?.lowercased() == name }?.arrayValue?.last
            }
            #expect(value("x-method") == "POST" && value("x-jar") == "k=v", "\(fields)")
            let body = try await house.scene.probe.call("task.body", ["id": answer["id"] ?? .null])
            #expect(body["data"] == .string(Base64Text.encode(Array("https".utf8))))
        }

        /// Redirects too: if a server redirects to http, https is used.
        @Test(.timeLimit(.minutes(1)), arguments: ["download", "data"])
        func eachRedirectGoesOverHTTPS(kind: String) async throws {
            let house = try await House()
            try await house.learn()
            house.scene.origin.serve("/away", .redirect(to: house.insecure("file")))
            let url = house.scene.origin.url("/away")
            let id =
                kind == "download"
                ? try await house.add(url)
                : try await house.scene.probe.add([["kind": "data", "url": .string(url)]], session: "s")[0]
            let task = try await house.scene.probe.wait(for: id, "completed")
            #expect(task["response", "url"] == .string(house.server.tlsURL("file")), "\(task)")
            let events = try await house.scene.probe.storedEvents(
                ["tasks": [.integer(id)], "types": ["task.redirected"]])
            #expect(
                events.map { $0["url"] } == [
                    .string(house.insecure("file")), .string(house.server.tlsURL("file")),
                ])
            #expect(events.map { $0["hsts"] } == [nil, true] && events.map { $0["status"] } == [302, 307])
        }

        /// Segments, mirrors, uploads and streams are treated like everything else.
        @Test(.timeLimit(.minutes(1))) func everyKindOfTransfer() async throws {
            let house = try await House()
            try await house.learn()
            try house.server.publish("large", Content(seed: 6, size: 8 << 20))
            let parts = try await house.add(
                house.insecure("large"), to: "parts",
                ["connections": 4, "checksum": Content(seed: 6, size: 8 << 20).checksum])
            let served = try await house.scene.probe.wait(for: parts, "completed")
            #expect(served["response", "url"] == .string(house.server.tlsURL("large")))
            let mirrored = try await house.add(
                house.scene.origin.url("/nothing"), to: "mirrored", ["mirrors": [.string(house.insecure("file"))]])
            try await house.scene.probe.wait(for: mirrored, "completed")
            try Files.write(house.scene.file("source"), "sent")
            let upload = try await house.scene.probe.add(
                [
                    [
                        "kind": "upload", "uploadProtocol": "put", "url": .string(house.insecure("sent")),
                        "source": ["path": .string(house.scene.file("source"))],
                    ]
                ], session: "s")[0]
            try await house.scene.probe.wait(for: upload, "completed")
            #expect(try Files.text(house.server.folder.file("www/sent")) == "sent")
        }

        /// `default` sessions share their owner's list. An ephemeral session has its own, which never reaches the disk.
        @Test(.timeLimit(.minutes(1))) func anEphemeralSessionLearnsForItself() async throws {
            let house = try await House()
            for kind in ["default", "ephemeral"] { try await house.open(kind, kind: kind) }
            try await house.learn(session: "ephemeral")
            #expect(try await house.known().isEmpty)
            #expect(try await house.known("ephemeral").map { $0["domain"] } == ["localhost"])
            let own = try await house.add(house.insecure("file"), to: "own", session: "ephemeral")
            try await house.scene.probe.wait(for: own, "completed")
            let without = try await house.add(house.insecure("file"), to: "without", session: "default")
            #expect(try await house.scene.probe.wait(for: without, "failed").errorCode == "http.status")
            try await house.learn(session: "default")
            let shared = try await house.known()
            for session in ["default", "s"] { #expect(try await house.known(session) == shared) }
            let with = try await house.add(house.insecure("file"), to: "with", session: "s")
            try await house.scene.probe.wait(for: with, "completed")
        }

        /// The name of a host that an ephemeral session has learned is in no file of the daemon.
        @Test(.timeLimit(.minutes(1))) func nothingOfAnEphemeralSessionIsOnTheDisk() async throws {
            let house = try await House()
            let marker = "zq7ephemeral7qz.localhost"
            try await house.open("ephemeral", kind: "ephemeral")
            let certificate = house.scene.folder.file("marker")
            try await Program.require([
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", certificate + ".key", "-out", certificate, "-days", "30", "-subj", "/CN=\(marker)",
                "-addext", "subjectAltName=DNS:\(marker)",
            ])
            try await house.server.restart(
                certificate: try Files.text(certificate), key: try Files.text(certificate + ".key"))
            let id = try await house.add(
                "https://\(marker):\(house.server.tlsPort)/file", ["caFile": .string(certificate)], session: "ephemeral"
            )
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try await house.known("ephemeral").map { $0["domain"] } == [.string(marker)])
            let state = house.scene.daemon.stateFolder
            let found = try await Program.run(["grep", "-rlaF", "--devices=skip", "-s", "-e", marker, state])
            #expect(found.output.isEmpty, "\(found.output)")
        }

        /// `max-age=0` revokes the policy, and a field that does not conform is ignored.
        @Test(.timeLimit(.minutes(1)), arguments: ["max-age=0", "max-age=1; max-age=1", "preload"])
        func aFieldThatSaysNothing(field: String) async throws {
            let house = try await House(field)
            try await house.learn()
            #expect(try await house.known().isEmpty)
        }

        /// Nothing is learned from a server whose certificate a client trusts in place of verification.
        @Test(.timeLimit(.minutes(1))) func aTrustedKeyTeachesNothing() async throws {
            let house = try await House()
            try await house.open("asking", ["caFile": .null, "asks": ["challenge"]])
            let id = try await house.add(house.server.tlsURL("file"), session: "asking")
            let question = try await house.scene.question(id)
            try await house.scene.answer(question, "trust")
            try await house.scene.probe.wait(for: id, "completed")
            #expect(try await house.known().isEmpty)
            // The certificate of a known host does not become a question either (section 8.4).
            try await house.learn()
            try await house.open("later", ["caFile": .null, "asks": ["challenge"]])
            let refused = try await house.add(house.server.tlsURL("file"), to: "refused", session: "later")
            #expect(try await house.scene.probe.wait(for: refused, "failed").errorCode == "tls.untrusted")
        }

        /// A stored answer is found by the URL that would really be requested: answers over http are not used any more.
        @Test(.timeLimit(.minutes(1))) func theCacheIsAskedForTheHTTPSURL() async throws {
            let house = try await House()
            try await house.open("cached", kind: "default")
            house.scene.origin.serve("/answer", .status(200, [("Cache-Control", "max-age=1000")], body: "plain"))
            let url = "http://localhost:\(house.scene.origin.port)/answer"
            for _ in 0..<2 { _ = try await house.ask(url, session: "cached") }
            #expect(house.scene.origin.requests("/answer").count == 1)
            try await house.learn(session: "cached")
            let spec: JSONValue = [
                "kind": "data", "url": .string(url), "requestCachePolicy": "returnCacheDataDontLoad",
            ]
            let id = try await house.scene.probe.add([spec], session: "cached")[0]
            #expect(try await house.scene.probe.wait(for: id, "failed").errorCode == "cache.miss")
        }

        // MARK: curl(1)

        /// Whether curl 7.88 stores the host after a field. It accepts some fields that do not conform (`isLax`).
        @Test(.timeLimit(.minutes(1))) func fieldsAreReadAsCurlReadsThem() async throws {
            let fields: [(field: String, isLax: Bool)] = [
                ("max-age=31536000", false), ("max-age=15768000 ; includeSubDomains", false),
                ("max-age=\\\"31536000\\\"", false), ("max-age=0", false), ("MAX-AGE=500;INCLUDESUBDOMAINS", false),
                ("includeSubDomains; max-age=500", false), ("max-age=500; preload", false), ("preload", false),
                ("includeSubDomains", false), ("max-age=", false), ("max-age=five", false),
                ("max-age=500; max-age=500", false), ("max-age=500; includeSubDomains; includeSubDomains", false),
                ("max-age=99999999999999999999999", false), ("max-age=\\\"500", false),
                // Section 6.1: a comma is not a semicolon; every directive occurs once, whatever its name, and has one
                // value.
                ("max-age=500 includeSubDomains", true), ("max-age=500; x; x", true), ("max-age=500x", true),
                ("max-age=500; includeSubDomains=1", true), ("max-age=500; =", true),
            ]
            let locations = fields.indices.map {
                "location = /f\($0) { add_header Strict-Transport-Security \"\(fields[$0].field)\" always; return 200; }"
            }
            let server = try await Nginx.start(tls: true, extra: locations.joined(separator: "\n"))
            let authority = try #require(server.certificates?.authority)
            for (index, (text, isLax)) in fields.enumerated() {
                let file = server.folder.file("hsts\(index)")
                try await Program.require([
                    "curl", "-sS", "-o", "/dev/null", "--cacert", authority, "--hsts", file, server.tlsURL("f\(index)"),
                ])
                let line = ((try? Files.text(file)) ?? "").split(separator: "\n").first { !$0.hasPrefix("#") }
                let said = StrictTransportSecurity(text.replacing("\\\"", with: "\""))
                let ours = said.flatMap { $0.maxAge > 0 ? $0 : nil }
                let curls = line.map { $0.hasPrefix(".") }
                #expect(
                    (curls == ours?.includesSubdomains) == !isLax,
                    "\(text): curl \(line ?? "nothing"), dld \(said as Any)")
            }
        }
    }
}

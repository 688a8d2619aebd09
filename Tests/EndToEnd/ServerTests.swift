import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Servers and proxies in real use.
    struct RealServers {
        private let content = Content(seed: 11, size: 8 << 20)

        private func complete(
            _ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:], name: String = "file"
        ) async throws -> JSONValue {
            let id = try await scene.probe.add(url, to: scene.file(name), Scene.quickRetry.merging(more) { $1 })
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file(name)))
            return task
        }

        private func failure(_ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:]) async throws -> String? {
            let id = try await scene.probe.add(
                url, to: scene.file("never"), ["retry": ["attempts": 1]].merging(more) { $1 })
            return try await scene.probe.wait(for: id, "failed").errorCode
        }

        /// Kills the daemon half-way, and expects that only the rest is requested.
        private func resumes(
            _ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            let id = try await scene.probe.add(
                url, to: scene.file(), Scene.quickRetry.merging(["rateLimit": 1_000_000]) { $1 }.merging(more) { $1 })
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            let scene = try await scene.restarted()
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            let resumed = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.resumed"]])
            return resumed.last?["offset"]?.integerValue ?? 0
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("nginx")))
        func nginxResumes() async throws {
            let server = try await Nginx.start()
            try server.publish("file", content)
            #expect(try await resumes(try await Scene(), server.url("file")) > 1 << 20)
            #expect(server.accessLog.last?.contains("206 ") == true)
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("nginx")))
        func nginxWithoutRangesOrValidatorsStartsOver() async throws {
            let server = try await Nginx.start(extra: "etag off; max_ranges 0; add_header Last-Modified \"\";")
            try server.publish("file", content)
            _ = try await resumes(try await Scene(), server.url("file"))
            #expect(server.accessLog.allSatisfy { $0.hasPrefix("200 ") })
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("nginx", "openssl")))
        func nginxOverTLSWithHTTP2() async throws {
            let server = try await Nginx.start(tls: true)
            try server.publish("file", content)
            let authority = try #require(server.certificates?.authority)
            let scene = try await Scene()
            _ = try await complete(
                scene, server.tlsURL("file"), ["caFile": .string(authority), "httpVersion": "2"], name: "h2")
            #expect(server.accessLog.last?.contains("HTTP/2.0") == true)
            _ = try await complete(
                scene, server.tlsURL("file"), ["caFile": .string(authority), "httpVersion": "1.1"], name: "h1")
            #expect(server.accessLog.last?.contains("HTTP/1.1") == true)
            #expect(try await failure(scene, server.tlsURL("file")) == "tls.untrusted")
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("apache2", "htpasswd")))
        func apacheWithDigestAndBasic() async throws {
            let server = try await Apache.start()
            try server.publish("file", content)
            let scene = try await Scene()
            let credentials: [String: JSONValue] = [
                "username": .string(Apache.user), "password": .string(Apache.password),
            ]
            _ = try await complete(scene, server.digestURL("file"), credentials, name: "digest")
            _ = try await complete(scene, server.basicURL("file"), credentials, name: "basic")
            #expect(try await failure(scene, server.digestURL("file")) == "auth.required")
            #expect(
                try await failure(scene, server.digestURL("file"), ["username": "reader", "password": "wrong"])
                    == "auth.required")
            let netrc = scene.folder.file("netrc")
            try Files.write(
                netrc, "machine 127.0.0.1 login \(Apache.user) password \"\(Apache.password)\"\n", mode: 0o600)
            _ = try await complete(scene, server.digestURL("file"), ["netrc": .string(netrc)], name: "by netrc")
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
        func vsftpdResumesAndNoticesChanges() async throws {
            let server = try await FTPServer.start()
            try server.publish("file", content)
            let scene = try await Scene()
            #expect(try await resumes(scene, server.url("file")) > 1 << 20)
            #expect(try await failure(try await scene.restarted(), server.url("missing")) != nil)
            #expect(try await failure(try await scene.restarted(), server.url("none/missing")) == "http.status")
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
        func aFileReplacedOnTheFTPServerArrivesWhole() async throws {
            let server = try await FTPServer.start()
            try server.publish("file", Content(seed: 10, size: 8 << 20))
            let scene = try await Scene()
            let id = try await scene.probe.add(
                server.url("file"), to: scene.file(), Scene.quickRetry.merging(["rateLimit": 1_000_000]) { $1 })
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            try await scene.daemon.kill()
            let path = try server.publish("file", content)
            var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
            utimes(path, &times)
            try await scene.daemon.start()
            let probe = try await scene.daemon.probe()
            try await probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
        func sshdByKeyResumesAndUnknownHostsAreRefused() async throws {
            let server = try await SFTPServer.start()
            try server.publish("file", content)
            let scene = try await Scene(environment: ["HOME": server.home])
            #expect(try await resumes(scene, server.url("file")) > 1 << 20)
            server.forgetHost()
            #expect(try await failure(try await scene.restarted(), server.url("file")) == "tls.untrusted")
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("squid", "htpasswd", "nginx", "openssl")))
        func squidForPlainAndTunnelled() async throws {
            let proxy = try await Squid.start()
            let server = try await Nginx.start(tls: true)
            try server.publish("file", content)
            let authority = try #require(server.certificates?.authority)
            let scene = try await Scene()
            let through: [String: JSONValue] = ["proxy": .string(proxy.url())]
            _ = try await complete(scene, server.url("file"), through, name: "plain")
            _ = try await complete(
                scene, server.tlsURL("file"), through.merging(["caFile": .string(authority)]) { $1 }, name: "tls")
            #expect(await eventually { proxy.accessLog.contains("CONNECT localhost:\(server.tlsPort)") })
            #expect(proxy.accessLog.contains("GET \(server.url("file"))"))
            #expect(
                try await failure(scene, server.url("file"), ["proxy": .string(proxy.url(password: "wrong"))])
                    == "auth.required")
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("squid", "htpasswd", "nginx")))
        func proxiesOfTheEnvironmentAreUsedAndNoProxyHonoured() async throws {
            let proxy = try await Squid.start()
            let server = try await Nginx.start()
            try server.publish("file", content)
            let scene = try await Scene(environment: ["http_proxy": proxy.url()])
            _ = try await complete(scene, server.url("file"), name: "proxied")
            #expect(await eventually { proxy.accessLog.contains(server.url("file")) })
            let direct = try await Scene(environment: ["http_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"])
            _ = try await complete(direct, server.url("file"), name: "direct")
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("microsocks", "nginx")))
        func microsocksWithAPassword() async throws {
            let proxy = try await Microsocks.start()
            let server = try await Nginx.start()
            try server.publish("file", content)
            let scene = try await Scene()
            _ = try await complete(scene, server.url("file"), ["proxy": .string(proxy.url())])
            #expect(try await failure(scene, server.url("file"), ["proxy": .string(proxy.url(password: "no"))]) != nil)
        }

        @Test(.timeLimit(.minutes(1)))
        func localFilesAndDataURLs() async throws {
            let scene = try await Scene()
            try Files.write(scene.file("source"), content.bytes)
            _ = try await complete(scene, "file://" + scene.file("source"), name: "copy")
            let id = try await scene.probe.add("data:text/plain;base64,aGVsbG8=", to: scene.file("text"))
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.text(scene.file("text")) == "hello")
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ("data:text/html;charset=utf-8,<p>", "unknown.html"), ("data:,hello", "unknown.txt"),
                ("data:image/png;base64,iVBORw0KGgo=", "unknown.png"), ("data:x/y,z", "unknown"),
            ])
        func dataURLsGetTheExtensionOfTheirType(_ url: String, _ name: String) async throws {
            let scene = try await Scene()
            let id = try await scene.probe.add([
                ["url": .string(url), "destination": ["directory": .string(scene.folder.path)]]
            ])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(scene.names == [name])
            #expect(task["response", "suggestedFilename"] == .string(name))
        }
    }
}

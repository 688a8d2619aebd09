import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd {
    /// Uploads to servers that people really run.
    struct RealUploadServers {
        private let content = Content(seed: 51, size: 8 << 20)

        private func add(
            _ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            try Files.write(scene.file("source"), content.bytes)
            let spec: [String: JSONValue] = [
                "kind": "upload", "url": .string(url), "source": ["path": .string(scene.file("source"))],
            ]
            return try await scene.probe.add([.object(spec.merging(Scene.quickRetry) { $1 }.merging(more) { $1 })])[0]
        }

        /// Kills the daemon half-way; the rest is sent from where the server is.
        private func resumes(_ scene: Scene, _ url: String, at remote: String) async throws {
            let id = try await add(scene, url, ["rateLimit": 4_000_000])
            #expect(await eventually { (Files.status(remote)?.st_size ?? 0) > 2 << 20 })
            let scene = try await scene.restarted()
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(remote))
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            let resumed = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.resumed"]])
            #expect((resumed.last?["offset"]?.integerValue ?? 0) >= 1 << 20)
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")), arguments: ["put", "auto"])
        func nginxTakesAPut(name: String) async throws {
            let server = try await Nginx.start(
                extra: "dav_methods PUT; create_full_put_path on; client_max_body_size 100m;")
            let scene = try await Scene()
            let id = try await add(scene, server.url("up/file"), ["uploadProtocol": .string(name)])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"]?.integerValue == 201)
            #expect(content.matches(server.folder.file("www/up/file")))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func aRefusalThatComesBeforeTheBodyCostsNone() async throws {
            let server = try await Nginx.start(extra: "dav_methods PUT; client_max_body_size 1m;")
            let scene = try await Scene()
            let id = try await add(
                scene, server.url("file"), ["uploadProtocol": "put", "headers": [["Expect", "100-continue"]]])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task["response", "status"]?.integerValue == 413)
            #expect(task["bytesSent"]?.integerValue == 0)
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
        func vsftpdResumes() async throws {
            let server = try await FTPServer.start()
            try await resumes(
                try await Scene(), server.url("incoming/file"), at: server.folder.file("www/incoming/file"))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
        func sshdResumes() async throws {
            let server = try await SFTPServer.start()
            let scene = try await Scene(environment: ["HOME": server.home])
            try await resumes(scene, server.url("file"), at: server.folder.file("www/file"))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
        func aLongerFileOnTheServerIsReplacedWhole() async throws {
            let server = try await SFTPServer.start()
            try server.publish("file", Content(seed: 52, size: 9 << 20))
            let scene = try await Scene(environment: ["HOME": server.home])
            let id = try await add(scene, server.url("file"))
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(server.folder.file("www/file")))
        }

        // MARK: The command line

        @Test(.timeLimit(.minutes(1)))
        func dlctlUploadsSeveralFilesAndFetches() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            try Files.write(scene.file("a b"), "first")
            try Files.write(scene.file("c"), content.bytes)
            let sent = try await scene.daemon.dlctl([
                "upload", "-w", scene.file("a b"), scene.file("c"), server.url("/in/"),
            ])
            #expect(sent.status == 0, "\(sent)")
            #expect(server.files["/in/a%20b"]?.bytes == Array("first".utf8))
            #expect(server.files["/in/c"]?.bytes == content.bytes)
            let fetched = try await scene.daemon.dlctl(["fetch", "-d", "who is there?", server.url("/echo")])
            #expect(fetched.status == 0, "\(fetched)")
            #expect(fetched.output == "who is there?")
            #expect(try await scene.daemon.dlctl(["fetch", server.url("/x")]).output == "got it")
            let refused = try await scene.daemon.dlctl(["upload", "-", server.url("/in/")])
            #expect(refused.status == 2)
            #expect(refused.output.contains("standard input"))
            let missing = try await scene.daemon.dlctl(["fetch", "-X", "DELETE", server.url("/echo")])
            #expect(missing.status == 1)
        }
    }
}

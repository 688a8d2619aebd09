import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Uploads to web servers in real use, and from the command line.
    struct UploadServers {
        private let content = Content(seed: 51, size: 8 << 20)

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")), arguments: ["put", "auto"])
        func nginxTakesAPut(name: String) async throws {
            let server = try await Nginx.start(
                extra: "dav_methods PUT; create_full_put_path on; client_max_body_size 100m;")
            let scene = try await Scene()
            let id = try await scene.upload(content, to: server.url("up/file"), ["uploadProtocol": .string(name)])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"]?.integerValue == 201)
            #expect(content.matches(server.folder.file("www/up/file")))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func aRefusalThatComesBeforeTheBodyCostsNone() async throws {
            let server = try await Nginx.start(extra: "dav_methods PUT; client_max_body_size 1m;")
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url("file"), ["uploadProtocol": "put", "headers": [["Expect", "100-continue"]]])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task["response", "status"]?.integerValue == 413)
            #expect(task["bytesSent"]?.integerValue == 0)
        }

        // MARK: Apache

        /// Requests and refusals are headers only. Anything longer carried the file.
        private static let headLimit = 4096

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("apache2", "htpasswd")))
        func apacheChallengesBeforeTheBodyAndStoresItOnce() async throws {
            let server = try await Apache.start()
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.davURL("file"),
                ["uploadProtocol": "put", "username": .string(Apache.user), "password": .string(Apache.password)])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"]?.integerValue == 201)
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            #expect(content.matches(server.folder.file("dav/file")))
            #expect(await eventually { server.traffic.count == 2 })
            #expect(server.traffic.map(\.status) == [401, 201])
            #expect(try #require(server.traffic.first).received < Self.headLimit)
            #expect(try #require(server.traffic.last).received < content.size + Self.headLimit)
        }

        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.has("apache2", "htpasswd")),
            arguments: ["wrong", nil] as [String?])
        func apacheRefusesAndIsNotAskedAgain(password: String?) async throws {
            let server = try await Apache.start()
            let scene = try await Scene()
            var more: [String: JSONValue] = ["uploadProtocol": "put"]
            if let password { more.merge(["username": .string(Apache.user), "password": .string(password)]) { $1 } }
            let id = try await scene.upload(content, to: server.davURL("file"), more)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "auth.required")
            #expect(task["attempts"]?.integerValue == 1)
            #expect(task["bytesSent"]?.integerValue == 0)
            // One challenge without credentials, and also a refusal with wrong ones. The file was sent in neither case.
            let expected = password == nil ? [401] : [401, 401]
            #expect(await eventually { server.traffic.count == expected.count })
            #expect(server.traffic.map(\.status) == expected)
            #expect(server.traffic.allSatisfy { $0.received < Self.headLimit })
            #expect(!Files.exists(server.folder.file("dav/file")))
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
            #expect(server.files["/in/c"]?.content == content)
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

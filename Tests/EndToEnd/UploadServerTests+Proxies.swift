import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading.UploadServers {
    /// The draft's resumable uploads through proxies that do not know the draft.
    struct Proxies {
        private let content = Content(seed: 58, size: 8 << 20)

        /// Cuts the connection between proxy and server once in the middle, then lets the upload end.
        private func survivesACut(
            _ server: UploadServer, _ url: String, _ more: [String: JSONValue]
        ) async throws {
            let scene = try await Scene()
            server.hold(.files(4 << 20))
            let id = try await scene.upload(content, to: url, ["uploadProtocol": "resumable"].merging(more) { $1 })
            try #require(await eventually { server.files.total > 2 << 20 })
            server.dropConnections()
            server.release()
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            #expect(server.files.all.values.map(\.content) == [content])
            #expect(server.files.all.values.allSatisfy { $0.isComplete })
            #expect(server.requests("POST").count == 1)
            #expect(!server.requests("HEAD").isEmpty)
            // What the server had is not sent again.
            #expect(server.requests().reduce(0) { $0 + $1.received } == content.size)
        }

        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.has("haproxy")), arguments: [8, 6],
            ["careful", "optimistic"])
        func haproxyPassesWhatTheDraftNeeds(version: Int, creation: String) async throws {
            // While the content is being sent, only the 104 shows where the upload is.
            let server = try UploadServer(DraftRules(version: version, announces: true))
            let proxy = try await HAProxy.start(to: server.port)
            try await survivesACut(
                server, proxy.url("/files/"),
                ["interopVersion": .integer(Int64(version)), "uploadCreation": .string(creation)])
        }

        private func nginx(to server: UploadServer, _ extra: String = "") async throws -> Nginx {
            try await Nginx.start(
                extra: "client_max_body_size 0; location / { proxy_pass http://127.0.0.1:\(server.port); \(extra) }")
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")), arguments: [8, 6])
        func nginxPassesCarefulCreation(version: Int) async throws {
            // nginx would take a server's 104 for the final answer.
            let server = try UploadServer(DraftRules(version: version, announces: true))
            let proxy = try await nginx(to: server, "proxy_http_version 1.1; proxy_request_buffering off;")
            try await survivesACut(
                server, proxy.url("files/"), ["interopVersion": .integer(Int64(version))])
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func autoFindsTheDraftBehindAnNginxThatBuffers() async throws {
            let server = try UploadServer(DraftRules(version: 8))
            let proxy = try await nginx(to: server)
            let scene = try await Scene()
            let id = try await scene.upload(content, to: proxy.url("files/"), ["uploadProtocol": "auto"])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files.all.values.map(\.content) == [content])
            #expect(server.requests().map(\.method) == ["OPTIONS", "POST", "PATCH"])
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading.UploadServers {
    /// tus, with tuspyserver.
    ///
    /// It records a cut PATCH when it reads the end of the connection, so its log has only requests that it answered.
    /// It records the offset in a separate file, which may come back after a DELETE, without content.
    @Suite(
        .enabled(if: Requirements.hasPythonServers), SharedServer { try await TusServer.start() })
    struct Tus {
        private let content = Content(seed: 55, size: 12 << 20)

        /// The server of the suite, emptied.
        private func emptyServer() throws -> TusServer {
            let server = try SharedServer<TusServer>.current
            server.clear()
            return server
        }

        private func held(_ server: TusServer) -> Int {
            server.uploads.reduce(0) { $0 + Int(Files.status($1)?.st_size ?? 0) }
        }

        @Test(.timeLimit(.minutes(1)))
        func theCommandLineUploadsToIt() async throws {
            let server = try emptyServer()
            let scene = try await Scene()
            try Files.write(scene.file("a film.mp4"), content.bytes)
            // Without --protocol, the server is asked which protocol it supports.
            let sent = try await scene.daemon.dlctl(["upload", "-w", scene.file("a film.mp4"), server.url])
            #expect(sent.status == 0, "\(sent)")
            let upload = try #require(server.uploads.first)
            #expect(server.uploads.count == 1)
            #expect(content.matches(upload))
            #expect(try Files.text(upload + ".info").contains("\"a film.mp4\""))
            #expect(server.requests.map(\.method) == ["OPTIONS", "POST", "PATCH"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aKilledUploadGoesOnWhereItsHEADSays() async throws {
            let server = try emptyServer()
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url, ["uploadProtocol": "tus", "rateLimit": 1_000_000])
            try #require(await eventually { held(server) > 1 << 20 })
            let (restarted, task) = try await scene.killed(while: id)
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            #expect(server.uploads.count == 1)
            #expect(content.matches(try #require(server.uploads.first)))
            #expect(server.requests.count { $0.method == "POST" } == 1)
            #expect(server.requests.contains { $0.method == "HEAD" && $0.status == 200 })
            #expect(server.requests.last?.method == "PATCH")
            #expect(try #require(try await restarted.resumptions(id).last) > 1 << 20)
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledUploadIsDeletedThere() async throws {
            let server = try emptyServer()
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url, ["uploadProtocol": "tus", "rateLimit": 1_000_000])
            try #require(await eventually { held(server) > 100_000 })
            #expect(try await scene.probe.control("cancel", id))
            #expect(await eventually { server.requests.contains { $0.method == "DELETE" && $0.status == 204 } })
            #expect(await eventually { server.uploads.isEmpty })
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["tus", "auto"])
        func aChecksumThatItDoesNotVerifyIsRefusedBeforeAnythingIsMade(name: String) async throws {
            let server = try emptyServer()
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url, ["uploadProtocol": .string(name), "uploadChecksum": "sha-256"])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "request.bad_field")
            #expect(server.uploads.isEmpty)
            #expect(server.requests.allSatisfy { $0.method == "OPTIONS" })
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Gathering.Mirrors {
    /// Mirrors with protocols other than http, on servers in real use.
    struct RealServers {
        private static let size = 4 << 20
        private let content = Content(seed: 21, size: Self.size)

        /// The first mirror breaks off half-way and no longer has the file.
        private func goesOn(_ scene: Scene, at mirror: String) async throws {
            scene.origin.serve("/file", .good(Resource(content, etag: "\"a\""), cutAfter: Self.size / 2), .status(410))
            let id = try await scene.probe.add(
                scene.origin.url("/file"), to: scene.file(),
                Scene.quickRetry.merging([
                    "mirrors": [.string(mirror)], "checksum": content.checksum, "connections": 1,
                ]) { $1 })
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect(task["verified"] == true && task["attempts"]?.integerValue == 1)
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
        func anFTPServerGoesOnWithTheBytes() async throws {
            let server = try await FTPServer.start()
            try server.publish("copy", content)
            try await goesOn(try await Scene.shared(), at: server.url("copy"))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("sshd", "ssh-keygen")))
        func anSFTPServerGoesOnWithTheBytes() async throws {
            let server = try await SFTPServer.start()
            try server.publish("copy", content)
            try await goesOn(try await Scene(environment: ["HOME": server.home]), at: server.url("copy"))
        }

        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")), arguments: [1, 4])
        func aWebServerHasWhatAnFTPServerHasNot(connections: Int64) async throws {
            let server = try await FTPServer.start()
            let scene = try await Scene.shared()
            scene.origin.serve("/copy", .good(Resource(content, etag: "\"a\"")))
            let id = try await scene.probe.add(
                server.url("missing"), to: scene.file(),
                Scene.quickRetry.merging([
                    "mirrors": [.string(scene.origin.url("/copy"))], "checksum": content.checksum,
                    "connections": .integer(connections),
                ]) { $1 })
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot && Requirements.has("vsftpd")))
        func withoutADigestAnFTPServerBeginsAnew() async throws {
            let server = try await FTPServer.start()
            let other = Content(seed: 22, size: Self.size)
            try server.publish("copy", other)
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(Resource(content, etag: "\"a\""), cutAfter: Self.size / 2), .status(410))
            let id = try await scene.probe.add(
                scene.origin.url("/file"), to: scene.file(),
                Scene.quickRetry.merging(["mirrors": [.string(server.url("copy"))], "connections": 1]) { $1 })
            try await scene.probe.wait(for: id, "completed")
            #expect(other.matches(scene.file()))
        }
    }
}

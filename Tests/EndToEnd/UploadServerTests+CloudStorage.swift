import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading.UploadServers {
    /// Upload sessions with Content-Range, with gcp-storage-emulator.
    ///
    /// For a session without any byte, it answers `bytes=0-0`, as for one with one byte. Therefore the daemon is killed
    /// when the first chunk is there.
    @Suite(
        .enabled(if: Requirements.hasPythonServers), SharedServer { try await CloudStorageServer.start() })
    struct CloudStorage {
        private static let chunk = 8 << 20
        /// Two chunks, and one that is not a multiple of 256 KiB.
        private let content = Content(seed: 57, size: 2 * chunk + 1_000_001)

        @Test(.timeLimit(.minutes(1)))
        func aFileGoesInChunks() async throws {
            let server = try SharedServer<CloudStorageServer>.current
            let scene = try await Scene()
            let id = try await scene.upload(content, to: server.url("whole"), ["uploadProtocol": "contentRange"])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"]?.integerValue == 200)
            #expect(content.matches(server.object("whole")))
            let sent = server.requests.filter { $0.target.contains("name=whole") }
            #expect(sent.first?.method == "POST")
            #expect(sent.dropFirst().allSatisfy { $0.method == "PUT" })
            // Two chunks are answered with 308, the third is the last.
            #expect(sent.dropFirst().dropLast().map(\.status).suffix(2) == [308, 308])
            #expect(sent.last?.status == 200)
        }

        @Test(.timeLimit(.minutes(1)))
        func aKilledUploadGoesOnInItsSession() async throws {
            let server = try SharedServer<CloudStorageServer>.current
            let scene = try await Scene()
            // At this rate, the rest takes 10 s after the kill.
            let content = Content(seed: 59, size: 4 * Self.chunk)
            let id = try await scene.upload(
                content, to: server.url("killed"), ["uploadProtocol": "contentRange", "rateLimit": 2_500_000])
            try await scene.wait(for: id, sent: Self.chunk + (1 << 20))
            let (restarted, task) = try await scene.killed(while: id)
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            #expect(content.matches(server.object("killed")))
            let sent = server.requests.filter { $0.target.contains("name=killed") }
            #expect(sent.count { $0.method == "POST" } == 1)
            #expect(sent.allSatisfy { $0.status == 200 || $0.status == 308 })
            #expect(try #require(try await restarted.resumptions(id).last) >= Self.chunk)
        }
    }
}

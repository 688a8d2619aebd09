import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// The daemon's memory does not grow with what it sends; with DLD_LONG_TESTS=1, 4 GiB and 100 uploads at a time.
    struct UploadMemory {
        /// The permitted growth in bytes.
        private static let most: Int64 = 16 << 20

        private func growth(uploads: Int, of size: Int) async throws -> Int64 {
            let scene = try await Scene()
            try await scene.probe.call(
                "settings.set", ["maximumConcurrentTasks": 100, "maximumConcurrentTasksPerHost": 100])
            // What the first upload loads does not count as growth.
            try await send(1, 1 << 20, scene)
            let before = try scene.daemon.residentMemory()
            try scene.daemon.resetPeakMemory()
            try await send(uploads, size, scene)
            return try scene.daemon.peakMemory() - before
        }

        private func send(_ uploads: Int, _ size: Int, _ scene: Scene) async throws {
            try Files.write(scene.file("source"), "begin")
            truncate(scene.file("source"), size)
            let server = try UploadServer(DrainRules(requests: uploads))
            let ids = try await scene.probe.add(
                (0..<uploads).map { number in
                    [
                        "kind": "upload", "url": .string(server.url("/\(number)")), "uploadProtocol": "put",
                        "source": ["path": .string(scene.file("source"))],
                    ]
                })
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            #expect(server.received("PUT") == uploads * size)
            #expect(server.requests().count == uploads)
        }

        @Test(.timeLimit(.minutes(2)))
        func oneLargeUploadTakesNoMore() async throws {
            let growth = try await growth(uploads: 1, of: UploadKillRun.isLong ? 4 << 30 : 512 << 20)
            #expect(growth < Self.most)
        }

        @Test(.timeLimit(.minutes(2)))
        func manyAtOnceTakeLittle() async throws {
            let growth = try await growth(uploads: UploadKillRun.isLong ? 100 : 40, of: 4 << 20)
            #expect(growth < Self.most)
        }
    }
}

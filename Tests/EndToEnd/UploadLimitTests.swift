import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Upload rates of tasks and sessions.
    struct UploadLimits {
        private let content = Content(seed: 61, size: 4 << 20)
        private static let piece = 16 << 10

        private func spec(_ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
            let spec: [String: JSONValue] = [
                "kind": "upload", "url": .string(url), "uploadProtocol": "put",
                "source": ["path": .string(scene.file("source"))],
            ]
            return .object(spec.merging(more) { $1 })
        }

        /// At 1 B/s, no second piece is sent for hours. An upload without this limit completes meanwhile.
        @Test(.timeLimit(.minutes(1)), arguments: ["session", "task"])
        func aLimitHoldsItsOwnUploadsUntilItIsLifted(scope: String) async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            try Files.write(scene.file("source"), content.bytes)
            let isOfSession = scope == "session"
            try await scene.probe.call(
                "session.open", ["id": "slow", "configuration": isOfSession ? ["uploadRateLimit": 1] : [:]])
            let slow = try await scene.probe.add(
                [spec(scene, server.url("/slow"), isOfSession ? [:] : ["rateLimit": 1])], session: "slow")[0]
            let received = { server.requests("PUT").filter { $0.path == "/slow" }.reduce(0) { $0 + $1.received } }
            #expect(await eventually { received() > 0 })
            let fast = try await scene.probe.add([spec(scene, server.url("/fast"))])[0]
            try await scene.probe.wait(for: fast, "completed")
            #expect(received() <= Self.piece)
            #expect(try await scene.probe.state(slow) == "running")
            if isOfSession {
                try await scene.probe.call("session.open", ["id": "slow", "configuration": ["uploadRateLimit": 0]])
            } else {
                try await scene.probe.call("task.update", ["id": .integer(slow), "rateLimit": 0])
            }
            try await scene.probe.wait(for: slow, "completed")
            #expect(server.files["/slow"]?.content == content)
            #expect(received() == content.size)
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What a helper sends has the length that it announced, whether it becomes a file, is kept or is streamed.
    struct HelperLengths {
        @Test(.timeLimit(.minutes(1)), arguments: ["many", "single"], ["10", "-10"])
        func anAnswerOfAnotherLengthIsNone(_ kind: String, more: String) async throws {
            let bench = try await HelperScene(kind, content: Content(seed: 1, size: 3000))
            let kept = try await bench.probe.add([
                .object(
                    Scene.quickRetry.merging(["kind": "data", "url": .string(bench.url(kind, ["more": more]))]) { $1 })
            ])[0]
            let task = try await bench.probe.wait(for: kept, "failed")
            #expect(task.errorCode == "integrity.length" && task["attempts"] == 2, "\(task)")
            let right = try await bench.probe.add([["kind": "data", "url": .string(bench.url(kind))]])[0]
            #expect(try await bench.probe.wait(for: right, "completed")["bytesReceived"] == 3000)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["10", "-10"])
        func aStreamOfAnotherLengthFails(more: String) async throws {
            let bench = try await HelperScene("many", content: Content(seed: 1, size: 3000))
            try await bench.probe.call("session.open", ["id": "v", "kind": "default"])
            let id = try await bench.probe.add(
                [
                    [
                        "kind": "data", "stream": true, "url": .string(bench.url("many", ["more": more])),
                        "retry": ["attempts": 1],
                    ]
                ], session: "v")[0]
            try await bench.probe.call("task.credit", ["id": .integer(id), "bytes": 100_000])
            let task = try await bench.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.length", "\(task)")
        }
    }
}

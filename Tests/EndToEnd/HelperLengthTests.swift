import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
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

        @Test(.timeLimit(.minutes(1)), arguments: ["many", "single"])
        func aDownloadThatFinishesTwiceWithoutAByteFails(_ kind: String) async throws {
            let bench = try await HelperScene(kind, content: Content(seed: 1, size: 5))
            let id = try await bench.add(kind, ["do": "finish"])
            let task = try await bench.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.length" && task["attempts"] == 2, "\(task)")
            #expect(!Files.exists(bench.scene.file()))
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

    /// One pipe carries the bytes of all requests to a helper with `many: true`.
    struct HelperPipes {
        /// Writes one answer after the other. So the second waits for the first.
        private static let script = """
            #!/usr/bin/env python3
            import base64, json, sys
            def say(kind, **members): print(json.dumps({"type": kind, **members}), flush=True)
            say("hello", version=1, resume=True, upload=False, many=True)
            for line in sys.stdin:
                order = json.loads(line)
                if order["type"] == "load":
                    say("response", id=order["id"], offset=0, length=3000000)
                    for _ in range(60): say("data", id=order["id"], base64=base64.b64encode(bytes(50000)).decode())
                    say("finished", id=order["id"])

            """

        @Test(.timeLimit(.minutes(1))) func whoWaitsForAnotherTaskIsToldAndTimesOut() async throws {
            let bench = try await HelperScene()
            try await bench.install("pipe", Self.script)
            try await bench.probe.call("session.open", ["id": "v", "kind": "default"])
            let held = try await bench.probe.add(
                [["kind": "data", "stream": true, "url": "pipe:held"]], session: "v")[0]
            try await bench.probe.call("task.credit", ["id": .integer(held), "bytes": 1])
            try await bench.probe.wait(for: held, bytes: 1)
            let other = try await bench.probe.add(
                [
                    [
                        "kind": "data", "url": "pipe:other", "timeoutIntervalForRequest": 3, "retry": ["attempts": 1],
                    ]
                ], session: "v")[0]
            var isTold = false
            #expect(
                try await eventually {
                    let task = try await bench.probe.task(other)
                    isTold = isTold || task["explanation"]?.stringValue?.contains("another task") == true
                    return isTold || task["state"] == "failed"
                })
            let task = try await bench.probe.wait(for: other, "failed")
            #expect(isTold && task.errorCode == "network.timeout", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains("another task") == true, "\(task)")
            // Once the first task takes its bytes, others are served.
            try await bench.probe.call("task.credit", ["id": .integer(held), "bytes": 10_000_000])
            let last = try await bench.probe.add([["kind": "data", "url": "pipe:last"]], session: "v")[0]
            try await bench.probe.wait(for: last, "completed")
        }
    }
}

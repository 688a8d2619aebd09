import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What a task's client learns of the answer.
    struct Answers {
        /// As many bytes of fields as libcurl takes, or nearly.
        private static let flood = (0..<280).map { number in
            (name: "X-\(number)", value: String(repeating: "a", count: 1000))
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["download", "data"])
        func aLongHeadIsKeptWhole(kind: String) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(200, Self.flood, body: "x"))
            var spec: [String: JSONValue] = ["kind": .string(kind), "url": .string(scene.origin.url("/file"))]
            if kind == "download" { spec["destination"] = ["path": .string(scene.file())] }
            let id = try await scene.probe.add([.object(spec)])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(names(task["response"]).filter { $0.hasPrefix("X-") } == Self.flood.map(\.name))
            #expect(task["response", "headersTruncated"] == nil)
            // Pages of the list and the log stay short, and say so.
            let listed = try await scene.probe.call("task.list")["tasks"]?.arrayValue?.first
            let event = try await scene.probe.storedEvents(["types": ["task.response"]]).first
            for shown in [listed?["response"], event?["response"]] {
                #expect(shown?["headersTruncated"] == true)
                #expect((1..<Self.flood.count).contains(names(shown).count))
            }
        }

        private func names(_ response: JSONValue?) -> [String] {
            (response?["headers"]?.arrayValue ?? []).compactMap { $0.arrayValue?.first?.stringValue }
        }

        @Test(.timeLimit(.minutes(1)))
        func aHeadBeyondTheLimitIsRefused() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(200, Self.flood + Self.flood, body: "x"))
            #expect(try await scene.probe.wait(for: try await scene.add(), "failed").errorCode == "http.protocol")
        }
    }
}

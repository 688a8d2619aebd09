import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// What a task's client learns about the answer.
    struct Answers {
        /// Nearly as many bytes of fields as libcurl accepts.
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
            // Pages of the list and the log stay short, and say that fields are missing.
            let listed = try await scene.probe.call("task.list")["tasks"]?.arrayValue?.first
            let event = try await scene.probe.storedEvents(["types": ["task.response"]]).first
            for shown in [listed?["response"], event?["response"]] {
                #expect(shown?["headersTruncated"] == true)
                #expect((1..<Self.flood.count).contains(names(shown).count))
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theOwnerGetsRequestAndAnswerWhole() async throws {
            let scene = try await Scene()
            let fields: [(name: String, value: String)] = [
                ("Set-Cookie", "a=Tops3cret"), ("X-Part", "1"), ("Set-Cookie", "b=Tops3cret"), ("X-Part", "2"),
                ("Location", "/there?token=Tops3cret"),
            ]
            scene.origin.serve("/first", .redirect(to: "/done?token=Tops3cret", status: 307))
            scene.origin.serve("/done", .status(200, fields, body: "answer"))
            let headers: JSONValue = [["X-Api-Key", "Tops3cret"], ["Cookie", "a=Tops3cret"], ["Cookie", "b=1"]]
            let url = scene.origin.url("/first?q=1").replacing("http://", with: "http://me:Tops3cret@")
            let id = try await scene.probe.add([
                [
                    "kind": "data", "method": "POST", "url": .string(url), "headers": headers,
                    "body": ["text": "password=Tops3cret"], "tags": ["t"],
                ]
            ])[0]
            let masked = try await scene.probe.wait(for: id, "completed")
            #expect(!"\(masked)".contains("Tops3cret"), "\(masked)")
            let task = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
            #expect(task["url"] == .string(url) && task["headers"] == headers)
            #expect(task["body"] == ["text": "password=Tops3cret"])
            #expect(task["response", "url"] == .string(scene.origin.url("/done?token=Tops3cret")))
            let shown = (task["response", "headers"]?.arrayValue ?? []).compactMap { field -> String? in
                field.arrayValue.map { $0.compactMap(\.stringValue).joined(separator: ": ") }
            }
            #expect(Array(shown.prefix(fields.count)) == fields.map { "\($0.name): \($0.value)" })
            #expect(task["response", "body"] == ["text": "answer"])
            // Everything else is unchanged.
            for name in ["id", "state", "bytesReceived", "tags", "finishedAt"] { #expect(task[name] == masked[name]) }
            for answer in [try await scene.probe.call("task.list"), .array(try await scene.probe.storedEvents())] {
                #expect(!"\(answer)".contains("Tops3cret"))
            }
            #expect(!scene.daemon.log.contains("Tops3cret"))
            let shownBySheet = try await scene.daemon.dlctl(["show", "--secrets", "\(id)"])
            for line in ["X-Api-Key: Tops3cret", "password=Tops3cret", "a=Tops3cret"] {
                #expect(shownBySheet.output.contains(line), "\(shownBySheet)")
            }
            #expect(!(try await scene.daemon.dlctl(["show", "\(id)"])).output.contains("Tops3cret"))
        }

        @Test(.timeLimit(.minutes(1)))
        func longBodiesAreShownByTheirSize() async throws {
            let scene = try await Scene()
            for (size, isShown) in [(1 << 20, true), (1 << 20 | 1, false)] {
                let body = String(repeating: "x", count: size)
                scene.origin.serve("/\(size)", .status(200, [], body: body))
                let id = try await scene.probe.add([
                    [
                        "kind": "data", "method": "POST", "url": .string(scene.origin.url("/\(size)")),
                        "body": ["text": .string(body)],
                    ]
                ])[0]
                try await scene.probe.wait(for: id, "completed")
                let task = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
                let expected: JSONValue = isShown ? ["text": .string(body)] : ["size": .integer(Int64(size))]
                #expect(task["body"] == expected && task["response", "body"] == expected, "\(size)")
            }
            // A binary body, and a file that is read while it is sent.
            try Files.write(scene.file("bytes"), [0xFF, 0, 1])
            let long = Content(seed: 9, size: 1 << 20 | 1)
            try Files.write(scene.file("long"), long.bytes)
            scene.origin.serve("/file", .status(200))
            for (name, expected) in [
                ("bytes", ["file": .string(scene.file("bytes")), "base64": "/wAB"]),
                ("long", ["file": .string(scene.file("long")), "size": .integer(1 << 20 | 1)]),
            ] as [(String, JSONValue)] {
                let id = try await scene.probe.add([
                    [
                        "kind": "data", "method": "PUT", "url": .string(scene.origin.url("/file")),
                        "body": ["file": .string(scene.file(name))],
                    ]
                ])[0]
                try await scene.probe.wait(for: id, "completed")
                let task = try await scene.probe.call("task.get", ["id": .integer(id), "secrets": true])
                #expect(task["body"] == expected, "\(task)")
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

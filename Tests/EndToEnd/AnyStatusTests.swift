import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// `acceptsAnyStatus`: the server's answer is the result, whatever its status.
    struct AnyStatus {
        private static let wanted: [String: JSONValue] = ["acceptsAnyStatus": true]
        /// With fields that would make another task try again, ask a mirror or go elsewhere.
        private static let statuses: [(Int, [(name: String, value: String)])] = [
            (300, [("Location", "/elsewhere")]), (304, []), (305, [("Location", "/elsewhere")]),
            (306, [("Location", "/elsewhere")]), (401, [("WWW-Authenticate", "Basic realm=\"r\"")]), (404, []),
            (407, [("Proxy-Authenticate", "Basic realm=\"r\"")]), (416, [("Content-Range", "bytes */7")]),
            (503, [("Retry-After", "3600")]),
        ]

        @Test(.timeLimit(.minutes(1)))
        func theBodyOfAnErrorIsDelivered() async throws {
            let scene = try await Scene()
            for (status, headers) in Self.statuses {
                let (path, body) = ("/\(status)", status == 304 ? "" : "why \(status)\n")
                scene.origin.serve(path, .status(status, headers, body: body))
                let id = try await scene.add(
                    path, to: "\(status)",
                    Self.wanted.merging(["mirrors": [.string(scene.origin.url("/mirror"))]]) { $1 })
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(task["response", "status"] == .integer(Int64(status)) && task["attempts"] == 1, "\(task)")
                #expect(try Files.text(scene.file("\(status)")) == body)
                #expect(scene.origin.requests(path).count == 1, "\(status)")
            }
            #expect(scene.origin.requests("/elsewhere").isEmpty && scene.origin.requests("/mirror").isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func theSessionDecidesForItsDataTasks() async throws {
            let scene = try await Scene()
            try await scene.probe.call("session.open", ["id": "any", "configuration": .object(Self.wanted)])
            for (status, headers) in Self.statuses {
                let (path, body) = ("/\(status)", status == 304 ? "" : "why \(status)\n")
                scene.origin.serve(path, .status(status, headers, body: body))
                let spec: [String: JSONValue] = [
                    "kind": "data", "method": "POST", "body": ["text": "x"], "url": .string(scene.origin.url(path)),
                ]
                let id = try await scene.probe.add([.object(spec)], session: "any")[0]
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(task["response", "status"] == .integer(Int64(status)), "\(task)")
                #expect(task["response", "body", "text"]?.stringValue ?? "" == body)
                #expect(scene.origin.requests(path).count == 1)
                let strict = try await scene.probe.add(
                    [.object(spec.merging(["acceptsAnyStatus": false, "retry": ["attempts": 1]]) { $1 })],
                    session: "any")[0]
                try await scene.probe.wait(for: strict, status == 304 ? "completed" : "failed")
            }
            #expect(scene.origin.requests("/elsewhere").isEmpty)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [403, 503])
        func anUploadEndsWithWhatTheServerSays(status: Int) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(status, [("Retry-After", "3600")], body: "no"))
            let id = try await scene.upload(
                Content(seed: 5, size: 1000), to: scene.origin.url("/file"),
                Self.wanted.merging(["uploadProtocol": "put"]) { $1 })
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"] == .integer(Int64(status)) && task["bytesSent"] == 1000, "\(task)")
            #expect(task["response", "body", "text"] == "no")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// A lost connection is not an answer, but the answer to the request for the rest is one.
        @Test(.timeLimit(.minutes(1)))
        func anErrorReplacesWhatWasHeld() async throws {
            let scene = try await Scene()
            scene.origin.serve(
                "/file", .good(.version(1, size: 1 << 20), cutAfter: 400_000), .status(503, [], body: "later"))
            let id = try await scene.add("/file", to: "file", Self.wanted)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["attempts"] == 2 && task["bytesReceived"] == 5, "\(task)")
            #expect(try Files.text(scene.file()) == "later")
            #expect(scene.origin.requests("/file").map(\.rangeStart) == [nil, 400_000])
            #expect(scene.names == ["file"])
        }

        /// A 416 to our own request for the rest says nothing about the file, so the whole file is requested.
        @Test(.timeLimit(.minutes(1)))
        func anUnsatisfiedRangeIsAskedForWhole() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1 << 20)
            scene.origin.serve("/file", .good(resource, cutAfter: 400_000), .status(416), .good(resource))
            let id = try await scene.add("/file", to: "file", Self.wanted)
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func dlctlAsksForIt() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(404, [], body: "gone\n"))
            let url = scene.origin.url("/file")
            let added = try await scene.daemon.dlctl(["add", "-w", "--accept-any-status", "-o", scene.file(), url])
            #expect(added.status == 0, "\(added)")
            #expect(try Files.text(scene.file()) == "gone\n")
            let fetched = try await scene.daemon.dlctl(["fetch", "--accept-any-status", url])
            #expect(fetched.status == 0 && fetched.output == "gone\n", "\(fetched)")
            let silent = try await scene.daemon.dlctl(["fetch", "--fail", "--accept-any-status", url])
            #expect(silent.status == 0 && silent.output.isEmpty, "\(silent)")
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Cases in which code and documents once gave two answers, and now give one.
    struct OneAnswer {
        @Test(.timeLimit(.minutes(1))) func aDeadlineThatHasPassedFailsTheTaskBeforeAnythingIsSent() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(Resource.version(1, size: 1000)))
            #expect(try documented("deadlineAt").contains { $0.contains("with a time in the past it fails at once") })
            let ids = try await scene.probe.add([
                [
                    "url": .string(scene.origin.url("/file")), "deadlineAt": "2020-01-01T00:00:00Z",
                    "destination": ["path": .string(scene.file("late"))],
                ],
                ["url": .string(scene.origin.url("/file")), "destination": ["path": .string(scene.file("good"))]],
            ])
            #expect(try await scene.probe.task(ids[0]).errorCode == "deadline.exceeded")
            try await scene.probe.wait(for: ids[1], "completed")
            #expect(scene.origin.requests("/file").count == 1)
            let events = try await scene.probe.storedEvents(["tasks": [.integer(ids[0])]])
            #expect(events.compactMap { $0["type"]?.stringValue } == ["task.added", "task.failed"])
        }

        @Test(.timeLimit(.minutes(1))) func anUploadHasNoDestination() async throws {
            let scene = try await Scene()
            try Files.write(scene.file("source"), "x")
            #expect(try documented("destination").contains { $0.contains("| Downloads: where the file goes") })
            let body: [String: JSONValue] = ["text": "x"]
            for more in [
                ["kind": "upload", "source": ["path": .string(scene.file("source"))]],
                ["kind": "data", "body": .object(body)],
            ] as [[String: JSONValue]] {
                let spec = more.merging([
                    "url": .string(scene.origin.url("/to")), "destination": ["path": .string(scene.file("there"))],
                ]) { $1 }
                let error = await #expect(throws: RPCFailure.self) {
                    try await scene.probe.call("task.add", ["tasks": [.object(spec)]])
                }
                #expect(error?.code == "request.bad_field" && error?.field == "tasks[0].destination")
            }
        }

        /// The documented limits are the first and the last accepted value.
        @Test(.timeLimit(.minutes(1)), arguments: ["launchInterval", "progressInterval"])
        func anIntervalHasTheBoundsThatAreDocumented(_ name: String) async throws {
            let scene = try await Scene()
            let bounds = try #require(
                try documented(name).compactMap { $0.firstMatch(of: #/([0-9.]+) to ([0-9.]+)/#) }.first)
            let (least, most) = (try #require(Double(bounds.1)), try #require(Double(bounds.2)))
            for (value, isTaken) in [(least, true), (most, true), (least * 0.9, false), (most * 1.1, false)] {
                let parameters: [String: JSONValue] =
                    name == "launchInterval"
                    ? ["id": "s", "configuration": ["launchInterval": .number(value)]] : [name: .number(value)]
                let method = name == "launchInterval" ? "session.open" : "events.subscribe"
                #expect(await isAccepted(method, parameters, scene) == isTaken, "\(value)")
                let setting = name == "launchInterval" ? "session.launchInterval" : name
                let checked = try await Program.run(
                    [try Binaries.path("dld"), "--check-config", "--set", "\(setting)=\(value)"],
                    environment: Program.plainEnvironment.merging(["HOME": scene.folder.path]) { $1 })
                #expect((checked.status == 0) == isTaken, "\(value): \(checked.output)")
            }
        }

        private func isAccepted(_ method: String, _ parameters: [String: JSONValue], _ scene: Scene) async -> Bool {
            (try? await scene.probe.call(method, .object(parameters))) != nil
        }

        /// What docs/protocol.md, which is generated, says about members with this name.
        private func documented(_ name: String) throws -> [String] {
            let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            return try Files.text("/\(root)/docs/protocol.md").split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix("| `\(name)`") }
        }
    }
}

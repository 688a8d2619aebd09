import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// A row that a disk or another program has damaged: all other tasks continue.
    struct UnreadableTasks {
        private let resource = Resource.version(1, size: 5000)

        private func damaged(_ scene: Scene, _ statement: String) async throws -> Scene {
            let script = """
                import sqlite3, sys
                database = sqlite3.connect(sys.argv[1])
                database.execute(sys.argv[2])
                database.commit()
                """
            try await scene.daemon.kill()
            try await Program.require([
                "python3", "-c", script, scene.daemon.stateFolder + "/dld.sqlite", statement,
            ])
            return try await scene.restarted()
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                "spec = '{\"url\":'", "spec = '{}', error = '{', state = 'running'", "spec = 'x', state = 'queued'",
            ])
        func theOthersGoOn(_ change: String) async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let waiting: [String: JSONValue] = ["earliestBeginAt": "2999-01-01T00:00:00Z"]
            var ids: [Int64] = []
            for name in ["a", "b", "c"] { ids.append(try await scene.add("/file", to: name, waiting)) }
            let isWaiting = !change.contains("state")
            let state = isWaiting ? "" : ", reason = NULL, next_attempt_at = NULL, budget_mark = 0"
            scene = try await damaged(scene, "UPDATE task SET \(change)\(state) WHERE id = \(ids[1])")
            for id in [ids[0], ids[2]] { #expect(try await scene.probe.control("retry", id)) }
            for id in [ids[0], ids[2]] { try await scene.probe.wait(for: id, "completed") }
            let page = try await scene.probe.call("task.list")["tasks"]?.arrayValue ?? []
            #expect(page.map { $0["state"] } == ["completed", "failed", "completed"])
            let task = try await scene.probe.task(ids[1])
            #expect(task.errorCode == "internal", "\(task)")
            let events = try await scene.probe.storedEvents(["tasks": [.integer(ids[1])], "types": ["task.failed"]])
            #expect(events.count == 1)
            #expect(events.first?["url"] == .string(scene.origin.url("/file")))
            #expect(try await scene.probe.control("remove", ids[1]))
        }
    }
}

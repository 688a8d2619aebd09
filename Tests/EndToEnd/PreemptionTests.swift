import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// A stop that would lose everything done so far is avoided or reported.
    struct Preemption {
        private let resource = Resource.version(1, size: 4 << 20)

        /// No ranges and no validator: half of the body, then silence.
        private var unresumable: Behaviour {
            let content = resource.content
            return Behaviour { _, reply in
                try reply.head(200, "OK", [("Content-Length", "\(content.size)")])
                try reply.body(content.bytes.prefix(2 << 20))
                try reply.beSilent()
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theSlotIsTakenFromWhoCanResume() async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 2])
            scene.origin.serve("/whole", unresumable)
            scene.origin.serve("/parts", .stalling(resource, after: 2 << 20), .good(resource))
            scene.origin.serve("/urgent", .good(.version(2, size: 100)))
            // The task that would lose everything is less important, because it came later.
            let parts = try await scene.add("/parts", to: "parts")
            let whole = try await scene.add("/whole", to: "whole")
            for id in [whole, parts] { try await scene.probe.wait(for: id, bytes: 1 << 20) }
            let urgent = try await scene.add("/urgent", to: "urgent", ["priority": "high"])
            try await scene.probe.wait(for: urgent, "completed")
            try await scene.probe.wait(for: parts, "completed")
            let told = try await queuedEvents(scene, parts)
            #expect(told.count == 1 && told.first?["reason"] == "slots", "\(told)")
            #expect(told.first?["explanation"]?.stringValue?.contains("Task \(urgent) ") == true, "\(told)")
            let (status, output) = try await scene.daemon.dlctl(["explain", "\(parts)"])
            #expect(status == 0 && output.contains("has a higher priority"), "\(output)")
            #expect(try await scene.probe.state(whole) == "running")
            #expect(scene.origin.requests("/whole").count == 1)
            #expect((scene.origin.requests("/parts").last?.rangeStart ?? 0) > 0)
        }

        private func queuedEvents(_ scene: Scene, _ id: Int64) async throws -> [JSONValue] {
            try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.queued"]])
        }

        @Test(.timeLimit(.minutes(1)))
        func whatADaemonLeavesUndoneSaysWhy() async throws {
            var scene = try await Scene()
            scene.origin.serve("/parts", .stalling(resource, after: 2 << 20))
            let id = try await scene.add("/parts", to: "parts")
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "running")
            #expect(
                try await queuedEvents(scene, id).map { $0["explanation"]?.stringValue?.contains("ended while") }
                    == [true])
            _ = try await scene.daemon.terminate()
            scene = try await scene.restarted()
            let told = try await queuedEvents(scene, id)
            #expect(told.count == 2 && told.allSatisfy { $0["reason"] == nil }, "\(told)")
            #expect(told.last?["explanation"]?.stringValue?.contains("The daemon stopped") == true, "\(told)")
        }

        @Test(.timeLimit(.minutes(1)))
        func pauseWarnsOfWhatItCosts() async throws {
            let scene = try await Scene()
            scene.origin.serve("/whole", unresumable)
            scene.origin.serve("/parts", .stalling(resource, after: 2 << 20))
            let whole = try await scene.add("/whole", to: "whole")
            let parts = try await scene.add("/parts", to: "parts")
            for id in [whole, parts] { try await scene.probe.wait(for: id, bytes: 1 << 20) }
            let answer = try await scene.probe.call("task.pause", ["ids": [.integer(whole), .integer(parts)]])
            #expect(answer["changed"] == [.integer(whole), .integer(parts)])
            guard case .array(let warnings)? = answer["warnings"] else {
                Issue.record("no warning: \(answer)")
                return
            }
            #expect(warnings.map { $0["id"] } == [.integer(whole)])
            let again = try await scene.probe.call("task.pause", ["ids": [.integer(whole)]])
            #expect(again["warnings"] == nil, "nothing moved that could be lost: \(again)")
        }

        /// A plain upload starts over, too.
        @Test(.timeLimit(.minutes(1)))
        func pauseOfAPlainUploadWarns() async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["uploadRateLimit": 1_048_576])
            scene.origin.serveEverything(.status(201))
            let id = try await scene.upload(
                resource.content, to: scene.origin.url("/target"), ["uploadProtocol": "put"])
            try await scene.wait(for: id, sent: 100_000)
            let answer = try await scene.probe.call("task.pause", ["ids": [.integer(id)]])
            guard case .array(let warnings)? = answer["warnings"] else {
                Issue.record("no warning: \(answer)")
                return
            }
            #expect(warnings.count == 1)
        }
    }
}

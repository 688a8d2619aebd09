import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    struct Sessions {
        private let resource = Resource.version(1, size: 5000)

        @Test(.timeLimit(.minutes(1)))
        func aSessionConfiguresItsTasksAndOutlivesAKill() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file.bin", .good(resource))
            let folder = try scene.folder.folder("photos")
            try await scene.probe.call(
                "session.open",
                ["id": "photos", "configuration": ["directory": .string(folder), "conflictPolicy": "fail"]])
            scene = try await scene.restarted()
            let spec: JSONValue = ["url": .string(scene.origin.url("/file.bin"))]
            let first = try await scene.probe.add([spec], session: "photos")[0]
            try await scene.probe.wait(for: first, "completed")
            #expect(resource.content.matches(folder + "/file.bin"))
            let second = try await scene.probe.add([spec], session: "photos")[0]
            #expect(try await scene.probe.wait(for: second, "failed").errorCode == "destination.exists")
        }

        @Test(.timeLimit(.minutes(1)))
        func aFinishedSessionTakesNoMoreAndEndsWithItsLastTask() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 2 << 20), rate: 2 << 20))
            try await scene.probe.call("session.open", ["id": "s"])
            let subscriber = try await scene.daemon.probe()
            try await subscriber.call("events.subscribe", ["after": "now", "sessions": ["s"], "progressInterval": 0])
            let id = try await scene.add(session: "s")
            try await scene.probe.call("session.finish", ["id": "s"])
            await #expect(throws: RPCFailure.self) { try await scene.add(session: "s") }
            let events = try await subscriber.events(until: "session.invalidated")
            let types = events.compactMap { $0["type"]?.stringValue }
            #expect(types.contains("task.completed"))
            #expect(types.contains("session.drained"))
            #expect(try await scene.probe.state(id) == "completed")
        }

        @Test(.timeLimit(.minutes(1)))
        func anInvalidatedSessionCancelsItsTasks() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 8 << 20), at: 1 << 20))
            try await scene.probe.call("session.open", ["id": "s"])
            let id = try await scene.add(session: "s")
            try await scene.probe.wait(for: id, bytes: 1)
            try await scene.probe.call("session.invalidate", ["id": "s"])
            try await scene.probe.wait(for: id, "cancelled")
            #expect(await eventually { scene.names.isEmpty })
            do {
                _ = try await scene.add(session: "s")
                Issue.record("an invalidated session took a task")
            } catch let failure as RPCFailure {
                #expect(failure.code == "session.invalidated")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theNameOfAnInvalidatedSessionOpensANewOne() async throws {
            let scene = try await Scene()
            try await scene.probe.call(
                "session.open", ["id": "s", "configuration": ["conflictPolicy": "fail", "maximumConcurrentTasks": 2]])
            try await scene.probe.call("session.pause", ["id": "s"])
            try await scene.probe.call("session.invalidate", ["id": "s"])
            let refused = try await scene.daemon.dlctl(["session", "set", "s", "maximumConcurrentTasks=3"])
            #expect(refused.status != 0 && refused.output.contains("has ended"), "\(refused)")
            #expect(try await scene.probe.call("session.get", ["id": "s"])["state"] == "invalidated")
            let again = try await scene.probe.call(
                "session.open", ["id": "s", "configuration": ["durability": "relaxed"]])
            #expect(again["state"] == "active" && again["paused"] == nil)
            #expect(again["configuration"]?["durability"] == "relaxed")
            #expect(again["configuration"]?["conflictPolicy"] == nil)
            #expect(again["configuration"]?["maximumConcurrentTasks"] == nil)
        }

        @Test(.timeLimit(.minutes(1)))
        func aProgramThatCannotBeStartedIsRefused() async throws {
            let scene = try await Scene()
            let plain = scene.file("plain")
            try Files.write(plain, [1])
            for program in [plain, scene.file("none"), scene.folder.path] {
                do {
                    try await scene.probe.call(
                        "session.open", ["id": "l", "configuration": ["launch": ["argv": [.string(program)]]]])
                    Issue.record("\(program) was taken")
                } catch let failure as RPCFailure {
                    #expect(failure.code == "request.bad_field" && failure.message.contains(program))
                }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func drainedComesOnceAfterTheLastOfSeveralTasks() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(resource))
            try await scene.probe.call("session.open", ["id": "s"])
            let ids = try await scene.probe.add(
                (0..<10).map { number in
                    [
                        "url": .string(scene.origin.url("/\(number)")),
                        "destination": ["path": .string(scene.file("\(number)"))],
                    ]
                }, session: "s")
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            let events = try await scene.probe.storedEvents(["sessions": ["s"]])
            let types = events.compactMap { $0["type"]?.stringValue }
            #expect(types.filter { $0 == "session.drained" }.count == 1)
            #expect(types.last == "session.drained")
        }

        @Test(.timeLimit(.minutes(1)))
        func anAbsentSubscribersProgramIsStarted() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let mark = scene.file("launched")
            let subscriber = try await scene.daemon.probe()
            try await subscriber.call("events.subscribe", ["subscriber": "app"])
            try await scene.probe.call(
                "session.open",
                [
                    "id": "s",
                    "configuration": [
                        "sendsLaunchEvents": true, "subscriber": "app",
                        "launch": ["argv": ["/bin/sh", "-c", .string("echo $DLD_SESSION >> \(mark)")]],
                    ],
                ])
            let present = try await scene.add("/file", to: "a", session: "s")
            let event = try await subscriber.events(until: "task.completed").last
            #expect(event?["task"]?.integerValue == present)
            #expect(!Files.exists(mark))
            let sequence = try #require(event?["sequence"])
            try await subscriber.call("events.ack", ["subscriber": "app", "sequence": sequence])
            // `session.drained` follows the completion. Acknowledges it too if it is there.
            let head = try await subscriber.call("events.list", ["after": 0, "limit": 1])["head"] ?? sequence
            try await subscriber.call("events.ack", ["subscriber": "app", "sequence": head])
            subscriber.disconnect()

            _ = try await scene.add("/file", to: "b", session: "s")
            #expect(await eventually { Files.exists(mark) })
            #expect(await eventually { (try? Files.text(mark)) == "s\n" })
        }
    }
}

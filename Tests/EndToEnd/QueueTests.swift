import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    struct Queue {
        @Test(.timeLimit(.minutes(1)))
        func slotsAreKeptForEachHostAndInAll() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 100_000), rate: 200_000))
            let other = try MisbehavingOrigin()
            other.serveEverything(.good(.version(1, size: 100_000), rate: 200_000))
            try await scene.probe.call(
                "settings.set", ["maximumConcurrentTasks": 5, "maximumConcurrentTasksPerHost": 3])
            var ids: [Int64] = []
            for origin in [scene.origin, other] {
                ids += try await scene.probe.add(specs(10, origin, scene))
            }
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.origin.peak == 3)
            #expect((2...3).contains(other.peak))
        }

        /// Also after and before tasks that are added later.
        @Test(.timeLimit(.minutes(1)))
        func firstAndLastHoldForLaterTasks() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 100)))
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 1])
            func add(_ names: String...) async throws -> [Int64] {
                try await scene.probe.add(
                    names.map { name in
                        [
                            "url": .string(scene.origin.url("/" + name)), "startPaused": true,
                            "destination": ["path": .string(scene.file(name))],
                        ]
                    })
            }
            let ids = try await add("a", "b", "c", "d")
            for (id, place) in [(ids[0], "last"), (ids[1], "last"), (ids[3], "first")] {
                #expect(try await scene.daemon.dlctl(["update", "\(id)", "--position", place]).status == 0)
            }
            let later = try await add("e")
            try await scene.probe.call("task.resume", ["ids": .array((ids + later).map { .integer($0) })])
            for id in ids + later { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.origin.requests().map(\.request.path) == ["/d", "/c", "/e", "/a", "/b"])
        }

        /// The host itself may be up.
        @Test(.timeLimit(.minutes(1)))
        func aDeadProxyIsNamedAndItsPasswordIsNot() async throws {
            let scene = try await Scene()
            let proxy: JSONValue = "http://me:secret@127.0.0.1:9"
            let id = try await scene.add("/file", to: "file", ["proxy": proxy])
            try await scene.probe.wait(for: id, "waiting")
            let told = try await scene.daemon.dlctl(["explain", "\(id)"]).output
            #expect(told.contains("The proxy 127.0.0.1:9 does not accept connections"), "\(told)")
            #expect(!told.contains("secret") && !told.contains("task.update"), "\(told)")
        }

        @Test(.timeLimit(.minutes(1)))
        func aHostThatFailsDoesNotHoldTheOthersUp() async throws {
            let scene = try await Scene()
            let dead = try MisbehavingOrigin()
            dead.serveEverything(.silent)
            scene.origin.serveEverything(.good(.version(1, size: 1000)))
            let hopeless = try await scene.probe.add(
                specs(40, dead, scene).map { spec in
                    guard case .object(let members) = spec else { return spec }
                    return .object(members.merging(["timeoutIntervalForRequest": 5]) { $1 })
                })
            let good = try await scene.probe.add(specs(20, scene.origin, scene))
            for id in good { try await scene.probe.wait(for: id, "completed", within: 20) }
            #expect(try await scene.probe.state(hopeless[0]) != "completed")
            #expect(dead.peak <= 6)
        }

        /// A transfer of several hours whose failed attempts follow their own back-off.
        @Test(.timeLimit(.minutes(1)))
        func aHostThatAnswersAgainIsOpenToAll() async throws {
            let scene = try await Scene()
            let busy = Behaviour.status(503)
            scene.origin.serve("/other", busy)
            scene.origin.serve("/long", busy, busy, busy, busy, .stalling(.version(1, size: 4 << 20), at: 1 << 20))
            scene.origin.serve("/new", .good(.version(2, size: 1000)))
            let other = try await scene.add("/other")
            try await scene.probe.wait(for: other, "waiting")
            let long = try await scene.add("/long")
            try await scene.probe.wait(for: long, bytes: 1 << 20, within: 30)
            try await scene.probe.wait(for: try await scene.add("/new"), "completed", within: 10)
            #expect(try await scene.probe.state(long) == "running")
        }

        /// The host answers, but the host to which it redirects does not.
        @Test(.timeLimit(.minutes(1)))
        func aHostThatLeadsToADeadOneIsNotHeldBack() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.redirect(to: "http://127.0.0.1:9/away"))
            scene.origin.serve("/here", .good(.version(1, size: 1000)))
            let retry: [String: JSONValue] = ["retry": ["firstDelay": 0.05, "longestDelay": 0.1]]
            for name in ["a", "b"] { _ = try await scene.add("/" + name, to: name, retry) }
            // A breaker that opens after five failures would let one task through after five seconds, then after ten.
            #expect(await eventually(within: 20) { scene.origin.requests().count >= 20 })
            try await scene.probe.wait(for: try await scene.add("/here", to: "here"), "completed")
        }

        @Test(.timeLimit(.minutes(1)))
        func twoTasksForOneNameBothArrive() async throws {
            let scene = try await Scene()
            let first = Resource.version(1, size: 300_000)
            let second = Resource.version(2, size: 300_000)
            scene.origin.serve("/first", .good(first, rate: 600_000))
            scene.origin.serve("/second", .good(second, rate: 600_000))
            let ids = [try await scene.add("/first"), try await scene.add("/second")]
            var files: [String] = []
            for id in ids {
                let task = try await scene.probe.wait(for: id, "completed")
                files.append(try #require(task["file"]?.stringValue))
            }
            #expect(scene.names == ["file", "file (1)"])
            #expect(first.content.matches(files[0]))
            #expect(second.content.matches(files[1]))
        }

        @Test(.timeLimit(.minutes(1)))
        func settingsAreDurableAndTakenBackByNull() async throws {
            var scene = try await Scene()
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 9])
            scene = try await scene.restarted()
            var setting = try await scene.probe.call("settings.get")
            #expect("\(setting)".contains("integer(9)"))
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": .null])
            setting = try await scene.probe.call("settings.get")
            #expect(!"\(setting)".contains("integer(9)"))
            await #expect(throws: RPCFailure.self) {
                try await scene.probe.call("settings.set", ["maximumConcurrentTasks": -1])
            }
            await #expect(throws: RPCFailure.self) { try await scene.probe.call("settings.set", ["colour": "red"]) }
        }

        private func specs(_ count: Int, _ origin: MisbehavingOrigin, _ scene: Scene) -> [JSONValue] {
            (0..<count).map { number in
                [
                    "url": .string(origin.url("/\(number)")),
                    "destination": ["path": .string(scene.file("\(origin.port)-\(number)"))],
                ]
            }
        }
    }
}

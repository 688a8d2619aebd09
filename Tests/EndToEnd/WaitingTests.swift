import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// Promise 7: tasks wait for conditions that clear themselves.
    struct Waiting {
        /// Background sessions wait, whatever task and session say.
        @Test(.timeLimit(.minutes(1)), arguments: [nil, false] as [JSONValue?])
        func aServerThatComesBackIsFoundAgain(waitsForConnectivity: JSONValue?) async throws {
            let scene = try await Scene()
            let port = try ListeningSocket.freePort()
            let resource = Resource.version(1, size: 1000)
            var (spec, configuration) = (Scene.quickRetry, [:] as [String: JSONValue])
            spec["waitsForConnectivity"] = waitsForConnectivity
            configuration["waitsForConnectivity"] = waitsForConnectivity
            try await scene.probe.call("session.open", ["id": "s", "configuration": .object(configuration)])
            let id = try await scene.probe.add(
                "http://127.0.0.1:\(port)/file", to: scene.file(), spec, session: "s")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task.errorCode == "network.connect")
            #expect(task["reason"] == "retry")
            let origin = try MisbehavingOrigin(port: port)
            origin.serve("/file", .good(resource))
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
        }

        /// `lowDataMode` needs no service of the machine.
        @Test(.timeLimit(.minutes(1))) func whatIsForbiddenWaitsAndIsAllowedForOneTaskOrForAll() async throws {
            var scene = try await Scene()
            let resource = Resource.version(1, size: 2_000_000)
            scene.origin.serveEverything(.good(resource, rate: 50_000))
            var ids: [Int64] = []
            for name in ["a", "b"] {
                ids.append(try await scene.add("/\(name)", to: name, ["allowsConstrainedNetworkAccess": false]))
                try await scene.probe.wait(for: ids[ids.count - 1], bytes: 20_000)
            }
            #expect(try await scene.daemon.dlctl(["settings", "lowDataMode=on"]).status == 0)
            for id in ids {
                let task = try await scene.probe.wait(for: id, "waiting")
                #expect(task["reason"] == "metered" && task["error", "details", "condition"] == "lowData")
            }
            let why = try await scene.daemon.dlctl(["explain", "\(ids[0])"]).output
            #expect(why.contains("lowDataMode") && why.contains("dlctl resume --anyway \(ids[0])"), "\(why)")
            scene.origin.serveEverything(.good(resource))
            // The next daemon remembers it too.
            scene = try await scene.restarted()
            #expect(try await scene.daemon.dlctl(["resume", "--anyway", "\(ids[0])"]).status == 0)
            try await scene.probe.wait(for: ids[0], "completed")
            #expect(resource.content.matches(scene.file("a")))
            #expect(try await scene.probe.state(ids[1]) == "waiting")
            #expect(try await scene.daemon.dlctl(["resume", "--anyway", "\(ids[0])"]).status != 0)
            let late = try await scene.daemon.dlctl(
                ["add", "--not-low-data", "--paused", "-o", scene.file("c"), scene.origin.url("/c")])
            #expect(late.status == 0, "\(late)")
            #expect(try await scene.daemon.dlctl(["resume", "--anyway", "\(ids[1] + 1)"]).status == 0)
            try await scene.probe.wait(for: ids[1] + 1, "completed")
            #expect(try await scene.daemon.dlctl(["settings", "lowDataMode=off"]).status == 0)
            try await scene.probe.wait(for: ids[1], "completed")
            #expect((scene.origin.requests("/b").last?.rangeStart ?? 0) > 0)
        }

        /// Tasks that do not wait for a connection fail at once, however long their host has not answered.
        @Test(.timeLimit(.minutes(1))) func tasksThatDoNotWaitAreNotHeldBack() async throws {
            let scene = try await Scene()
            let port = try ListeningSocket.freePort()
            try await scene.probe.call("session.open", ["id": "v", "kind": "default"])
            let spec: JSONValue = ["kind": "data", "url": .string("http://127.0.0.1:\(port)/x")]
            // Otherwise each would be a probe, and wait longer than the previous one.
            for id in try await scene.probe.add(Array(repeating: spec, count: 20), session: "v") {
                #expect(try await scene.probe.wait(for: id, "failed").errorCode == "network.connect")
            }
        }

        /// The disks are checked while the end of the attempt is not stored yet, and again when it is.
        @Test(.timeLimit(.minutes(2)))
        func aDiskIsLookedAtOnceItsTaskIsStored() async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.1])
            let resource = Resource.version(1, size: 3000)
            let gate = scene.file("gate")
            scene.origin.serve(
                "/file",
                Behaviour { _, reply in
                    while !Files.exists(gate) { usleep(1000) }
                    try reply.head(200, "OK", [("Content-Length", "\(resource.content.size)")])
                    try reply.body(resource.content.bytes[...])
                })
            let folder = scene.file("folder"), away = scene.file("away")
            let id = try await scene.add("/file", to: "folder/file")
            let origin = scene.origin
            #expect(await eventually { !origin.requests("/file").isEmpty })
            let lock = try StoreLock(scene.daemon.stateFolder)
            try await lock.acquire()
            #expect(rename(folder, away) == 0)
            try Files.write(gate, "")
            // Leaves time for several checks of the disks. With fewer, the test would prove less.
            try await Task.sleep(for: .seconds(1))
            try await lock.release()
            try await scene.probe.wait(for: id, "waiting", within: 20)
            #expect(rename(away, folder) == 0)
            try await scene.probe.wait(for: id, "completed", within: 30)
            #expect(resource.content.matches(folder + "/file"))
        }

        @Test(.timeLimit(.minutes(1)))
        func attemptsEndWhereTheTaskSaysSo() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(503))
            let id = try await scene.add("/file", to: "file", ["retry": ["attempts": 3, "firstDelay": 0.05]])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task["attempts"] == 3)
            #expect(scene.origin.requests("/file").count == 3)
        }

        @Test(.timeLimit(.minutes(1)))
        func aDeadlineFailsWhatStillWaits() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .status(503, [("Retry-After", "3600")]))
            let deadline = Timestamp.now().advanced(by: 1)
            let id = try await scene.add("/file", to: "file", ["deadlineAt": .string(deadline.description)])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "deadline.exceeded")
        }

        @Test(.timeLimit(.minutes(1)))
        func aLaterStartIsWaitedFor() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            let begin = Timestamp.now().advanced(by: 2)
            let id = try await scene.add("/file", to: "file", ["earliestBeginAt": .string(begin.description)])
            let task = try await scene.probe.task(id)
            if Timestamp.now() < begin {
                #expect(task["state"] == "waiting")
                #expect(task["reason"] == "schedule")
            }
            try await scene.probe.wait(for: id, "completed")
            #expect(Timestamp.now() >= begin)
        }

        @Test(.timeLimit(.minutes(1)))
        func aClosedScheduleIsWaitedForAndAnOpenOneNot() async throws {
            // The daemon's zone is UTC. A window two hours away is closed now, whatever the time.
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            let hour = Int(Timestamp.now().rawValue / 3_600_000) % 24
            // The names of times before are still accepted.
            let window: JSONValue = [
                "from": .string(clock((hour + 2) % 24)), "to": .string(clock((hour + 3) % 24)),
            ]
            try await scene.probe.call("session.open", ["id": "night", "configuration": ["schedule": [window]]])
            let id = try await scene.add(session: "night")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "schedule")
            #expect(task["nextAttemptAt"]?.stringValue != nil)
            #expect(scene.origin.requests().isEmpty)
            let open: JSONValue = ["begin": .string(clock((hour + 23) % 24)), "end": .string(clock((hour + 3) % 24))]
            try await scene.probe.call("session.open", ["id": "night", "configuration": ["schedule": [open]]])
            try await scene.probe.wait(for: id, "completed")
        }

        private func clock(_ hour: Int) -> String { (hour < 10 ? "0" : "") + "\(hour):00" }

        @Test(.timeLimit(.minutes(1)))
        func roomThatMustStayFreeIsRespected() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve("/file", .good(resource))
            try await scene.probe.call(
                "settings.set", ["minimumFreeSpace": .integer(1 << 50), "diskPollInterval": 0.5])
            let id = try await scene.add()
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk")
            #expect(task.errorCode == "disk.full")
            try await scene.probe.call("settings.set", ["minimumFreeSpace": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func plainTextIsRefusedWhereTheTaskForbidsIt() async throws {
            let scene = try await Scene()
            do {
                let id = try await scene.add("/file", to: "file", ["allowsArbitraryLoads": false])
                #expect(try await scene.probe.wait(for: id, "failed").errorCode == "policy.plaintext_refused")
            } catch let failure as RPCFailure {
                #expect(failure.code == "policy.plaintext_refused")
            }
            #expect(scene.origin.requests().isEmpty)
        }
    }
}

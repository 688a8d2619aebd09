import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// Programs that are started to learn what has finished, across deaths of daemons.
    struct Launches {
        private let resource = Resource.version(1, size: 1000)

        private func scene() async throws -> Scene {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            return scene
        }

        /// Opens a session whose program runs `script`.
        private func open(
            _ id: String, _ script: String, interval: JSONValue, in scene: Scene
        ) async throws {
            try await scene.probe.call(
                "session.open",
                [
                    "id": .string(id),
                    "configuration": [
                        "sendsLaunchEvents": true, "subscriber": .string("of-\(id)"), "launchInterval": interval,
                        "launch": ["argv": ["/bin/sh", "-c", .string(script)]],
                    ],
                ])
        }

        private func lines(_ name: String, in scene: Scene) -> Int {
            ((try? Files.text(scene.file(name))) ?? "").split(separator: "\n").count
        }

        /// Waits until another session's program has been started twice, with an interval in between, after all earlier
        /// sessions were looked at.
        private func passInterval(in scene: Scene) async throws {
            try await open(
                "clock", "echo >> \(scene.file("ticks")).$$; echo x >> \(scene.file("ticks"))", interval: 1, in: scene)
            let before = lines("ticks", in: scene)
            _ = try await scene.add("/file", to: "tick-\(before)", session: "clock")
            #expect(await eventually(within: 30) { lines("ticks", in: scene) >= before + 3 })
        }

        @Test(.timeLimit(.minutes(2))) func theIntervalHoldsOverDeaths() async throws {
            var scene = try await scene()
            try await open("s", "echo $DLD_SUBSCRIBER >> \(scene.file("mark"))", interval: 3600, in: scene)
            _ = try await scene.add("/file", to: "a", session: "s")
            #expect(await eventually { lines("mark", in: scene) == 1 })
            for _ in 0..<3 { scene = try await scene.restarted() }
            _ = try await scene.add("/file", to: "b", session: "s")
            try await passInterval(in: scene)
            #expect(try Files.text(scene.file("mark")) == "of-s\n")
        }

        @Test(.timeLimit(.minutes(2))) func theProgramOfADeadDaemonHasNoCopyBesideIt() async throws {
            var scene = try await scene()
            let gate = scene.file("gate")
            #expect(mkfifo(gate, 0o600) == 0)
            try await open(
                "s", "echo x >> \(scene.file("mark")); read -r go < \(gate)", interval: 1, in: scene)
            _ = try await scene.add("/file", to: "a", session: "s")
            #expect(await eventually { lines("mark", in: scene) == 1 })
            scene = try await scene.restarted()
            try await passInterval(in: scene)
            #expect(lines("mark", in: scene) == 1)
            try Files.write(gate, "go\n")
            #expect(await eventually(within: 30) { lines("mark", in: scene) == 2 })
            try await scene.probe.call("session.invalidate", ["id": "s"])
            try Files.write(gate, "go\n")
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["session.invalidate", "events.forget"])
        func launchesEnd(_ method: String) async throws {
            let scene = try await scene()
            try await open("s", "echo x >> \(scene.file("mark"))", interval: 1, in: scene)
            let id = try await scene.add("/file", to: "a", ["startPaused": true], session: "s")
            if method == "events.forget" {
                try await scene.probe.call(method, ["subscriber": "of-s"])
                try await scene.probe.control("resume", id)
                try await scene.probe.wait(for: id, "completed")
            } else {
                try await scene.probe.call(method, ["id": "s"])
                try await scene.probe.wait(for: id, "cancelled")
            }
            try await passInterval(in: scene)
            #expect(lines("mark", in: scene) == 0)
            let session = try await scene.probe.call("session.get", ["id": "s"])
            #expect(session["configuration", "sendsLaunchEvents"] == nil, "\(session)")
            try await open("s", "echo x >> \(scene.file("mark"))", interval: 1, in: scene)
            _ = try await scene.add("/file", to: "b", session: "s")
            #expect(await eventually(within: 30) { lines("mark", in: scene) > 0 })
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// The wall clock is set while a daemon runs, and while none runs: docs/time.md.
    @Suite(.enabled(if: Requirements.has("gcc"), "the library that sets the clock of one process is C"))
    struct Clock {
        /// A daemon with its own wall clock.
        private struct House {
            let folder: TemporaryFolder
            let scene: Scene
            private let clock: String

            init() async throws {
                folder = try TemporaryFolder()
                clock = folder.file("clock")
                let library = folder.file("clock.so")
                var source = URL(fileURLWithPath: #filePath)
                for _ in 0..<2 { source.deleteLastPathComponent() }
                let code = source.appendingPathComponent("Clock/clock.c").path
                try await Program.require(["gcc", "-shared", "-fPIC", "-O1", "-o", library, code, "-ldl"])
                try Files.write(clock, [UInt8](repeating: 0, count: 8))
                scene = try await Scene(environment: ["LD_PRELOAD": library, "CLOCK_FILE": clock])
            }

            /// Sets the daemon's clock to this offset from ours, and makes it look at its clock.
            func set(_ seconds: Int64, _ probe: RPCProbe? = nil) async throws {
                try setSilently(seconds)
                try await (probe ?? scene.probe).call("settings.set", ["progressInterval": 0.5])
            }

            /// The same for a daemon that may not be running.
            func setSilently(_ seconds: Int64) throws {
                let file = open(clock, O_WRONLY | O_CLOEXEC)
                defer { close(file) }
                let count = withUnsafeBytes(of: seconds) { pwrite(file, $0.baseAddress, $0.count, 0) }
                guard count == 8 else { throw SupportError("the clock was not set") }
            }

            func restart(at seconds: Int64) async throws -> RPCProbe {
                _ = try await scene.daemon.terminate()
                try setSilently(seconds)
                try await scene.daemon.start()
                return try await scene.daemon.probe()
            }
        }

        private static let hour: Int64 = 3600
        private static let year: Int64 = 400 * 86400

        /// The daemon's own clock, taken from the time of an event that it stores now.
        private func now(_ probe: RPCProbe, _ name: String) async throws -> Timestamp {
            let session = try await probe.call("session.open", ["id": .string(name)])
            return try #require(session["createdAt"]?.stringValue.flatMap { Timestamp($0) })
        }

        private func gated(_ gate: String, _ resource: Resource) -> Behaviour {
            Behaviour { _, reply in
                let bytes = resource.content.bytes
                try reply.head(200, "OK", [("Content-Length", "\(bytes.count)"), ("ETag", "\"v\"")])
                try reply.body(bytes[..<200_000])
                while !Files.exists(gate) { usleep(1000) }
                try reply.body(bytes[200_000...])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func clocksThatAreSetUnderADaemon() async throws {
            let house = try await House()
            let (scene, probe) = (house.scene, house.scene.probe)
            let resource = Resource.version(1, size: 400_000)
            let gate = scene.file("gate")
            scene.origin.serve("/held", gated(gate, resource))
            scene.origin.serve("/busy", .status(503, [("Retry-After", "2")]), .good(.version(2, size: 1000)))
            scene.origin.serveEverything(.good(.version(3, size: 1000)))
            let begin = Timestamp.now()
            func date(_ seconds: Seconds) -> JSONValue { .string(begin.advanced(by: seconds).description) }

            let done = try await scene.add("/done", to: "done")
            try await probe.wait(for: done, "completed")
            let running = try await scene.add("/held", to: "held", ["timeoutIntervalForResource": 1800])
            try await probe.wait(for: running, bytes: 200_000)
            let scheduled = try await scene.add("/later", to: "later", ["earliestBeginAt": date(1800)])
            let ending = try await scene.add(
                "/never", to: "never", ["startPaused": true, "deadlineAt": date(1800)])
            let retried = try await scene.add("/busy", to: "busy")
            try await probe.wait(for: retried, "waiting", "completed")

            // One hour back: intervals continue to count, but dates are an hour further away.
            try await house.set(-Self.hour)
            #expect(try await now(probe, "back") < begin.advanced(by: -1800))
            try await probe.wait(for: retried, "completed", within: 60)
            #expect(try await probe.state(scheduled) == "waiting")
            #expect(try await probe.state(ending) == "paused")
            #expect(try await probe.state(running) == "running")

            // Two hours forward: dates have passed, but the half hour of the resource timeout has not.
            try await house.set(Self.hour)
            try await probe.wait(for: scheduled, "completed")
            #expect(try await probe.wait(for: ending, "failed").errorCode == "deadline.exceeded")
            #expect(try await probe.state(running) == "running")

            // 400 days forward: nothing that is kept for thirty days is removed, and the transfer ends in its own time.
            try await house.set(Self.year)
            #expect(try await now(probe, "forward") > begin.advanced(by: 34_000_000))
            try Files.write(gate, "")
            try await probe.wait(for: running, "completed")
            #expect(resource.content.matches(scene.file("held")))
            #expect(try await probe.state(done) == "completed")
            let ends = try await probe.storedEvents(["types": ["task.completed"]])
            #expect(ends.contains { $0["task"] == .integer(done) })
            let durations = ends.compactMap { $0["duration"]?.numberValue }
            #expect(durations.count == 4 && durations.allSatisfy { (0..<600).contains($0) }, "\(durations)")
            let numbers = try await probe.storedEvents().compactMap { $0["sequence"]?.integerValue }
            #expect(numbers == Array(1...Int64(numbers.count)))
        }

        @Test(.timeLimit(.minutes(2)))
        func clocksThatAreSetWhileNoDaemonRuns() async throws {
            let house = try await House()
            let scene = house.scene
            scene.origin.serve("/done", .good(.version(1, size: 1000)))
            for path in ["/back", "/forward"] {
                scene.origin.serve(path, .status(503, [("Retry-After", "4")]), .good(.version(2, size: 1000)))
            }
            let token: [String: JSONValue] = ["clientToken": "once"]
            let done = try await scene.add("/done", to: "done", token)
            try await scene.probe.wait(for: done, "completed")
            let back = try await scene.add("/back", to: "back")
            try await scene.probe.wait(for: back, "waiting", "completed")

            var probe = try await house.restart(at: -Self.hour)
            try await probe.wait(for: back, "completed", within: 60)
            // The same request within a day returns the same task.
            let again = Scene.quickRetry.merging(token) { $1 }
            #expect(try await probe.add(scene.origin.url("/done"), to: scene.file("done"), again) == done)

            let forward = try await probe.add(scene.origin.url("/forward"), to: scene.file("forward"))
            try await probe.wait(for: forward, "waiting", "completed")
            probe = try await house.restart(at: Self.year)
            // Housekeeping runs before anything else at the start.
            try await probe.wait(for: forward, "completed")
            #expect(try await probe.state(done) == "completed")
            #expect(try await probe.storedEvents().first?["sequence"] == 1)
            #expect(Content.same(scene, "done", "forward"))
        }

        /// The rate of a window ends with it, on the same connection.
        @Test(.timeLimit(.minutes(2))) func aRunningTransferGetsTheRateOfTheNextWindow() async throws {
            let house = try await House()
            let (scene, probe) = (house.scene, house.scene.probe)
            let resource = Resource.version(1, size: 16 << 20)
            scene.origin.serve("/file", .good(resource))
            func text(_ seconds: Int) -> JSONValue {
                var (time, parts) = (Glibc.time(nil) + seconds, tm())
                localtime_r(&time, &parts)
                return .string(String(format: "%02d:%02d", parts.tm_hour, parts.tm_min))
            }
            let slow: JSONValue = ["from": text(-3600), "to": text(3600), "downloadRateLimit": 65536]
            let schedule: JSONValue = [slow, ["from": text(3600), "to": text(-3600)]]
            try await probe.call("session.open", ["id": "s", "configuration": ["schedule": schedule]])
            let id = try await scene.add("/file", to: "file", ["connections": 1], session: "s")
            try await probe.wait(for: id, bytes: 65536)
            // Without the limit, so much would be there in no time.
            #expect((try await probe.task(id)["bytesReceived"]?.integerValue ?? 0) < 8 << 20)
            try await house.set(2 * Self.hour)
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").count == 1)
        }
    }
}

extension Content {
    fileprivate static func same(_ scene: Scene, _ names: String...) -> Bool {
        names.allSatisfy { Files.status(scene.file($0)).map { $0.st_size == 1000 } ?? false }
    }
}

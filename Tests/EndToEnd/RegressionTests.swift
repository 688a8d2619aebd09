import Foundation
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

extension EndToEnd.Serving {
    /// Earlier defects of the whole daemon.
    struct Regression {
        private static let coded: [UInt8] = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0, 0x80, 0x88,
            0xf9, 0xe5, 0x11, 0, 0, 0,
        ]

        @Test(.timeLimit(.minutes(1)))
        func aDecodedFileThatFailsItsChecksumLeavesNothingBehind() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .coded(Resource(Content(bytes: Self.coded), etag: "\"coded\""), "gzip"))
            let wrong = String(repeating: "0", count: 64)
            let id = try await scene.add("/file", ["checksum": ["algorithm": "sha-256", "value": .string(wrong)]])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.checksum")
            // The part file is removed after the end is stored.
            #expect(await eventually { scene.names.isEmpty })
        }

        @Test(.timeLimit(.minutes(1)))
        func aBodyThatCannotBeDecodedIsFetchedAgain() async throws {
            let scene = try await Scene()
            let broken = Resource(Content(bytes: Array(Self.coded.dropLast(12))), etag: "\"broken\"")
            let whole = Resource(Content(bytes: Self.coded), etag: "\"coded\"")
            scene.origin.serve("/file", .coded(broken, "gzip"), .coded(whole, "gzip"))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(Content("hello hello hello").matches(scene.file()))
            #expect(scene.names == ["file"])
        }

        /// A client that changed tasks which a dead daemon had been running, before they were queued again, prevented
        /// the next daemon from starting.
        @Test(.timeLimit(.minutes(2)))
        func whatRanIsQueuedAgainBeforeAnyoneIsAnswered() async throws {
            let daemon = try DaemonProcess()
            try await Self.leave(running: 5000, in: daemon.stateFolder)
            async let answered = Self.firstAnswer(of: daemon)
            try await daemon.start()
            let counts = try await answered["tasks"]
            #expect(try #require(counts?["running"]?.integerValue) < 100)
            let changed = try await daemon.probe().call("task.pause", ["all": true])["changed"]?.arrayValue
            #expect(try #require(changed).count > 4000)
            #expect(daemon.isRunning)
        }

        private static func firstAnswer(of daemon: DaemonProcess) async throws -> JSONValue {
            let limit = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < limit {
                if let probe = try? await daemon.probe() { return try await probe.call("daemon.stats") }
                await Task.yield()
            }
            throw SupportError("nobody answers")
        }

        /// Makes the state of a daemon that died while this many tasks were running.
        private static func leave(running count: Int, in stateFolder: String) async throws {
            let store = try TransferStore(folder: stateFolder)
            defer { store.close() }
            let now = ClockReading(
                wall: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), boot: 0)
            try await store.write { transaction in
                let session = SessionKey(owner: UserID(getuid()), identifier: "default")
                try transaction.insertSession(
                    SessionRecord(key: session, configuration: SessionConfiguration(), createdAt: now.wall))
                for number in 0..<count {
                    var spec = TaskSpec()
                    spec.url = "http://127.0.0.1:9/\(number)"
                    spec.destination = Destination(path: stateFolder + "/../\(number)")
                    var (status, _) = TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: now)
                    status.state = .running
                    _ = try transaction.insert(
                        NewTask(session: session, spec: spec, status: status, host: "http://127.0.0.1:9"))
                }
            }
        }
    }
}

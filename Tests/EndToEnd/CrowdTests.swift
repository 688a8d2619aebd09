import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// Promises 2 and 3 for many slow transfers at a time, which are read, synced and stored together.
    struct Crowd {
        private static let count = 80
        private static let resource = Resource.version(1, size: 200_000)
        /// Less than the amount for which a socket of a crowd waits.
        private static let beginning = 5000

        /// Sends the beginning and then nothing more. A request for the rest gets the rest.
        private static let stuck = Behaviour.choose { request in
            request.range == nil
                ? Behaviour { _, reply in
                    try reply.head(
                        200, "OK",
                        [("ETag", resource.etag ?? ""), ("Content-Length", "\(resource.content.size)")])
                    try reply.body(resource.content.bytes.prefix(beginning))
                    try reply.beSilent()
                } : .good(resource)
        }

        private static func begin(
            _ probe: RPCProbe, _ origin: MisbehavingOrigin, in folder: String
        ) async throws -> [Int64] {
            origin.serveEverything(stuck)
            let all = JSONValue.integer(Int64(count))
            try await probe.call(
                "settings.set", ["maximumConcurrentTasks": all, "maximumConcurrentTasksPerHost": all])
            return try await probe.add(
                (0..<count).map { number in
                    [
                        "url": .string(origin.url("/\(number)")), "retry": ["firstDelay": 0.05, "longestDelay": 0.2],
                        "destination": ["path": .string("\(folder)/\(number)")],
                    ]
                })
        }

        /// Everything came completely, and no byte came twice.
        private static func expectNothingLost(
            _ ids: [Int64], _ probe: RPCProbe, _ origin: MisbehavingOrigin, in folder: String
        ) async throws {
            for id in ids { try await probe.wait(for: id, "completed") }
            for number in 0..<count {
                #expect(resource.content.matches("\(folder)/\(number)"))
                #expect(origin.requests("/\(number)").map(\.rangeStart) == [nil, beginning])
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func aKillCostsNothingThatWasWritten() async throws {
            var scene = try await Scene()
            let ids = try await Self.begin(scene.probe, scene.origin, in: scene.folder.path)
            for id in ids { try await scene.probe.wait(for: id, bytes: Self.beginning) }
            scene = try await scene.restarted()
            try await Self.expectNothingLost(ids, scene.probe, scene.origin, in: scene.folder.path)
        }

        @Test(
            .timeLimit(.minutes(3)),
            .enabled(if: CrashableDisk.isPossible, "loop mounts need root"))
        func aPowerCutCostsNothingThatWasCheckpointed() async throws {
            let disk = try await CrashableDisk.make(megabytes: 256)
            let origin = try MisbehavingOrigin()
            let daemon = try await DaemonProcess.started(stateFolder: disk.path + "/state")
            let out = disk.path + "/out"
            let ids = try await Self.begin(try await daemon.probe(), origin, in: out)
            let stored = try CheckpointCount(disk.path + "/state")
            let isStored = try await eventually(within: 60, every: 0.1) {
                try await stored.checkpoints(from: Self.beginning) == Self.count
            }
            #expect(isStored)
            try disk.cutPower()
            try await daemon.kill()
            try await disk.unmount()
            try await disk.mount()
            try await daemon.start()
            try await Self.expectNothingLost(ids, try await daemon.probe(), origin, in: out)
        }
    }
}

/// Reads the store of a running daemon.
struct CheckpointCount {
    private let database: String

    private static let script = """
        import sqlite3, sys
        database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True, timeout=30)
        print(database.execute("SELECT count(*) FROM checkpoint WHERE part_offset = ?", (int(sys.argv[2]),)).fetchone()[0])
        """

    init(_ stateFolder: String) throws { database = stateFolder + "/dld.sqlite" }

    /// The number of stored checkpoints at this offset.
    func checkpoints(from offset: Int) async throws -> Int? {
        let (status, output) = try await Program.run(["python3", "-c", Self.script, database, "\(offset)"])
        guard status == 0 else { throw SupportError("python3: \(output)") }
        return Int(output.trimmingPrefix { $0.isWhitespace }.prefix { $0.isNumber })
    }
}

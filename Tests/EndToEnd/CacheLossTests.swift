import Foundation
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Surviving {
    /// After deaths of the daemon and damage to the cache's files, tasks still get the right bytes, from wherever.
    struct CacheLoss {
        private static let short = resource(1, 2000)
        private static let long = resource(2, 60_000)

        private static func resource(_ seed: UInt64, _ size: Int) -> Resource {
            var resource = Resource.version(seed, size: size)
            // The Date of test resources makes them old.
            resource.date = nil
            return resource.with("Cache-Control", "max-age=600")
        }

        private func open(_ scene: Scene) async throws {
            try await scene.probe.call("session.open", ["id": "v", "kind": "default"])
        }

        private func scene() async throws -> Scene {
            let scene = try await Scene()
            scene.origin.serve("/short", .good(Self.short))
            scene.origin.serve("/long", .good(Self.long))
            try await open(scene)
            return scene
        }

        /// Fetches both resources and compares their bytes with the server's.
        /// - Returns: how many came from the cache.
        private func fetch(_ scene: Scene) async throws -> Int {
            var cached = 0
            for (path, resource) in [("/short", Self.short), ("/long", Self.long)] {
                let id = try await scene.probe.add(
                    [["kind": "data", "url": .string(scene.origin.url(path))]], session: "v")[0]
                let task = try await scene.probe.wait(for: id, "completed")
                let data = try await scene.probe.call("task.body", ["id": .integer(id)])["data"]?.stringValue
                #expect(Base64Text.decode(data ?? "") == resource.content.bytes)
                if task["response", "fromCache"] == true { cached += 1 }
            }
            return cached
        }

        private func stored(_ scene: Scene) async throws -> Int64 {
            try await scene.probe.call("cache.info")["storages"]?.arrayValue?.first?["diskEntries"]?.integerValue ?? 0
        }

        @Test(.timeLimit(.minutes(1)))
        func theDisksPartOutlivesAKill() async throws {
            let scene = try await scene()
            #expect(try await fetch(scene) == 0)
            #expect(try await eventually { try await stored(scene) == 2 })
            let next = try await scene.restarted()
            try await open(next)
            #expect(try await fetch(next) == 2)
            #expect(next.origin.requests("/long").count == 1)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["removed", "garbage", "bodies", "cut"])
        func whateverHappensToItsFilesTasksAreServed(damage: String) async throws {
            let scene = try await scene()
            _ = try await fetch(scene)
            #expect(try await eventually { try await stored(scene) == 2 })
            let folder = "\(scene.daemon.stateFolder)/cache"
            let database = URL(fileURLWithPath: "\(folder)/cache.sqlite")
            switch damage {
            case "removed": try FileManager.default.removeItem(atPath: folder)
            case "garbage":
                try FileHandle(forWritingTo: database).write(contentsOf: Data(repeating: 0x5A, count: 200_000))
            case "bodies":
                for name in Files.names(in: "\(folder)/bodies") {
                    try Data(repeating: 0x5A, count: 60_000).write(to: URL(fileURLWithPath: "\(folder)/bodies/\(name)"))
                }
            default: try FileHandle(forWritingTo: database).truncate(atOffset: 5000)
            }
            _ = try await fetch(scene)
            let next = try await scene.restarted()
            try await open(next)
            _ = try await fetch(next)
            #expect(try await fetch(next) == 2)
        }

        /// Nothing of an ephemeral session's cache is on the disk.
        @Test(.timeLimit(.minutes(1)))
        func ephemeralSessionsLeaveNothing() async throws {
            let scene = try await Scene()
            scene.origin.serve("/long", .good(Self.long))
            try await scene.probe.call("session.open", ["id": "v", "kind": "ephemeral"])
            for isCached in [false, true] {
                let id = try await scene.probe.add(
                    [["kind": "data", "url": .string(scene.origin.url("/long"))]], session: "v")[0]
                let task = try await scene.probe.wait(for: id, "completed")
                #expect((task["response", "fromCache"] == true) == isCached)
            }
            #expect(try await stored(scene) == 0)
            #expect(Files.names(in: "\(scene.daemon.stateFolder)/cache/bodies").isEmpty)
        }
    }
}

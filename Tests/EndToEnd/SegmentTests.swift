import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Gathering {
    /// Downloads of several segments at once: one version, complete, and nothing fetched twice.
    @Suite(.oneDaemon) struct Segments {
        private static let size = 32 << 20

        private func add(_ scene: Scene, connections: Int64 = 16, _ more: [String: JSONValue] = [:]) async throws
            -> Int64
        {
            try await scene.add("/file", to: "file", ["connections": .integer(connections)].merging(more) { $1 })
        }

        @Test(.timeLimit(.minutes(1)))
        func partsComeSideBySide() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: Self.size)
            let isSeen = Guarded(false)
            // Half of each segment.
            scene.origin.serve(
                "/file", .pausing(resource, after: Self.size / 16 / 2, until: isSeen, rate: 2 << 20))
            let id = try await add(scene)
            try await scene.probe.wait(for: id, bytes: Self.size / 4)
            let segments = try await scene.probe.task(id)["segments"]?.arrayValue ?? []
            #expect(segments.count == 16)
            for segment in segments {
                let (start, end) = (segment["start"]?.integerValue ?? -1, segment["end"]?.integerValue ?? -1)
                #expect(start >= 0 && start < end && end <= Self.size)
                #expect((segment["received"]?.integerValue ?? -1) <= end - start)
            }
            isSeen.withLock { $0 = true }
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            let requests = scene.origin.requests("/file")
            #expect(requests.first?.header("Range") == nil)
            #expect(requests.dropFirst().allSatisfy { $0.header("If-Range") == resource.etag && $0.status == 206 })
            #expect(scene.origin.peak == 16)
            #expect(try await scene.probe.task(id)["verified"] == false, "nobody gave a digest")
            // What a connection had in flight when its end moved down.
            #expect(try await scene.bytesTaken(id) <= Self.size + (4 << 20))
            let responses = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.response"]])
            #expect(responses.count == 1, "one answer is told, not one of each part")
        }

        @Test(.timeLimit(.minutes(3)), arguments: [UInt64(1), 2])
        func killedFiveTimesItIsWholeAndHardlyAnythingIsSentTwice(_ seed: UInt64) async throws {
            var scene = try await Scene()
            let resource = Resource.version(seed, size: Self.size)
            // No answer supplies more than a sixth of a segment, so five daemons together cannot reach the end.
            scene.origin.serve("/file", .stalling(resource, after: Self.size / 16 / 6, rate: Self.size / 16 / 3))
            let id = try await add(scene)
            var wanted = 0
            for _ in 1...5 {
                // At most two fifths of what one daemon can add, because what it begins with is less than was wanted.
                wanted += Int.random(in: 1...Self.size / 16)
                try await scene.probe.wait(for: id, bytes: wanted)
                scene = try await scene.restarted()
            }
            scene.origin.serve("/file", .good(resource))
            scene.origin.dropConnections()
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            for request in scene.origin.requests("/file").dropFirst() {
                #expect(request.header("If-Range") == resource.etag)
            }
            // For each kill and connection: socket buffers and what had not reached the file.
            #expect(scene.origin.bytesSent("/file") <= Int64(Self.size + 5 * 16 * (512 << 10)))
        }

        /// The answer that is fetched as a whole is one version; parts that do not say theirs are not mixed into it.
        @Test(.timeLimit(.minutes(1)))
        func partsOfAnotherVersionWithoutAValidatorAreNotTaken() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: Self.size)
            let parts = Behaviour.unproven(.version(2, size: Self.size))
            scene.origin.serve(
                "/file", .choose { $0.range == nil ? .good(resource, rate: 8 << 20) : parts })
            try await scene.probe.wait(for: try await add(scene, connections: 4), "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").contains { $0.rangeStart != nil })
        }

        @Test(.timeLimit(.minutes(1)), arguments: [403, 501])
        func aServerThatRefusesRangesGivesTheWhole(_ status: Int) async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: Self.size)
            let parts = Behaviour.status(status)
            scene.origin.serve(
                "/file", .choose { $0.range == nil ? .good(resource, rate: 8 << 20) : parts })
            try await scene.probe.wait(for: try await add(scene, connections: 4), "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").contains { $0.rangeStart != nil })
        }

        @Test(.timeLimit(.minutes(1)), arguments: [Int64(1), 5])
        func aPausedDownloadFillsItsGapsOverAnyNumberOfConnections(_ connections: Int64) async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: Self.size)
            scene.origin.serve("/file", .stalling(resource, after: Self.size / 8 / 2, rate: 1 << 20))
            let id = try await add(scene, connections: 8)
            try await scene.probe.wait(for: id, bytes: Self.size / 4)
            try await scene.probe.call("task.pause", ["ids": [.integer(id)]])
            let paused = try await scene.probe.task(id)
            #expect(paused["segments"]?.arrayValue?.count == 8)
            let held = paused["bytesReceived"]?.integerValue ?? 0
            #expect(held >= Self.size / 4 && held < Self.size)

            let data = try await scene.probe.call("task.resumeData", ["id": .integer(id)])["resumeData"]
            let before = scene.origin.bytesSent("/file")
            scene.origin.serve("/file", .good(resource))
            let ids = try await scene.probe.add([
                ["resumeData": data ?? .null, "connections": .integer(connections)]
            ])
            try await scene.probe.wait(for: ids[0], "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            // For each gap: what the sockets of a connection hold that is ended at the gap's end.
            #expect(scene.origin.bytesSent("/file") - before <= Int64(Self.size) - held + 8 * (512 << 10))
            let resumed = try await scene.probe.storedEvents(["tasks": [.integer(ids[0])], "types": ["task.resumed"]])
            #expect(resumed.first?["offset"]?.integerValue == held)
        }

        struct Trouble: Sendable, CustomTestStringConvertible {
            var testDescription: String
            /// The answer to the k-th request and later ones, if they request a segment.
            var answer: @Sendable (_ old: Resource, _ new: Resource) -> Behaviour
            /// The version that arrives; nil if either may.
            var arrives: Int?
            var restarts: ClosedRange<Int>
        }

        static let troubles = [
            Trouble(
                testDescription: "another ETag and another version", answer: { .otherETag($1) }, arrives: nil,
                restarts: 1...3),
            Trouble(testDescription: "changed for good", answer: { .good($1) }, arrives: 2, restarts: 1...2),
            Trouble(
                testDescription: "wrong start", answer: { old, _ in .wrongStart(old) }, arrives: 1, restarts: 1...3),
            Trouble(
                testDescription: "other total", answer: { old, _ in .otherTotal(old) }, arrives: 1, restarts: 1...3),
            Trouble(
                testDescription: "no Content-Range", answer: { old, _ in .noContentRange(old) }, arrives: 1,
                restarts: 1...3),
            Trouble(
                testDescription: "ranges dropped", answer: { old, _ in .ignoringRange(old) }, arrives: 1,
                restarts: 0...1),
            Trouble(
                testDescription: "everything to If-Range", answer: { old, _ in .wholeToIfRange(old) }, arrives: 1,
                restarts: 0...0),
            Trouble(
                testDescription: "short parts", answer: { old, _ in .shortPart(old, length: 700_000) }, arrives: 1,
                restarts: 0...0),
            Trouble(
                testDescription: "416", answer: { old, _ in .neverSatisfiable(old, total: nil) }, arrives: 1,
                restarts: 1...3),
        ]

        /// From the k-th request on, something is wrong with every segment.
        @Test(.timeLimit(.minutes(2)), arguments: troubles, [2, 4])
        func neverMixesVersions(_ trouble: Trouble, _ first: Int) async throws {
            let scene = try await Scene.shared()
            let size = 8 << 20
            let (old, new) = (Resource.version(1, size: size), Resource.version(2, size: size))
            let good = (1..<first).map { _ in Behaviour.good(old, rate: 4 << 20) }
            scene.origin.script("/file", good + [trouble.answer(old, new)])
            let id = try await add(scene, connections: 5)
            try await scene.probe.wait(for: id, "completed")
            let (isOld, isNew) = (old.content.matches(scene.file()), new.content.matches(scene.file()))
            #expect(isOld || isNew)
            if let version = trouble.arrives { #expect(version == 1 ? isOld : isNew) }
            #expect(trouble.restarts.contains(try await scene.restartCodes(id).count))
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aTagForEachConnectionEndsInOneStream() async throws {
            let scene = try await Scene.shared()
            let content = Content(seed: 1, size: 8 << 20)
            scene.origin.serve(
                "/file",
                .choose { .good(Resource(content, etag: "\"connection-\($0.connection)\""), rate: 8 << 20) })
            let id = try await add(scene, connections: 6)
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(try await scene.restartCodes(id).count == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func aSilentConnectionIsReplacedWhileOthersGoOn() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 8 << 20)
            scene.origin.serve(
                "/file", .good(resource, rate: 1 << 20), .stalling(resource, after: 100_000),
                .good(resource, rate: 1 << 20))
            let id = try await add(scene, connections: 3, ["timeoutIntervalForRequest": 1])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(try await scene.probe.task(id)["attempts"]?.integerValue == 1)
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func aServerThatTakesFourConnectionsKeepsThem() async throws {
            let scene = try await Scene.shared()
            let nginx = try await Nginx.start(
                http: "limit_conn_zone $server_port zone=few:1m;", extra: "limit_conn few 4; limit_rate 500k;")
            let content = Content(seed: 3, size: 12 << 20)
            try Files.write(nginx.folder.file("www/file"), content.bytes)
            let id = try await scene.probe.add(
                nginx.url("file"), to: scene.file(), Scene.quickRetry.merging(["connections": 16]) { $1 })
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(try await scene.probe.task(id)["attempts"]?.integerValue == 1)
            let refused = nginx.accessLog.filter { $0.hasPrefix("503") }.count
            #expect(refused >= 8 && refused <= 24, "\(nginx.accessLog)")
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func overTLSEachPartHasAConnectionOfItsOwn() async throws {
            let scene = try await Scene.shared()
            let nginx = try await Nginx.start(tls: true, extra: "limit_rate 2m;")
            let content = Content(seed: 4, size: Self.size)
            try Files.write(nginx.folder.file("www/file"), content.bytes)
            let ca = nginx.certificates?.authority ?? ""
            let id = try await scene.probe.add(
                nginx.tlsURL("file"), to: scene.file(),
                Scene.quickRetry.merging(["connections": 8, "caFile": .string(ca)]) { $1 })
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            let parts = nginx.accessLog.filter { $0.hasPrefix("206") }
            #expect(parts.count >= 7 && parts.allSatisfy { $0.contains("HTTP/1.1") })
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Gathering {
    /// A file with several mirrors. Without a digest, they are used one after the other and never mixed.
    @Suite(.oneDaemon) struct Mirrors {
        private static let size = 4 << 20

        private func add(
            _ scene: Scene, _ mirrors: [String], _ more: [String: JSONValue] = [:], url: String? = nil
        ) async throws -> Int64 {
            let members: [String: JSONValue] = ["mirrors": .array(mirrors.map { .string($0) })]
            return try await scene.probe.add(
                url ?? scene.origin.url("/file"), to: scene.file(),
                Scene.quickRetry.merging(members) { $1 }.merging(more) { $1 })
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["dead", "404", "silent", "cut"])
        func anotherPlaceIsAskedWhereOneFails(_ trouble: String) async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let resource = Resource.version(1, size: Self.size)
            mirror.serve("/copy", .good(resource))
            switch trouble {
            case "dead": scene.origin.stop()
            case "404": scene.origin.serve("/file", .status(404))
            case "silent": scene.origin.serve("/file", .silent)
            default: scene.origin.serve("/file", .reset)
            }
            let id = try await add(scene, [mirror.url("/copy")], ["timeoutIntervalForRequest": 1])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect(task["attempts"]?.integerValue == 1)
            #expect(task["mirrors"]?.arrayValue?.first?.stringValue == mirror.url("/copy"))
            #expect(task["response", "url"]?.stringValue == mirror.url("/copy"))
            #expect(try await bringers(scene, id) == [[.string(mirror.url("/copy"))]])
            let line = try await scene.daemon.dlctl(["events", "--after", "start", "--type", "task.completed"]).output
            #expect(line.contains(scene.origin.url("/file") + ", from " + mirror.url("/copy")), "\(line)")
        }

        /// The mirrors that `task.completed` names.
        private func bringers(_ scene: Scene, _ id: Int64) async throws -> [[JSONValue]?] {
            try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.completed"]]).map {
                $0["mirrors"]?.arrayValue
            }
        }

        /// Not those of an earlier attempt whose bytes were dropped; and the task's own URL is no mirror.
        @Test(.timeLimit(.minutes(1))) func onlyMirrorsThatBroughtBytesAreNamed() async throws {
            let scene = try await Scene.shared()
            let (mirror, other) = (try MisbehavingOrigin(), try MisbehavingOrigin())
            let resource = Resource.version(1, size: Self.size)
            scene.origin.serve("/file", .status(404))
            mirror.serve("/copy", .good(resource, cutAfter: Self.size / 2), .status(410))
            other.serve("/copy", .good(.version(2, size: Self.size)))
            let id = try await add(scene, [mirror.url("/copy"), other.url("/copy")])
            try await scene.probe.wait(for: id, "completed")
            #expect(try await bringers(scene, id) == [[.string(other.url("/copy"))]])
            scene.origin.serve("/good", .good(.version(2, size: 100)))
            let own = try await scene.probe.add(
                scene.origin.url("/good"), to: scene.file("own"), ["mirrors": [.string(mirror.url("/copy"))]])
            try await scene.probe.wait(for: own, "completed")
            #expect(try await bringers(scene, own) == [nil])
        }

        @Test(.timeLimit(.minutes(1)))
        func aTaskFailsWhereNoPlaceHasTheFile() async throws {
            let scene = try await Scene.shared()
            scene.origin.serveEverything(.status(404))
            let id = try await add(scene, [scene.origin.url("/a"), scene.origin.url("/b")])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            #expect(scene.origin.requests().map(\.request.path) == ["/file", "/a", "/b"])
            #expect(scene.names == [])
        }

        /// The first mirror breaks in the middle, permanently. The other one has another version of the same length.
        @Test(.timeLimit(.minutes(1)))
        func withoutADigestNothingIsMixed() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let (one, other) = (Resource.version(1, size: Self.size), Resource.version(2, size: Self.size))
            scene.origin.serve("/file", .good(one, cutAfter: Self.size / 2), .status(410))
            mirror.serve("/copy", .good(other))
            let id = try await add(scene, [mirror.url("/copy")])
            try await scene.probe.wait(for: id, "completed")
            #expect(other.content.matches(scene.file()))
            #expect(mirror.requests("/copy").allSatisfy { $0.header("Range") == nil && $0.header("If-Range") == nil })
        }

        /// Bytes are not given up for another mirror because a connection broke once.
        @Test(.timeLimit(.minutes(1)))
        func whatIsHeldIsContinuedWhereItIsFrom() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let resource = Resource.version(1, size: Self.size)
            scene.origin.serve("/file", .good(resource, cutAfter: Self.size / 2), .good(resource))
            mirror.serve("/copy", .good(resource))
            let id = try await add(scene, [mirror.url("/copy")])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(mirror.requests().isEmpty)
            #expect(scene.origin.requests("/file").last?.header("If-Range") == resource.etag)
        }

        /// A mirror's bytes are continued at that mirror, also by the next daemon.
        @Test(.timeLimit(.minutes(1)))
        func aKilledDaemonGoesOnWhereItsBytesAreFrom() async throws {
            var scene = try await Scene()
            let mirror = try MisbehavingOrigin()
            let (one, other) = (Resource.version(1, size: Self.size), Resource.version(2, size: Self.size))
            scene.origin.serve("/file", .status(404), .good(other))
            mirror.serve("/copy", .stalling(one, after: Self.size / 2), .good(one))
            let id = try await add(scene, [mirror.url("/copy")])
            try await scene.probe.wait(for: id, bytes: Self.size / 4)
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(one.content.matches(scene.file()))
            #expect(mirror.requests("/copy").last?.header("If-Range") == one.etag)
            #expect(scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func underADigestAnotherPlaceGoesOnWithTheBytes() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let content = Content(seed: 1, size: Self.size)
            scene.origin.serve("/file", .good(Resource(content, etag: "\"a\""), cutAfter: Self.size / 2), .status(410))
            mirror.serve("/copy", .good(Resource(content, etag: "\"b\"")))
            let id = try await add(
                scene, [mirror.url("/copy")], ["checksum": content.checksum, "connections": 1])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(task["attempts"]?.integerValue == 1)
            #expect(mirror.bytesSent("/copy") <= Int64(Self.size / 2 + (1 << 20)))
            #expect(mirror.requests("/copy").allSatisfy { $0.header("If-Range") == nil })
        }

        /// The digest shows that the first mirror has other bytes. The second supplies the whole file.
        @Test(.timeLimit(.minutes(1)))
        func aWrongDigestIsTriedAtEachPlace() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let (wrong, right) = (Resource.version(1, size: Self.size), Resource.version(2, size: Self.size))
            scene.origin.serve("/file", .good(wrong))
            scene.origin.serve("/third", .good(wrong))
            mirror.serve("/copy", .good(right))
            let id = try await add(
                scene, [scene.origin.url("/third"), mirror.url("/copy")],
                ["checksum": right.content.checksum, "connections": 1])
            try await scene.probe.wait(for: id, "completed")
            #expect(right.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            let never = try await add(
                scene, [scene.origin.url("/third")], ["checksum": right.content.checksum, "connections": 1])
            #expect(try await scene.probe.wait(for: never, "failed").errorCode == "integrity.checksum")
            // The part file is removed after the failure is stored.
            #expect(await eventually { scene.names == ["file"] }, "nothing is delivered")
        }

        @Test(.timeLimit(.minutes(1)))
        func aPlaceWithAnotherLengthIsNotUsed() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let (long, right) = (Resource.version(1, size: Self.size + 1), Resource.version(2, size: Self.size))
            scene.origin.serve("/file", .good(long))
            scene.origin.serve("/chunked", .chunked(long, isEnded: true))
            mirror.serve("/copy", .good(right))
            let size: [String: JSONValue] = ["size": .integer(Int64(Self.size))]
            let id = try await add(scene, [mirror.url("/copy")], size)
            try await scene.probe.wait(for: id, "completed")
            #expect(right.content.matches(scene.file()))
            for path in ["/file", "/chunked"] {
                let alone = try await add(scene, [], size, url: scene.origin.url(path))
                #expect(try await scene.probe.wait(for: alone, "failed").errorCode == "integrity.length")
            }
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func secretsStayWithTheirOrigin() async throws {
            let scene = try await Scene.shared()
            let mirror = try MisbehavingOrigin()
            let resource = Resource.version(1, size: 10_000)
            scene.origin.serve("/file", .status(404))
            mirror.serve("/copy", .good(resource))
            let id = try await add(
                scene, [mirror.url("/copy")],
                ["bearer": "secret", "headers": [["X-Api-Key", "key"], ["User-Agent", "me"]]])
            try await scene.probe.wait(for: id, "completed")
            let asked = mirror.requests("/copy").first
            #expect(asked?.header("Authorization") == nil && asked?.header("X-Api-Key") == nil)
            #expect(asked?.header("User-Agent") == "me")
            #expect(scene.origin.requests("/file").first?.header("Authorization") == "Bearer secret")
        }
    }
}

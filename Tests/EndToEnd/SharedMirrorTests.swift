import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Gathering.Mirrors {
    /// Segments of one file from several mirrors, with a digest of the whole.
    struct Shared {
        private static let size = 16 << 20
        private let content = Content(seed: 1, size: Self.size)
        private let mirror: MisbehavingOrigin

        init() throws { mirror = try MisbehavingOrigin() }

        private func own(_ headers: [(name: String, value: String)] = []) -> Resource {
            var resource = Resource(content, etag: "\"own\"")
            resource.headers = headers
            return resource
        }

        private var copy: Resource { Resource(content, etag: "\"copy\"") }

        private func add(
            _ scene: Scene, connections: Int64 = 4, named: Bool = true, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            try await scene.add(content, mirror: named ? mirror : nil, connections: connections, more)
        }

        /// Everything arrived, and hardly anything came twice.
        private func expectWhole(_ scene: Scene, _ id: Int64) async throws {
            #expect(content.matches(scene.file()))
            #expect(scene.names == ["file"])
            let taken = try await scene.bytesTaken(id)
            #expect(taken <= Self.size + (4 << 20), "\(taken)")
        }

        /// The first mirror is slow and supplies no further segment until the other one has supplied some.
        private func serveSlowly(_ scene: Scene, _ resource: Resource) {
            scene.origin.script(
                "/file", [.good(resource, rate: 256 << 10), .waiting(for: mirror, "/copy", bytes: 1 << 20, resource)])
        }

        @Test(.timeLimit(.minutes(2)))
        func partsComeFromBoth() async throws {
            let scene = try await Scene.shared()
            serveSlowly(scene, own())
            mirror.serve("/copy", .good(copy))
            let id = try await add(scene)
            let task = try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(task["verified"] == true)
            let parts = mirror.requests("/copy")
            #expect(mirror.bytesSent("/copy") >= 1 << 20 && parts.allSatisfy { $0.status == 206 })
            #expect(parts.first?.header("If-Range") == nil)
            #expect(parts.dropFirst().allSatisfy { $0.header("If-Range") == copy.etag })
            #expect(scene.origin.requests("/file").dropFirst().allSatisfy { $0.header("If-Range") == "\"own\"" })
        }

        @Test(.timeLimit(.minutes(1)))
        func withoutADigestOnlyOnePlaceIsAsked() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(own(), rate: 8 << 20))
            mirror.serve("/copy", .good(copy))
            let id = try await add(scene, ["checksum": .null])
            try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(mirror.requests().isEmpty && scene.origin.requests("/file").count >= 4)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["dead", "404", "weak", "longer", "whole", "cut"])
        func aMirrorThatDoesNotServeIsLeft(_ trouble: String) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(own(), rate: 4 << 20))
            switch trouble {
            case "dead": mirror.stop()
            case "404": mirror.serve("/copy", .status(404))
            case "weak": mirror.serve("/copy", .good(Resource(content, etag: "W/\"copy\"")))
            case "longer":
                // So slow that little is in flight when its header is read.
                let longer = Resource(Content(seed: 1, size: Self.size + 1), etag: "\"l\"")
                mirror.serve("/copy", .good(longer, rate: 1 << 20))
            case "whole": mirror.serve("/copy", .ignoringRange(copy))
            default: mirror.serve("/copy", .good(copy, cutAfter: 100_000))
            }
            let id = try await add(scene)
            let task = try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(task["attempts"]?.integerValue == 1)
            #expect(try await scene.restartCodes(id).isEmpty)
        }

        /// It answers, sends some bytes, and then nothing more: the rest of its segment comes from another mirror.
        @Test(.timeLimit(.minutes(2)))
        func aMirrorThatHangsIsLeft() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(own(), rate: 8 << 20))
            mirror.serve("/copy", .stalling(copy, after: 100_000))
            let id = try await add(scene, connections: 2, ["timeoutIntervalForRequest": 3600])
            let isShown = try await eventually {
                let segments = try await scene.probe.task(id)["segments"]?.arrayValue ?? []
                return segments.contains { $0["url"]?.stringValue == mirror.url("/copy") }
            }
            #expect(isShown)
            let task = try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(task["attempts"]?.integerValue == 1)
            #expect(mirror.requests("/copy").count == 1)
        }

        /// The mirror where the download began goes away in the middle.
        @Test(.timeLimit(.minutes(1)))
        func theFirstPlaceMayGoAway() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(own(), cutAfter: 1 << 20), .status(410))
            mirror.serve("/copy", .good(copy, rate: 8 << 20))
            let id = try await add(scene)
            let task = try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(task["attempts"]?.integerValue == 1)
        }

        /// The digest detects another version of the same length, and nothing of it is delivered.
        @Test(.timeLimit(.minutes(1)))
        func aMirrorWithOtherBytesIsFoundOut() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(own(), rate: 4 << 20))
            mirror.serve("/copy", .good(Resource(Content(seed: 2, size: Self.size), etag: "\"old\"")))
            let id = try await add(scene)
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(try await scene.restartCodes(id).allSatisfy { $0 == "integrity.checksum" })
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(3)), arguments: [true, false])
        func killedItGoesOnWithWhatIsThere(_ firstPlaceIsGone: Bool) async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(own(), rate: 1 << 20))
            mirror.serve("/copy", .good(copy, rate: 1 << 20))
            let id = try await add(scene)
            for kill in 1...3 {
                try await scene.probe.wait(for: id, bytes: Self.size / 5 * kill)
                if kill == 3 {
                    if firstPlaceIsGone { scene.origin.serve("/file", .status(404)) }
                    mirror.serve("/copy", .good(copy))
                }
                scene = try await scene.restarted()
            }
            try await scene.probe.wait(for: id, "completed")
            // For each kill and connection: socket buffers and what had not reached the file.
            #expect(content.matches(scene.file()))
            #expect(scene.names == ["file"])
            let sent = scene.origin.bytesSent("/file") + mirror.bytesSent("/copy")
            #expect(sent <= Int64(Self.size + 3 * 4 * (1 << 20)), "\(sent)")
            if firstPlaceIsGone { #expect(mirror.bytesSent("/copy") > Self.size / 8) }
            #expect(try await scene.restartCodes(id).isEmpty)
        }

        @Test(.timeLimit(.minutes(2)), arguments: [true, false])
        func linksOfTheAnswerAddMirrors(_ isServersDigest: Bool) async throws {
            let scene = try await Scene.shared()
            var headers = [(name: "Link", value: "<\(mirror.url("/copy"))>; rel=duplicate; pri=1")]
            if isServersDigest { headers.append((name: "Repr-Digest", value: "sha-256=:\(content.base64Digest):")) }
            serveSlowly(scene, own(headers))
            mirror.serve("/copy", .good(copy))
            let id = try await add(scene, named: false, isServersDigest ? ["checksum": .null] : [:])
            try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(mirror.bytesSent("/copy") >= 1 << 20)
        }

        @Test(.timeLimit(.minutes(1)))
        func linksWithoutADigestAddNothing() async throws {
            let scene = try await Scene.shared()
            let link = (name: "Link", value: "<\(mirror.url("/copy"))>; rel=duplicate")
            scene.origin.serve("/file", .good(own([link]), rate: 8 << 20))
            mirror.serve("/copy", .good(copy))
            let id = try await add(scene, named: false, ["checksum": .null])
            try await scene.probe.wait(for: id, "completed")
            try await expectWhole(scene, id)
            #expect(mirror.requests().isEmpty)
        }
    }
}

extension Behaviour {
    /// Answers correctly, as soon as `other` has sent this many bytes of a path.
    static func waiting(for other: MisbehavingOrigin, _ path: String, bytes: Int64, _ resource: Resource) -> Behaviour {
        .choose { _ in
            let deadline = ContinuousClock.now + .seconds(60)
            while other.bytesSent(path) < bytes, ContinuousClock.now < deadline { usleep(10_000) }
            return .good(resource)
        }
    }
}

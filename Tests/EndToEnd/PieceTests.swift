import TestSupport
import Testing
import TransferModel

extension EndToEnd.Gathering.Mirrors {
    /// Digests of pieces show which bytes are wrong, and only those are fetched again.
    struct Pieces {
        private static let size = 8 << 20
        private static let length = 768 << 10
        private static let last = 10
        private let right = Content(seed: 1, size: Self.size)
        private let mirror: MisbehavingOrigin

        init() throws { mirror = try MisbehavingOrigin() }

        /// The right content, except for one byte in each of these pieces.
        private func damaged(_ pieces: Int...) -> Content {
            var bytes = right.bytes
            for piece in pieces { bytes[piece * Self.length + 5] ^= 1 }
            return Content(bytes: bytes)
        }

        private var pieces: JSONValue {
            let starts = stride(from: 0, to: Self.size, by: Self.length)
            let values = starts.map { right.bytes[$0..<min($0 + Self.length, Self.size)] }
                .map { JSONValue.string(Content.hexDigest(of: $0)) }
            return ["algorithm": "sha-256", "length": .integer(Int64(Self.length)), "values": .array(values)]
        }

        private func range(_ piece: Int) -> String {
            "bytes=\(piece * Self.length)-\(min((piece + 1) * Self.length, Self.size) - 1)"
        }

        private func add(
            _ scene: Scene, connections: Int64 = 1, mirrored: Bool = true, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            try await scene.add(
                right, mirror: mirrored ? mirror : nil, connections: connections,
                ["pieces": pieces].merging(more) { $1 })
        }

        private func wrongPieces(_ scene: Scene, _ id: Int64) async throws -> [JSONValue] {
            try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.restarted"]])
                .map { $0["pieces"] ?? .null }
        }

        @Test(.timeLimit(.minutes(1)), arguments: [0, 4, last], [true, false])
        func onlyTheBadPieceIsFetchedFromAnotherMirror(_ piece: Int, _ hasChecksum: Bool) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(Resource(damaged(piece), etag: "\"own\"")))
            mirror.serve("/copy", .good(Resource(right, etag: "\"copy\"")))
            let id = try await add(scene, hasChecksum ? [:] : ["checksum": .null])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(right.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect(try await wrongPieces(scene, id) == [[.integer(Int64(piece))]])
            #expect(scene.origin.requests("/file").count == 1)
            let asked = mirror.requests("/copy")
            #expect(asked.count == 1)
            let wanted = piece == Self.last ? "bytes=\(piece * Self.length)-" : range(piece)
            #expect(asked.first?.header("Range") == wanted && asked.first?.status == 206)
            #expect(task["attempts"]?.integerValue == 1 && task["verified"] == true)
            #expect(task["pieces", "values"]?.arrayValue == [])
        }

        @Test(.timeLimit(.minutes(1)))
        func theOnlyPlaceIsAskedAgain() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve(
                "/file", .good(Resource(damaged(3, 7), etag: "\"own\"")), .good(Resource(right, etag: "\"own\"")))
            let id = try await add(scene, mirrored: false)
            try await scene.probe.wait(for: id, "completed")
            #expect(right.matches(scene.file()))
            #expect(scene.origin.requests("/file").dropFirst().map { $0.header("Range") } == [range(3), range(7)])
            #expect(scene.origin.bytesSent("/file") == Int64(Self.size + 2 * Self.length))
        }

        @Test(.timeLimit(.minutes(1)))
        func resumeDataKeepsThem() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve(
                "/file", .good(Resource(damaged(7), etag: "\"own\"")), .good(Resource(right, etag: "\"own\"")))
            let size = JSONValue.integer(Int64(Self.size))
            let old = try await add(scene, mirrored: false, ["startPaused": true, "size": size])
            let blob = try #require(try await scene.probe.call("task.resumeData", ["id": .integer(old)])["resumeData"])
            let new = try await scene.probe.add([["resumeData": blob]])[0]
            let task = try await scene.probe.wait(for: new, "completed")
            #expect(right.matches(scene.file()))
            #expect(task["size"] == size && task["verified"] == true)
            #expect(scene.origin.requests("/file").dropFirst().map { $0.header("Range") } == [range(7)])
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func whatStaysWrongIsNotDelivered(_ mirrored: Bool) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(Resource(damaged(2), etag: "\"own\"")))
            mirror.serve("/copy", .good(Resource(damaged(2), etag: "\"copy\"")))
            let id = try await add(scene, mirrored: mirrored)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.checksum")
            #expect(task["error", "details", "pieces"]?.arrayValue == [2])
            // The part file is removed after the end is stored.
            #expect(await eventually { scene.names == [] })
            #expect(scene.origin.requests("/file").count + mirror.requests("/copy").count <= 6)
            #expect(mirror.requests("/copy").isEmpty != mirrored)
        }

        /// Everything from the mirror is another version. The other bytes stay.
        @Test(.timeLimit(.minutes(2)))
        func whatABadMirrorGaveComesFromTheOther() async throws {
            let scene = try await Scene.shared()
            // The first mirror is slow and supplies no further segment until the other one has supplied some.
            let own = Resource(right, etag: "\"own\"")
            scene.origin.script(
                "/file", [.good(own, rate: 256 << 10), .waiting(for: mirror, "/copy", bytes: 2 << 20, own)])
            mirror.serve("/copy", .good(Resource(Content(seed: 2, size: Self.size), etag: "\"old\"")))
            let id = try await add(scene, connections: 4)
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(right.matches(scene.file()))
            #expect(mirror.bytesSent("/copy") > 0)
            #expect(task["attempts"]?.integerValue == 1)
            let wrong = try await wrongPieces(scene, id).flatMap { $0.arrayValue ?? [] }
            #expect(!wrong.isEmpty)
            #expect(try await scene.bytesTaken(id) <= Self.size + wrong.count * Self.length + (4 << 20))
        }

        /// If two mirrors filled a piece together, nobody can tell which is wrong, so each supplies the whole piece in
        /// turn.
        @Test(.timeLimit(.minutes(2)))
        func aPieceThatTwoFilledTogetherComesWholeFromEach() async throws {
            let scene = try await Scene.shared()
            var bytes = right.bytes
            for index in stride(from: 0, to: Self.size, by: 4096) { bytes[index] ^= 1 }
            let own = Resource(Content(bytes: bytes), etag: "\"own\"")
            scene.origin.script(
                "/file", [.good(own, rate: 256 << 10), .waiting(for: mirror, "/copy", bytes: 2 << 20, own)])
            mirror.serve("/copy", .good(Resource(right, etag: "\"copy\"")))
            let whole: JSONValue = [
                "algorithm": "sha-256", "length": .integer(Int64(Self.size)),
                "values": [.string(Content.hexDigest(of: right.bytes[...]))],
            ]
            let id = try await add(scene, connections: 4, ["pieces": whole, "checksum": .null])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(right.matches(scene.file()))
            #expect(task["attempts"]?.integerValue == 1 && task["verified"] == true)
            // First the task's own URL, from which it is wrong again, then the mirror.
            #expect(try await wrongPieces(scene, id) == [[0], [0]])
            #expect(mirror.bytesSent("/copy") >= Int64(Self.size))
            #expect(try await scene.bytesTaken(id) <= 3 * Self.size + (8 << 20))
        }

        @Test(.timeLimit(.minutes(1)))
        func killedAtARepairItGoesOnWithThat() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(Resource(damaged(5), etag: "\"own\"")))
            mirror.serve("/copy", .silent)
            let id = try await add(scene)
            #expect(await eventually { !mirror.requests("/copy").isEmpty })
            // Before the next daemon can ask.
            mirror.serve("/copy", .good(Resource(right, etag: "\"copy\"")))
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(right.matches(scene.file()))
            // The next daemon may request the piece from the first mirror again, because it does not know which one
            // supplied it.
            #expect(scene.origin.bytesSent("/file") <= Int64(Self.size + Self.length))
        }

        @Test(.timeLimit(.minutes(1)))
        func piecesOfAnotherLengthFail() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(Resource(Content(seed: 1, size: Self.size / 2), etag: "\"own\"")))
            let id = try await add(scene, mirrored: false, ["checksum": .null])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "integrity.checksum")
            // The part file is removed after the end is stored.
            #expect(await eventually { scene.names == [] })
        }

        /// A body that fits into memory is checked too.
        @Test(.timeLimit(.minutes(1)))
        func smallFilesHavePiecesToo() async throws {
            let scene = try await Scene.shared()
            let small = Content(seed: 5, size: 20_000)
            var bytes = small.bytes
            bytes[17_000] ^= 1
            scene.origin.serve("/file", .good(Resource(Content(bytes: bytes), etag: "\"own\"")))
            mirror.serve("/copy", .good(Resource(small, etag: "\"copy\"")))
            let values = [small.bytes[..<16_384], small.bytes[16_384...]].map {
                JSONValue.string(Content.hexDigest(of: $0))
            }
            let id = try await add(
                scene,
                [
                    "checksum": small.checksum,
                    "pieces": ["algorithm": "sha-256", "length": 16_384, "values": .array(values)],
                ])
            try await scene.probe.wait(for: id, "completed")
            #expect(small.matches(scene.file()))
            #expect(mirror.bytesSent("/copy") == Int64(small.bytes.count - 16_384))
        }
    }
}

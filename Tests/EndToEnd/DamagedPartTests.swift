import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Downloading {
    /// Other programs of the user change the part file of a running transfer. The delivered file is nevertheless what
    /// the server sent.
    @Suite(.oneDaemon) struct DamagedParts {
        private static let resource = Resource.version(1, size: 300_000)
        private static let half = 150_000
        private let gate = Guarded(false)

        /// The first answer sends half of the body, and the rest after the gate opens. All other answers send the whole
        /// body at once.
        private func halting() -> [Behaviour] {
            let (resource, gate) = (Self.resource, gate)
            let first = Behaviour { _, reply in
                let bytes = resource.content.bytes
                try reply.head(200, "OK", [("ETag", resource.etag ?? ""), ("Content-Length", "\(bytes.count)")])
                try reply.body(bytes.prefix(Self.half))
                while !gate.withLock({ $0 }) { usleep(5000) }
                try reply.body(bytes.dropFirst(Self.half))
            }
            return [first, .good(resource)]
        }

        private func part(_ scene: Scene) throws -> String {
            scene.file(try #require(scene.names.first { $0.hasSuffix(".dldpart") }))
        }

        enum Damage: String, CaseIterable {
            /// Shorter, which is noticed before the next write.
            case cutToNothing, cut, cutWithinABlock
            /// As long as before, so only holes show it.
            case cutAndGrown, grownTooFar
            case replaced, renamed

            func make(_ part: String, _ scene: Scene) throws {
                let size = off_t(try #require(Files.status(part)).st_size)
                switch self {
                case .cutToNothing: #expect(truncate(part, 0) == 0)
                case .cut: #expect(truncate(part, 70_000) == 0)
                case .cutWithinABlock: #expect(truncate(part, size - 7) == 0)
                case .cutAndGrown: #expect(truncate(part, 4096) == 0 && truncate(part, size) == 0)
                case .grownTooFar: #expect(truncate(part, size + 10_000_000) == 0)
                case .replaced:
                    #expect(rename(part, scene.file("stolen")) == 0)
                    try Files.write(part, [UInt8](repeating: 0, count: 300_000))
                case .renamed: #expect(rename(part, scene.file("stolen")) == 0)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Damage.allCases, [true, false])
        func whatSomebodyDidToAPartIsNotDelivered(_ damage: Damage, _ hasDigest: Bool) async throws {
            let scene = try await Scene.shared()
            scene.origin.script("/file", halting())
            let id = try await scene.add(
                "/file", to: "file",
                ["connections": 1, "checksum": hasDigest ? Self.resource.content.checksum : .null])
            try await scene.probe.wait(for: id, bytes: Self.half)
            try damage.make(try part(scene), scene)
            gate.withLock { $0 = true }
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(Self.resource.content.matches(scene.file()), "\(damage)")
            #expect(task["verified"] == .bool(hasDigest))
            #expect(task["attempts"]?.integerValue == 1)
            #expect(try await scene.restartCodes(id) == ["integrity.checksum"])
            #expect(scene.origin.requests("/file").count == 2)
            #expect(Set(scene.names).subtracting(["stolen"]) == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func partsOfAFileThatWasCutComeAgain() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(3, size: 12 << 20)
            scene.origin.serve("/file", .good(resource, rate: 2 << 20))
            let id = try await scene.add("/file", to: "file", ["connections": 4])
            try await scene.probe.wait(for: id, bytes: 4 << 20)
            #expect(truncate(try part(scene), 0) == 0)
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(try await scene.restartCodes(id) == ["integrity.checksum"])
        }

        /// As long as before, but empty: the download does not resume from it.
        @Test(.timeLimit(.minutes(1)))
        func aPartWithAHoleIsNotResumed() async throws {
            let scene = try await Scene.shared()
            scene.origin.script("/file", halting())
            let id = try await scene.add("/file", to: "file", ["connections": 1])
            try await scene.probe.wait(for: id, bytes: Self.half)
            try await scene.probe.control("pause", id)
            gate.withLock { $0 = true }
            try Damage.cutAndGrown.make(try part(scene), scene)
            try await scene.probe.control("resume", id)
            try await scene.probe.wait(for: id, "completed")
            #expect(Self.resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").last?.rangeStart == nil)
        }

        /// A source with holes is copied as it is.
        @Test(.timeLimit(.minutes(1)))
        func holesOfASourceAreNoDamage() async throws {
            let scene = try await Scene.shared()
            try Files.write(scene.file("source"), Self.resource.content.bytes)
            #expect(truncate(scene.file("source"), 4 << 20) == 0)
            let id = try await scene.probe.add("file://" + scene.file("source"), to: scene.file(), [:])
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.read(scene.file()) == Files.read(scene.file("source")))
            #expect(try await scene.restartCodes(id) == [])
        }

        /// Zeros that the server sent are not a hole.
        @Test(.timeLimit(.minutes(1)))
        func zerosAreNoDamage() async throws {
            let scene = try await Scene.shared()
            let zeros = Resource(Content(bytes: [UInt8](repeating: 0, count: 4 << 20)), etag: "\"0\"")
            scene.origin.serve("/file", .good(zeros))
            let id = try await scene.add("/file", to: "file", ["connections": 3])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(zeros.content.matches(scene.file()))
            #expect(task["verified"] == false)
            #expect(try await scene.restartCodes(id) == [])
        }

        /// If somebody damages it again and again, the task finally fails.
        @Test(.timeLimit(.minutes(1)))
        func whatIsCutAgainAndAgainFails() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(Self.resource, rate: 200_000))
            let id = try await scene.add("/file", to: "file", ["connections": 1])
            let isOver = Guarded(false)
            let folder = scene.folder
            try Threads.start {
                while !isOver.withLock({ $0 }) {
                    for name in Files.names(in: folder.path) where name.hasSuffix(".dldpart") {
                        truncate(folder.file(name), 0)
                    }
                    usleep(2000)
                }
            }
            defer { isOver.withLock { $0 = true } }
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.checksum")
            #expect(task["error", "message"]?.stringValue?.contains("something else writes to it") == true)
            #expect(await eventually { scene.names == [] })
        }
    }
}

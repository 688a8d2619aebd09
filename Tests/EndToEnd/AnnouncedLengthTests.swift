import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// A Content-Length that is too large is noticed, and the rest is not requested forever.
    @Suite(.oneDaemon) struct AnnouncedLength {
        /// How the server answers a request beyond its end.
        enum Beyond: String, CaseIterable, Sendable {
            /// 416 with the true length, of the same version.
            case proven
            /// 416 with the true length but without a version, as most servers answer.
            case said
            /// 416 and nothing else.
            case bare
            /// The whole body again.
            case whole
            /// A part with the announced length, and nothing in it.
            case empty
        }

        /// Announces `extra` bytes too many, and closes after the existing bytes.
        private static func liar(_ resource: Resource, extra: Int, _ beyond: Beyond) -> Behaviour {
            .choose { request in
                let (content, total) = (resource.content, resource.content.size)
                guard let range = request.range, beyond != .whole else {
                    return Behaviour { _, reply in
                        try reply.head(
                            200, "OK",
                            resource.validators + [("Content-Length", "\(total + extra)"), ("Accept-Ranges", "bytes")])
                        try reply.body(content.bytes[...])
                        throw Reply.Gone()
                    }
                }
                if range.first < total { return .good(resource) }
                switch beyond {
                case .proven: return .status(416, resource.validators + [("Content-Range", "bytes */\(total)")])
                case .said: return .status(416, [("Content-Range", "bytes */\(total)")])
                case .bare, .whole: return .status(416)
                case .empty:
                    return Behaviour { _, reply in
                        let last = total + extra - 1
                        try reply.head(
                            206, "Partial Content",
                            resource.validators + [
                                ("Content-Range", "bytes \(range.first)-\(last)/\(last + 1)"),
                                ("Content-Length", "\(last + 1 - range.first)"),
                            ])
                        throw Reply.Gone()
                    }
                }
            }
        }

        @Test(
            .timeLimit(.minutes(1)), arguments: Beyond.allCases,
            [(size: 300_000, extra: 1), (300_000, 1000), (3000, 10), (5 << 20, 8 << 20)])
        func isNoticed(_ beyond: Beyond, _ length: (size: Int, extra: Int)) async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: length.size)
            scene.origin.serve("/file", Self.liar(resource, extra: length.extra, beyond))
            let id = try await scene.add()
            switch beyond {
            case .proven, .said:
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(resource.content.matches(scene.file()))
                #expect(task["bytesReceived"] == .integer(Int64(length.size)))
            case .bare, .whole, .empty:
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == "integrity.length")
                #expect(task["error", "details"]?["announced"] == .integer(Int64(length.size + length.extra)))
                #expect(task["error", "details"]?["received"] == .integer(Int64(length.size)))
                #expect(scene.names.isEmpty)
            }
            #expect(scene.origin.requests("/file").count < 12)
        }

        @Test(.timeLimit(.minutes(1)))
        func withoutAValidatorTwoBodiesAreEnough() async throws {
            let scene = try await Scene.shared()
            let resource = Resource(Content(seed: 1, size: 200_000))
            scene.origin.serve("/file", Self.liar(resource, extra: 5, .said))
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task.errorCode == "integrity.length")
            #expect(scene.origin.requests("/file").count == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatWasSeenOutlivesTheDaemon() async throws {
            var scene = try await Scene()
            let resource = Resource(Content(seed: 1, size: 200_000))
            scene.origin.serve("/file", Self.liar(resource, extra: 5, .whole))
            let id = try await scene.add("/file", to: "file", ["retry": ["firstDelay": 600, "longestDelay": 600]])
            try await scene.probe.wait(for: id, "waiting")
            scene = try await scene.restarted()
            #expect(try await scene.probe.control("retry", id))
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "integrity.length")
            #expect(scene.origin.requests("/file").count == 2)
        }

        /// A connection that breaks at different offsets, with and without ranges, does not reveal the length. The
        /// download continues.
        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func aConnectionThatBreaksIsNoLength(_ hasRanges: Bool) async throws {
            let scene = try await Scene.shared()
            let resource =
                hasRanges ? Resource.version(1, size: 400_000) : Resource(Content(seed: 1, size: 400_000))
            let cuts = (1...10).map { Behaviour.good(resource, cutAfter: 20_000 + $0 * 111) }
            scene.origin.script("/file", cuts + [.good(resource)])
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").count == 11)
        }
    }
}

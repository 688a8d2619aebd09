import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// An ended task leaves no memory behind, however it was carried out.
    struct EndedTaskMemory {
        enum Way: String, CaseIterable {
            case gathered, stored, data, failing
        }

        /// The bytes that a task may leave, because the database's cache grows a little.
        private static let most: Int64 = 4096
        private static let (first, rest) = (600, 400)

        @Test(.timeLimit(.minutes(3)), arguments: Way.allCases)
        func nothingIsLeft(of way: Way) async throws {
            let scene = try await Scene()
            let content = Content(seed: 5, size: way == .gathered || way == .data ? 1000 : 100_000)
            scene.origin.serve("/file", .good(Resource(content, etag: "\"a\"")))
            scene.origin.serve("/missing", .status(404))
            // What the first tasks load does not count as growth.
            try await run(Self.first, way, scene)
            var left: [Int64] = []
            for _ in 0..<3 {
                let before = try scene.daemon.residentMemory()
                try await run(Self.rest, way, scene)
                left.append((try scene.daemon.residentMemory() - before) / Int64(Self.rest))
            }
            // What each task leaves grows in each turn. What the allocator keeps for one more thread grows once.
            #expect(try #require(left.min()) < Self.most, "\(left)")
        }

        private func run(_ count: Int, _ way: Way, _ scene: Scene) async throws {
            let specs = (0..<count).map { number -> JSONValue in
                var spec: [String: JSONValue] = ["url": .string(scene.origin.url("/file"))]
                switch way {
                case .data: spec["kind"] = "data"
                case .failing: spec["url"] = .string(scene.origin.url("/missing"))
                case .gathered, .stored: break
                }
                if way != .data {
                    spec["destination"] = ["path": .string(scene.file("out"))]
                    spec["conflictPolicy"] = "overwrite"
                }
                return .object(spec)
            }
            for id in try await scene.probe.add(specs) {
                try await scene.probe.wait(for: id, way == .failing ? "failed" : "completed")
            }
        }
    }
}

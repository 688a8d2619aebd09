import TestSupport
import Testing
import TransferModel

extension EndToEnd {
    /// What once went wrong in the whole daemon.
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
            #expect(scene.names.isEmpty)
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
    }
}

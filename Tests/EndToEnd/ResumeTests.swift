import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Promises 2 and 3: a killed daemon resumes where it was, and never mixes two versions.
    @Suite(.oneDaemon) struct Resume {
        /// 64 MB, or the number of megabytes that `make check` sets.
        private static let large = (getenv("DLD_TEST_LARGE").flatMap { Int(String(cString: $0)) } ?? 64) << 20

        @Test(.timeLimit(.minutes(5)))
        func aDownloadKilledFiveTimesIsWholeAndHardlyAnythingIsSentTwice() async throws {
            var scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            let kills = 5
            // Each daemon gets more than its kill waits for, but never everything.
            let given = (1...kills).map { Self.large / 7 * $0 + Self.large / 14 }
            scene.origin.script(
                "/file", given.map { .stalling(resource, at: $0, rate: Self.large / 3) } + [.good(resource)])
            let id = try await scene.add()
            for kill in 1...kills {
                try await scene.probe.wait(for: id, bytes: Self.large / 7 * kill)
                scene = try await scene.restarted()
            }
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])

            let requests = scene.origin.requests("/file")
            #expect(requests.count == 6)
            for request in requests.dropFirst() {
                #expect((request.rangeStart ?? 0) > 0)
                #expect(request.header("If-Range") == resource.etag)
            }
            // For each kill, socket buffers and the write in progress.
            #expect(scene.origin.bytesSent("/file") <= Int64(Self.large + 5 * (8 << 20)))
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                Version("strong ETag", etag: "\"same-length\"", next: "\"other\""),
                Version("weak ETag that stays", etag: "W/\"weak\"", next: "W/\"weak\""),
                Version("weak ETag that changes", etag: "W/\"weak\"", next: "W/\"other\""),
                Version("no validator", etag: nil, next: nil),
            ])
        func aReplacedResourceOfTheSameSizeArrivesWhole(version: Version) async throws {
            var scene = try await Scene()
            let size = 8 << 20
            let old = Resource(Content(seed: 1, size: size), etag: version.etag)
            let new = Resource(Content(seed: 2, size: size), etag: version.next)
            scene.origin.serve("/file", .stalling(old, at: size / 2, rate: 4 << 20), .good(new))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: size / 3)
            scene = try await scene.restarted()
            try await scene.probe.wait(for: id, "completed")
            #expect(new.content.matches(scene.file()))
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aDateIsAValidatorOnlyWhereItIsStrong() async throws {
            let scene = try await Scene.shared()
            let content = Content(seed: 3, size: 1 << 20)
            let modified = "Thu, 01 Jan 2026 11:00:00 GMT"
            let strong = Resource(content, lastModified: modified, date: "Thu, 01 Jan 2026 12:00:00 GMT")
            let weak = Resource(content, lastModified: modified, date: "Thu, 01 Jan 2026 11:00:05 GMT")
            scene.origin.serve("/strong", .good(strong, cutAfter: 400_000), .good(strong))
            scene.origin.serve("/weak", .good(weak, cutAfter: 400_000), .good(weak))
            let first = try await scene.add("/strong", to: "strong")
            let second = try await scene.add("/weak", to: "weak")
            try await scene.probe.wait(for: first, "completed")
            try await scene.probe.wait(for: second, "completed")
            #expect(content.matches(scene.file("strong")))
            #expect(content.matches(scene.file("weak")))
            let again = scene.origin.requests("/strong").last
            #expect(again?.rangeStart == 400_000)
            #expect(again?.header("If-Range") == modified)
            #expect(scene.origin.requests("/weak").last?.header("Range") == nil)
        }

        @Test(.timeLimit(.minutes(1)))
        func aTrustedDigestAllowsResumingWithoutAValidator() async throws {
            let scene = try await Scene.shared()
            let content = Content(seed: 4, size: 1 << 20)
            let resource = Resource(content)
            scene.origin.serve("/file", .good(resource, cutAfter: 400_000), .good(resource))
            let checksum: JSONValue = ["algorithm": "sha-256", "value": .string(try await sha256(of: content))]
            let id = try await scene.add("/file", to: "file", ["checksum": checksum])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()))
            #expect(task["sha256"] == checksum["value"])
            #expect(scene.origin.requests("/file").last?.rangeStart == 400_000)
        }

        @Test(.timeLimit(.minutes(1)))
        func aSplicedFileIsFoundOutByItsDigestAndFetchedAgain() async throws {
            let scene = try await Scene.shared()
            let size = 1 << 20
            let old = Resource(Content(seed: 5, size: size))
            let new = Resource(Content(seed: 6, size: size))
            scene.origin.serve("/file", .good(old, cutAfter: 400_000), .good(new))
            let checksum: JSONValue = ["algorithm": "sha-256", "value": .string(try await sha256(of: new.content))]
            let id = try await scene.add("/file", to: "file", ["checksum": checksum])
            try await scene.probe.wait(for: id, "completed")
            #expect(new.content.matches(scene.file()))
            #expect(try await scene.restartCodes(id) == ["integrity.checksum"])
        }
    }
}

/// What the origin answers before and after the resource is replaced.
struct Version: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let etag: String?
    let next: String?

    init(_ name: String, etag: String?, next: String?) {
        testDescription = name
        self.etag = etag
        self.next = next
    }
}

/// The SHA-256 in hexadecimal, computed by sha256sum(1).
func sha256(of content: Content) async throws -> String {
    let folder = try TemporaryFolder()
    try Files.write(folder.file("content"), content.bytes)
    let (status, output) = try await Program.run(["sha256sum", folder.file("content")])
    guard status == 0 else { throw SupportError("sha256sum: \(output)") }
    return String(output.prefix(64))
}

import TestSupport
import Testing
import TransferModel

/// Uploads whose daemon is killed at least five times at random. In the end, the server has the exact file, created
/// once, and got almost nothing twice.
///
/// This suite is next to `EndToEnd`, not in it: its tests mostly wait for their rate limits, so they run side by side.
struct UploadKillTests {
    private typealias Run = UploadKillRun

    private func expectOne(_ server: UploadServer, _ content: Content) {
        #expect(server.files.all.count == 1)
        #expect(server.requests("POST").count == 1)
        // Not inside #expect, which would print every different byte.
        let stored = server.files.all.values.first
        let (isComplete, isIdentical) = (stored?.isComplete ?? false, stored.map { $0.bytes == content.bytes } ?? false)
        #expect(isComplete)
        #expect(isIdentical)
    }

    /// Each request began where the server had just said that the upload is: it was asked, or had confirmed the bytes
    /// before.
    private func expectAsked(_ server: UploadServer, by asks: (UploadServer.Record) -> Bool) {
        var isKnown = false
        var questions = 0
        for record in server.requests() {
            if asks(record) {
                questions += 1
            } else if record.method != "POST" {
                #expect(isKnown, "\(record.method) \(record.headers) came without a question")
            }
            isKnown = (200..<400).contains(record.status)
        }
        #expect(questions >= Run.kills)
        #expect(server.requests().allSatisfy { $0.status != 409 && $0.status != 416 })
    }

    @Test(.timeLimit(.minutes(5)))
    func tus() async throws {
        let server = try UploadServer(TusRules())
        let ending = try await Run(name: "tus", content: Run.large, server: server)
            .run(to: server.url(), ["uploadProtocol": "tus"]) { server.files.total }
        ending.expectContinued(Run.large)
        expectOne(server, Run.large)
        expectAsked(server) { $0.method == "HEAD" }
        // The server keeps what a cut connection brought, so no byte came twice.
        #expect(server.received("PATCH") == Run.large.size)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [8, 6, 5, 3])
    func resumable(version: Int) async throws {
        let server = try UploadServer(DraftRules(version: version))
        let ending = try await Run(name: "resumable \(version)", content: Run.medium, server: server).run(
            to: server.url(), ["uploadProtocol": "resumable", "interopVersion": .integer(Int64(version))]
        ) { server.files.total }
        ending.expectContinued(Run.medium)
        expectOne(server, Run.medium)
        expectAsked(server) { $0.method == "HEAD" }
        #expect(server.received("PATCH") == Run.medium.size)
        #expect(ending.task["response", "body", "text"]?.stringValue == "stored")
    }

    @Test(.timeLimit(.minutes(5)), arguments: [8, 6])
    func resumableCreatedWithItsContent(version: Int) async throws {
        let server = try UploadServer(DraftRules(version: version, announces: true))
        var run = Run(name: "optimistic \(version)", content: Run.medium, server: server)
        // Before the location named by the 104 is stored, nobody could know what became of the request.
        run.isReady = { try await $0.daemon.stores("upload-1") }
        let ending = try await run.run(
            to: server.url(),
            [
                "uploadProtocol": "resumable", "interopVersion": .integer(Int64(version)),
                "uploadCreation": "optimistic",
            ]
        ) { server.files.total }
        ending.expectContinued(Run.medium)
        expectOne(server, Run.medium)
        expectAsked(server) { $0.method == "HEAD" }
        #expect(server.received("POST") > 0)
        #expect(server.received("POST") + server.received("PATCH") == Run.medium.size)
    }

    @Test(.timeLimit(.minutes(5)))
    func contentRange() async throws {
        let server = try UploadServer(ContentRangeRules())
        let ending = try await Run(name: "contentRange", content: Run.medium, server: server)
            .run(to: server.url(), ["uploadProtocol": "contentRange"]) { server.files.total }
        ending.expectContinued(Run.medium)
        expectOne(server, Run.medium)
        expectAsked(server) { $0.header("Content-Range")?.hasPrefix("bytes */") == true }
        #expect(server.received("PUT") == Run.medium.size)
    }

    @Test(.timeLimit(.minutes(5)))
    func s3Multipart() async throws {
        let server = try UploadServer(PartRules())
        let content = Run.medium
        let partSize = (content.size + 23) / 24
        let ending = try await Run(name: "s3Multipart", content: content, server: server).run(
            to: server.url(),
            [
                "uploadProtocol": "s3Multipart",
                "s3": [
                    "partSize": .integer(Int64(partSize)),
                    "completeURL": .string(server.url(PartRules.completionPath)),
                    "partURLs": .array((1...24).map { .string(server.url(PartRules.partPath($0))) }),
                ],
            ]
        ) { server.files.total }
        #expect(ending.task["bytesSent"]?.integerValue == Int64(content.size))
        let isIdentical = server.files[PartRules.object].map { $0.bytes == content.bytes } ?? false
        #expect(isIdentical)
        #expect(server.requests("POST").count == 1)
        // A part is sent again only if its answer was lost with the daemon: the last one before a kill.
        let parts = server.requests("PUT").map(\.path)
        let again = zip(parts, parts.dropFirst()).count { $0 == $1 }
        #expect(parts.count == 24 + again)
        #expect(again <= Run.kills + 1)
        #expect(server.received("PUT") <= content.size + again * partSize)
    }
}

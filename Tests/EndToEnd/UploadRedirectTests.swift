import TestSupport
import Testing
import TransferModel

extension UploadFaultCase {
    private static func moved(_ path: String) -> [(String, String)] { [("Location", path)] }
    private static let refused = Ending.failed("http.protocol")
    /// What a login page, or a page about the upload, would have to say to pass for the server's answer to the body.
    private static let page = UploadFault.Act.answer(
        200, [("Upload-Offset", "\(UploadFaultSubject.size)"), ("Upload-Complete", "?1"), ("ETag", "\"page\"")])

    private static func moves(_ status: Int) -> [UploadFaultCase] {
        [
            UploadFaultCase(
                "\(status) to another page", .all,
                [.on(.append, 1, .answer(status, moved("/login"))), .on(.append, 2, page)], refused),
            UploadFaultCase(
                "\(status) to another page before the body", .all,
                [.on(.append, 1, .refuse(status, moved("/login"))), .on(.append, 2, page)], refused, isLarge: true),
            UploadFaultCase(
                "\(status) to another page where any status is accepted", .all,
                [.on(.append, 1, .answer(status, moved("/login"))), .on(.append, 2, page)], refused,
                options: ["acceptsAnyStatus": true]),
            UploadFaultCase(
                "\(status) that adds a slash", [.plain], [.on(.append, 1, .answer(status, moved("/up/")))],
                requests: 2),
            UploadFaultCase(
                "\(status) that adds a slash before the body", [.plain],
                [.on(.append, 1, .refuse(status, moved("/up/")))], isLarge: true, requests: 2),
            UploadFaultCase(
                "\(status) that drops the creation's slash", .creating,
                [.on(.creation, 1, .answer(status, moved("/files")))]),
            UploadFaultCase(
                "\(status) of the creation to another page", .creating,
                [.on(.creation, 1, .answer(status, moved("/login")))], refused, requests: 1),
            UploadFaultCase(
                "\(status) of the completion", .s3,
                [.on(.completion, 1, .answer(status, moved("/done"))), .on(.append, 4, page)], refused),
        ]
    }

    /// Redirects: an upload is complete only by the answer to a request that carried its body.
    static let redirects: [UploadFaultCase] =
        moves(301) + moves(302) + [
            UploadFaultCase(
                "303", [.tus, .draft, .contentRange, .s3, .put],
                [.on(.append, 1, .answer(303, moved("/done"))), .on(.append, 2, page)], refused),
            UploadFaultCase(
                "303 to the question", .contentRange,
                [.on(.query, 1, .answer(303, moved("/done"))), .on(.append, 1, page)], refused, requests: 2),
            UploadFaultCase(
                "303 as a receipt", .once,
                [.on(.append, 1, .status(303)), .on(.append, 1, .field("Location", "/done"))],
                requests: 2),
            UploadFaultCase(
                "303 before the body", [.plain],
                [.on(.append, 1, .refuse(303, moved("/done"))), .on(.append, 2, page)], refused, isLarge: true,
                requests: 1),
        ]
}

extension EndToEnd.Uploading {
    /// Redirects of uploads about which a client is asked, or in the middle of which the daemon dies.
    struct UploadRedirectTests {
        private static let content = Content(seed: 83, size: 3 << 20)

        private func scene(_ fault: UploadFault, _ more: [String: JSONValue]) async throws
            -> (scene: Scene, server: UploadServer, id: Int64)
        {
            let scene = try await Scene.asking("redirect")
            let server = try UploadServer(PlainRules(), [fault])
            try Files.write(scene.file("source"), Self.content.bytes)
            let spec: [String: JSONValue] = [
                "kind": "upload", "url": .string(server.url("/up")), "source": ["path": .string(scene.file("source"))],
                "uploadProtocol": "put",
            ]
            let id = try await scene.probe.add([.object(spec.merging(more) { $1 })], session: "s")[0]
            return (scene, server, id)
        }

        @Test(.timeLimit(.minutes(1)))
        func bothURLsAreNamed() async throws {
            let scene = try await Scene()
            let server = try UploadServer(PlainRules(), [.on(.append, .answer(302, [("Location", "/login?t=1")]))])
            let id = try await scene.upload(Self.content, to: server.url("/up"), ["uploadProtocol": "put"])
            let task = try await scene.probe.wait(for: id, "failed")
            let message = task["error", "message"]?.stringValue ?? ""
            #expect(message.contains(server.url("/up ")) && message.contains(server.url("/login?t=")), "\(message)")
            #expect(message.contains("task.update"), "\(message)")
            #expect(task["error", "retryable"] == false && task["error", "details", "status"] == 302, "\(task)")
            #expect(server.requests().count == 1)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func aRedirectThatWouldLoseTheBodyIsNotFollowed(anyStatus: Bool) async throws {
            let (scene, server, id) = try await scene(
                .on(.append, .answer(303, [("Location", "/done")])), ["acceptsAnyStatus": .bool(anyStatus)])
            let asked = try await scene.question(id)
            #expect(asked["request", "method"] == "GET")
            try await scene.answer(asked, "follow")
            let task = try await scene.probe.wait(for: id, anyStatus ? "completed" : "failed")
            #expect(task["response", "status"] == 303 && server.requests("GET").isEmpty, "\(task)")
        }

        /// The client knows what it asks for.
        @Test(.timeLimit(.minutes(1)))
        func aClientMayAskForAnotherRequest() async throws {
            let (scene, server, id) = try await scene(.on(.append, .answer(303, [("Location", "/done")])), [:])
            try await scene.answer(try await scene.question(id), "followWith", ["request": ["method": "GET"]])
            try await scene.probe.wait(for: id, "completed")
            #expect(server.requests().map(\.method) == ["PUT", "GET"])
        }

        @Test(.timeLimit(.minutes(1)), arguments: [302, 307])
        func aFollowedRedirectCarriesTheBody(status: Int) async throws {
            let (scene, server, id) = try await scene(
                .on(.append, .refuse(status, [("Location", "/there")])), [:])
            let asked = try await scene.question(id)
            #expect(asked["request", "method"] == "PUT")
            try await scene.answer(asked, "follow")
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/there"]?.content == Self.content)
        }

        @Test(.timeLimit(.minutes(1)))
        func theNextDaemonFollowsAgain() async throws {
            let moved = UploadFault.Act.refuse(301, [("Location", "/up/")])
            let server = try UploadServer(PlainRules(), [.on(.append, 1, moved), .on(.append, 3, moved)])
            var scene = try await Scene()
            server.hold(.body(1 << 20))
            let id = try await scene.upload(Self.content, to: server.url("/up"), ["uploadProtocol": "put"])
            #expect(await eventually { server.received == 1 << 20 })
            scene = try await scene.restarted()
            server.release()
            try await scene.probe.wait(for: id, "completed")
            #expect(server.requests().map(\.path) == ["/up", "/up/", "/up", "/up/"])
            #expect(server.files["/up/"]?.content == Self.content && server.files["/up"] == nil)
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Uploads that are not where their creation was, and parts that have changed.
    struct UploadFaultPlaceTests {
        /// Puts uploads on another origin: `localhost` instead of 127.0.0.1.
        private struct ElsewhereRules: UploadRules {
            let rules: any UploadRules

            func answer(_ request: UploadExchange) throws {
                guard request.method == "POST" else { return try rules.answer(request) }
                let port = request.header("Host")?.split(separator: ":").last ?? ""
                let length = (request.header("Upload-Length") ?? request.header("X-Upload-Content-Length")).flatMap {
                    Int($0)
                }
                let path = request.files.create(length: length)
                try request.reply(
                    201, [("Location", "http://localhost:\(port)\(path)"), ("Upload-Complete", "?0")])
            }

            func phase(of request: UploadServer.Record) -> UploadPhase { rules.phase(of: request) }
            func claim(_ offset: Int) -> (String, String) { rules.claim(offset) }
        }

        /// Puts uploads at a place whose Location nobody encoded.
        private struct SpacedRules: UploadRules {
            let rules: any UploadRules

            func answer(_ request: UploadExchange) throws {
                guard request.method == "POST" else { return try rules.answer(request) }
                request.files.put("/files/my%20upload", [])
                request.files.change("/files/my%20upload") {
                    ($0.length, $0.isComplete) = (UploadFaultSubject.size, false)
                }
                try request.reply(201, [("Location", "/files/my upload"), ("Upload-Complete", "?0")])
            }

            func phase(of request: UploadServer.Record) -> UploadPhase { rules.phase(of: request) }
            func claim(_ offset: Int) -> (String, String) { rules.claim(offset) }
        }

        private static let creating = UploadFaultSubject.all.filter {
            $0.kind.isSubset(of: .creating) && !$0.testDescription.hasSuffix("3")
        }

        @Test(.timeLimit(.minutes(1)), arguments: creating)
        func anotherOriginGetsTheFileAndNoSecrets(_ subject: UploadFaultSubject) async throws {
            let scene = try await Scene()
            try Files.write(scene.file("source"), subject.content.bytes)
            let server = try UploadServer(
                ElsewhereRules(rules: subject.rules), [.on(.append, .cut(after: 200_000))])
            let id = try await scene.probe.add([
                subject.spec(
                    server, source: scene.file("source"),
                    [
                        "headers": [["X-Secret", "s"], ["Accept-Language", "de"]], "bearer": "t",
                        "contentType": "a/b",
                    ])
            ])[0]
            try await scene.probe.wait(for: id, "completed")
            subject.expectWhole(server, "")
            for record in server.requests() {
                let isElsewhere = record.header("Host")?.hasPrefix("localhost") == true
                #expect(isElsewhere == (record.phase != .creation))
                #expect((record.header("X-Secret") == nil) == isElsewhere)
                #expect((record.header("Authorization") == nil) == isElsewhere)
                #expect(record.header("Accept-Language") == "de")
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: creating)
        func aPlaceWithASpaceIsEncoded(_ subject: UploadFaultSubject) async throws {
            let scene = try await Scene()
            try Files.write(scene.file("source"), subject.content.bytes)
            let server = try UploadServer(
                SpacedRules(rules: subject.rules), [.on(.append, .cut(after: 200_000))])
            let id = try await scene.probe.add([subject.spec(server, source: scene.file("source"))])[0]
            try await scene.probe.wait(for: id, "completed")
            subject.expectWhole(server, "")
        }

        @Test(.timeLimit(.minutes(1)))
        func aPartThatIsAnotherAfterARestartIsSentAgain() async throws {
            let subject = try #require(UploadFaultSubject.named(.s3))
            var scene = try await Scene()
            try Files.write(scene.file("source"), subject.content.bytes)
            let server = try UploadServer(subject.rules, [.on(.append, 3, .answer(503, [("Retry-After", "2000")]))])
            let id = try await scene.probe.add([subject.spec(server, source: scene.file("source"))])[0]
            try await scene.probe.wait(for: id, "waiting")
            scene = try await scene.restarted()
            server.files.put(PartRules.partPath(1), Content(seed: 5, size: subject.partSize).bytes)
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            subject.expectWhole(server, "")
            #expect(try await scene.restartCodes(id) == ["http.status"])
            // Two parts, the refused one, that one again, and all three again.
            #expect(server.requests(in: .append).count == 7)
            #expect(server.requests(in: .completion).count == 2)
        }
    }
}

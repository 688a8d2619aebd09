import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Uploads whose file or presigned URLs have changed.
    struct RenewedUploads {
        private static let partSize = 64 << 10
        private let content = Content(seed: 71, size: 3 * RenewedUploads.partSize + 5)

        /// The URLs of one multipart upload at a server with `PartRules`.
        private func s3(
            _ server: UploadServer, upload: String = "u1", signature: String, size: Int = RenewedUploads.partSize
        ) -> JSONValue {
            func sign(_ path: String) -> JSONValue {
                .string(server.url("\(path)?uploadId=\(upload)&X-Amz-Signature=\(signature)"))
            }
            return [
                "partURLs": .array((1...4).map { sign(PartRules.partPath($0)) }), "partSize": .integer(Int64(size)),
                "completeURL": sign(PartRules.completionPath), "abortURL": sign(PartRules.abortPath),
            ]
        }

        private func signatures(_ server: UploadServer, _ path: String) -> [String] {
            server.requests().filter { $0.path.hasPrefix(path + "?") }.map { request in
                String(request.path.split(separator: "X-Amz-Signature=").last ?? "")
            }
        }

        /// Adds an upload that fails because its URLs have expired, with two parts at the server.
        private func expired(_ scene: Scene, _ server: UploadServer) async throws -> Int64 {
            let id = try await scene.upload(
                content, to: server.url("/object"),
                ["uploadProtocol": "s3Multipart", "s3": s3(server, signature: "old")])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            return id
        }

        @Test(.timeLimit(.minutes(1)))
        func freshURLsOfTheSameUploadKeepItsParts() async throws {
            let server = try UploadServer(PartRules(expiring: "old", after: 2))
            var scene = try await Scene()
            let id = try await expired(scene, server)
            try await scene.probe.call("task.update", ["id": .integer(id), "s3": s3(server, signature: "new")])
            scene = try await scene.restarted()
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files[PartRules.object]?.content == content)
            #expect(signatures(server, PartRules.partPath(1)) == ["old"])
            #expect(signatures(server, PartRules.partPath(2)) == ["old"])
            #expect(signatures(server, PartRules.partPath(3)) == ["old", "new"])
            #expect(signatures(server, PartRules.completionPath) == ["new"])
            #expect(signatures(server, PartRules.abortPath) == [])
        }

        /// Its parts cannot be used there, and the old upload is ended at its server.
        @Test(.timeLimit(.minutes(1)))
        func anotherUploadBeginsAnewAndEndsTheOldOne() async throws {
            let server = try UploadServer(PartRules(expiring: "old", after: 2))
            let scene = try await Scene()
            let id = try await expired(scene, server)
            try await scene.probe.call(
                "task.update", ["id": .integer(id), "s3": s3(server, upload: "u2", signature: "new")])
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(signatures(server, PartRules.partPath(1)) == ["old", "new"])
            #expect(await eventually { signatures(server, PartRules.abortPath) == ["old"] })
        }

        /// With the URLs that it got last. A task that never ran has begun only that upload.
        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func cancellingEndsTheUploadAtTheStore(_ hasRun: Bool) async throws {
            let server = try UploadServer(PartRules(expiring: "old", after: 2))
            let scene = try await Scene()
            let id: Int64
            if hasRun {
                id = try await expired(scene, server)
                try await scene.probe.call("task.update", ["id": .integer(id), "s3": s3(server, signature: "new")])
                try await scene.probe.control("remove", id)
            } else {
                id = try await scene.upload(
                    content, to: server.url("/object"),
                    ["uploadProtocol": "s3Multipart", "s3": s3(server, signature: "new"), "startPaused": true])
                try await scene.probe.control("cancel", id)
            }
            #expect(await eventually { signatures(server, PartRules.abortPath) == ["new"] })
        }

        @Test(.timeLimit(.minutes(1)))
        func onlyS3UploadsTakeS3URLs() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url("/f"), ["uploadProtocol": "put", "startPaused": true])
            await #expect {
                try await scene.probe.call("task.update", ["id": .integer(id), "s3": s3(server, signature: "n")])
            } throws: { ($0 as? RPCFailure)?.field == "s3" }
        }

        // MARK: Another file

        @Test(.timeLimit(.minutes(1)))
        func aChangedFileIsSentFromTheBeginningOnceSomebodySaysSo() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url("/f"), ["uploadProtocol": "put", "startPaused": true])
            let other = Content(seed: 72, size: 100_000)
            try Files.write(scene.file("source"), other.bytes)
            try await scene.probe.control("resume", id)
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "source.changed")
            // The commands that explain prints work as they are.
            let (_, advice) = try await scene.daemon.dlctl(["explain", "\(id)"])
            #expect(advice.contains("dlctl retry \(id) --source-changed"))
            #expect(try await scene.probe.control("retry", id))
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "source.changed")
            let (status, output) = try await scene.daemon.dlctl(["retry", "\(id)", "--source-changed"])
            #expect(status == 0, "\(output)")
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/f"]?.content == other)
            #expect(task["bytesSent"]?.integerValue == 100_000)
        }

        /// The old upload is ended at its server, and the new one is another.
        @Test(.timeLimit(.minutes(1)))
        func theOldUploadIsEndedAtItsServer() async throws {
            let server = try UploadServer(TusRules())
            let scene = try await Scene()
            let large = Content(seed: 73, size: 4 << 20)
            let id = try await scene.upload(
                large, to: server.url("/files"), ["uploadProtocol": "tus", "rateLimit": 400_000])
            try await scene.wait(for: id, sent: 1 << 20)
            let other = Content(seed: 74, size: 1 << 20)
            try Files.write(scene.file("source.new"), other.bytes)
            rename(scene.file("source.new"), scene.file("source"))
            let killed = try await scene.restarted()
            #expect(try await killed.probe.wait(for: id, "failed").errorCode == "source.changed")
            try await killed.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            #expect(try await killed.probe.control("retry", id, ["sourceChanged": true]))
            try await killed.probe.wait(for: id, "completed")
            #expect(await eventually { server.requests().count { $0.method == "DELETE" } == 1 })
            #expect(server.requests().count { $0.method == "POST" } == 2)
            #expect(server.files.all.values.contains { $0.content == other })
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileThatIsGoneIsSaidAtOnce() async throws {
            let server = try UploadServer(PlainRules())
            let scene = try await Scene()
            let id = try await scene.upload(
                content, to: server.url("/f"), ["uploadProtocol": "put", "startPaused": true])
            unlink(scene.file("source"))
            try await scene.probe.control("resume", id)
            try await scene.probe.wait(for: id, "failed")
            let answer = try await scene.probe.call("task.retry", ["ids": [.integer(id)], "sourceChanged": true])
            #expect(answer["skipped"] == [["id": .integer(id), "code": "source.unreadable"]])
            #expect(try await scene.probe.state(id) == "failed")
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading.UploadServers {
    /// Presigned URLs, with moto.
    @Suite(.enabled(if: Requirements.hasPythonServers), SharedServer { try await S3Server.start() })
    struct S3 {
        private static let partSize = 5 << 20
        /// Bytes per second: a little more than two parts takes 8 s, and the rest 6 s, which is enough time on a busy
        /// machine.
        private static let pace: JSONValue = 1_500_000
        /// Four parts, and one of a single byte.
        private let content = Content(seed: 56, size: 4 * partSize + 1)

        private func parts(_ object: S3Server.Object, of size: Int = partSize) -> [String: JSONValue] {
            [
                "uploadProtocol": "s3Multipart",
                "s3": [
                    "partURLs": .array(object.parts.map { .string($0) }), "partSize": .integer(Int64(size)),
                    "completeURL": .string(object.complete),
                ],
            ]
        }

        private func expectStored(_ object: S3Server.Object, _ scene: Scene) async throws {
            let id = try await scene.probe.add(object.get, to: scene.file("back"))
            try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file("back")))
        }

        @Test(.timeLimit(.minutes(1)))
        func onePresignedPut() async throws {
            let server = try SharedServer<S3Server>.current
            let scene = try await Scene()
            let object = try await server.presign("put")
            let id = try await scene.upload(content, to: object.put, ["uploadProtocol": "put"])
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["response", "status"]?.integerValue == 200)
            try await expectStored(object, scene)
        }

        @Test(.timeLimit(.minutes(1)))
        func aKilledMultipartUploadSendsOnlyPartsThatAreMissing() async throws {
            let server = try SharedServer<S3Server>.current
            let scene = try await Scene()
            let object = try await server.presign("parts", parts: 5)
            let id = try await scene.upload(
                content, to: object.put, parts(object).merging(["rateLimit": Self.pace]) { $1 })
            // Two parts are there, and the third is being sent.
            try await scene.wait(for: id, sent: 2 * Self.partSize + (1 << 20))
            let (restarted, task) = try await scene.killed(while: id)
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            #expect(try #require(try await restarted.resumptions(id).last) >= 2 * Self.partSize)
            let parts = server.parts(of: "parts")
            #expect(parts.filter { $0.number <= 2 }.map(\.number) == [1, 2])
            // moto refuses the part that was cut. No other part comes twice.
            #expect(Set(parts.filter { $0.status == 200 }.map(\.number)) == [1, 2, 3, 4, 5])
            #expect(parts.count <= 6)
            try await expectStored(object, restarted)
        }

        /// A task that waited until its URLs expired continues with new ones, from the existing parts.
        @Test(.timeLimit(.minutes(1)))
        func partsStayUnderURLsThatAreSignedAnew() async throws {
            let server = try SharedServer<S3Server>.current
            let scene = try await Scene()
            let object = try await server.presign("fresh", parts: 5)
            let id = try await scene.upload(
                content, to: object.put, parts(object).merging(["rateLimit": Self.pace]) { $1 })
            try await scene.wait(for: id, sent: 2 * Self.partSize + (1 << 20))
            let fresh = object.fresh
            try await scene.probe.call(
                "task.update",
                [
                    "id": .integer(id), "rateLimit": 0,
                    "s3": [
                        "partURLs": fresh["parts"] ?? [], "partSize": .integer(Int64(Self.partSize)),
                        "completeURL": fresh["complete"] ?? "", "abortURL": fresh["abort"] ?? "",
                    ],
                ])
            try await scene.probe.wait(for: id, "completed")
            let parts = server.parts(of: "fresh").filter { $0.status == 200 }
            #expect(parts.map(\.number).sorted() == [1, 2, 3, 4, 5])
            let signed = server.requests.filter {
                $0.target.hasPrefix("/bucket/fresh?") && $0.target.contains("X-Amz-Expires=7200") && $0.status == 200
            }
            // Three parts, and the completion.
            #expect(signed.count == 4)
            try await expectStored(object, scene)
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledUploadIsEndedAtTheStore() async throws {
            let server = try SharedServer<S3Server>.current
            let scene = try await Scene()
            let object = try await server.presign("ended", parts: 5)
            var members = parts(object).merging(["rateLimit": Self.pace]) { $1 }
            guard case .object(var s3)? = members["s3"] else { return }
            s3["abortURL"] = .string(object.abort)
            members["s3"] = .object(s3)
            let id = try await scene.upload(content, to: object.put, members)
            try await scene.wait(for: id, sent: Self.partSize + (1 << 20))
            try await scene.probe.control("cancel", id)
            #expect(
                await eventually {
                    server.requests.contains {
                        $0.method == "DELETE" && $0.target.hasPrefix("/bucket/ended?") && $0.status == 204
                    }
                })
        }

        /// S3 may begin its answer before it knows how the completion ends. moto does not, so a proxy answers 200 in
        /// its place.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("haproxy")))
        func anErrorUnderA200IsNoSuccess() async throws {
            let server = try SharedServer<S3Server>.current
            let proxy = try await HAProxy.start(
                to: server.port, extra: "http-response set-status 200 if { status 400 }")
            let scene = try await Scene()
            // All parts except the last must have 5 MiB.
            let object = try await server.presign("small", parts: 6, through: proxy.port)
            let id = try await scene.upload(content, to: object.put, parts(object, of: 4 << 20))
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task["response", "status"]?.integerValue == 200)
            #expect(task.errorCode == "http.status")
            #expect(task["error", "details", "s3"]?.stringValue == "EntityTooSmall")
        }
    }
}

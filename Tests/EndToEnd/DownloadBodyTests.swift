import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Downloads whose request has a body from a file.
    struct DownloadBodies {
        private static let size = 3 << 20
        private let question = Content(seed: 51, size: size)

        /// Answers with the number of bytes in the request's body.
        private struct Counting: UploadRules {
            /// The statuses of the first answers.
            var first: [Int] = []

            func answer(_ request: UploadExchange) throws {
                let bytes = try request.readAll()
                let turn = request.files.all.count + 1
                request.files.put("/turn-\(turn)", bytes)
                let status = turn <= first.count ? first[turn - 1] : 200
                try request.reply(status, body: "\(bytes.count) bytes")
            }
        }

        private func spec(_ scene: Scene, _ url: String, _ more: [String: JSONValue] = [:]) throws -> [String:
            JSONValue]
        {
            try Files.write(scene.file("question"), question.bytes)
            let spec: [String: JSONValue] = ["method": "POST", "body": ["file": .string(scene.file("question"))]]
            return spec.merging(more) { $1 }
        }

        @Test(.timeLimit(.minutes(1)))
        func aLargeBodyIsStreamedAndTheAnswerSaved() async throws {
            let server = try UploadServer(Counting())
            let scene = try await Scene()
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"), try spec(scene, server.url("/ask")))
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/turn-1"]?.content == question)
            #expect(try Files.text(scene.file("answer")) == "\(Self.size) bytes")
            #expect(task["bytesReceived"]?.integerValue == Int64("\(Self.size) bytes".utf8.count))
            #expect(server.requests("POST").count == 1)
        }

        /// A refusal for now is not an action: the body is sent again if it is still the same.
        @Test(.timeLimit(.minutes(1)))
        func aRefusedBodyIsSentAgain() async throws {
            let server = try UploadServer(Counting(first: [503]))
            let scene = try await Scene()
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"),
                try spec(scene, server.url("/ask"), Scene.quickRetry))
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/turn-2"]?.content == question)
        }

        @Test(.timeLimit(.minutes(1)), arguments: SourceChange.allCases)
        func aBodyThatChangedBetweenAttemptsIsNotSent(change: SourceChange) async throws {
            let server = try UploadServer(Counting(first: [503]))
            let scene = try await Scene()
            let slow: [String: JSONValue] = ["retry": ["firstDelay": 3600, "longestDelay": 3600]]
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"), try spec(scene, server.url("/ask"), slow))
            try await scene.probe.wait(for: id, "waiting")
            try change.happen(to: scene.file("question"))
            try await scene.probe.control("retry", id)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == change.code)
            #expect(server.requests("POST").count == 1)
            #expect(!Files.exists(scene.file("answer")))
        }

        /// A request that the server may have acted on is not sent again without being asked, but it is after a retry.
        @Test(.timeLimit(.minutes(1)), arguments: [500, 502])
        func aPostThatMayHaveBeenActedOnIsNotRepeated(status: Int) async throws {
            let server = try UploadServer(Counting(first: [status]))
            let scene = try await Scene()
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"),
                try spec(scene, server.url("/ask"), Scene.quickRetry))
            try await scene.probe.wait(for: id, "failed")
            #expect(server.requests("POST").count == 1)
            try await scene.probe.control("retry", id)
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.text(scene.file("answer")) == "\(Self.size) bytes")
        }

        /// kill -9 while the answer is awaited: nobody knows whether the server acted on the request.
        @Test(.timeLimit(.minutes(1)), arguments: ["POST", "PUT"])
        func aKilledDaemonRepeatsOnlyWhatMayBe(method: String) async throws {
            var scene = try await Scene()
            scene.origin.serve("/ask", .silent, .good(Resource(Content(seed: 53, size: 1000))))
            let more: [String: JSONValue] = ["method": .string(method)]
            let id = try await scene.probe.add(
                scene.origin.url("/ask"), to: scene.file("answer"),
                try spec(scene, scene.origin.url("/ask"), more))
            #expect(await eventually { scene.origin.requests("/ask").count == 1 })
            scene = try await scene.restarted()
            if method == "PUT" {
                try await scene.probe.wait(for: id, "completed")
                #expect(scene.origin.requests("/ask").map(\.request.body.count) == [Self.size, Self.size])
            } else {
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == "network.lost")
                #expect(scene.origin.requests("/ask").count == 1)
                try await scene.probe.control("retry", id)
                try await scene.probe.wait(for: id, "completed")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aSmallBodysFileMayGoAtOnce() async throws {
            let server = try UploadServer(Counting())
            var scene = try await Scene()
            let small = Content(seed: 54, size: 1 << 20)
            try Files.write(scene.file("small"), small.bytes)
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"),
                ["method": "POST", "body": ["file": .string(scene.file("small"))], "startPaused": true])
            unlink(scene.file("small"))
            scene = try await scene.restarted()
            try await scene.probe.control("resume", id)
            try await scene.probe.wait(for: id, "completed")
            #expect(server.files["/turn-1"]?.content == small)
            #expect(try Files.text(scene.file("answer")) == "\(1 << 20) bytes")
        }

        /// The bytes are wrong, but asking again would make the server act again.
        @Test(.timeLimit(.minutes(1)))
        func aWrongDigestOfAPostIsFinal() async throws {
            let server = try UploadServer(Counting())
            let scene = try await Scene()
            let wrong = String(repeating: "0", count: 64)
            let id = try await scene.probe.add(
                server.url("/ask"), to: scene.file("answer"),
                try spec(
                    scene, server.url("/ask"),
                    ["checksum": ["algorithm": "sha-256", "value": .string(wrong)]]))
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "integrity.checksum")
            #expect(server.requests("POST").count == 1)
            #expect(scene.names == ["question"])
            try await scene.probe.control("retry", id)
            try await scene.probe.wait(for: id, "failed")
            #expect(server.requests("POST").count == 2)
        }
    }
}

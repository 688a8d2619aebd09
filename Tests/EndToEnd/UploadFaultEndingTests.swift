import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading {
    /// Uploads that are not wanted any more. Their servers are told, however long that takes, and nobody waits for it.
    struct UploadFaultEndingTests {
        private static let begun = 100_000

        /// A scene with an upload of which the server holds a part. The server reads no more until it is released.
        private struct Stage {
            var scene: Scene
            let server: UploadServer
            let id: Int64

            init(_ subject: UploadFaultSubject, _ script: [UploadFault] = []) async throws {
                scene = try await Scene()
                server = try UploadServer(subject.rules, script)
                server.hold(.body(begun))
                try Files.write(scene.file("source"), subject.content.bytes)
                id = try await scene.probe.add([subject.spec(server, source: scene.file("source"))])[0]
                let server = server
                try #require(await eventually { server.files.total >= begun })
            }

            var terminations: Int { server.requests(in: .termination).count { $0.status > 0 } }
            var isEnded: Bool { server.files.all.values.allSatisfy(\.isDeleted) }

            /// Another upload runs from beginning to end, so everything that was due before is done.
            func passTime() async throws {
                let other = try UploadServer(PlainRules())
                for number in 1...3 {
                    let next = try await scene.probe.add([
                        [
                            "kind": "data", "method": "PUT", "url": .string(other.url("/\(number)")),
                            "body": ["text": "x"],
                        ]
                    ])
                    try await scene.probe.wait(for: next[0], "completed")
                }
            }
        }

        static let subjects = UploadFaultSubject.all.filter { $0.kind.isSubset(of: .creating) }

        @Test(.timeLimit(.minutes(1)), arguments: subjects)
        func aServerThatIsNotReadyIsToldAgain(_ subject: UploadFaultSubject) async throws {
            let stage = try await Stage(
                subject,
                [
                    .on(.termination, 1, .answer(503)), .on(.termination, 2, .answer(423)),
                    .on(.termination, 3, .hangUp),
                ])
            #expect(try await stage.scene.probe.control("cancel", stage.id))
            // The file is removed before the request is recorded.
            #expect(await eventually { stage.isEnded && stage.terminations >= 3 })
            #expect(stage.terminations == 3)
            #expect(try await stage.scene.probe.state(stage.id) == "cancelled")
        }

        @Test(.timeLimit(.minutes(1)))
        func theNextDaemonGoesOnWithIt() async throws {
            let subject = try #require(UploadFaultSubject.named(.tus))
            var stage = try await Stage(subject.large, [.on(.termination, .answer(503, [("Retry-After", "2")]))])
            #expect(try await stage.scene.probe.control("cancel", stage.id))
            // Nothing is left of the task except what its server must be told.
            #expect(try await stage.scene.probe.control("remove", stage.id))
            let server = stage.server
            #expect(await eventually { server.requests(in: .termination).count == 1 })
            stage.scene = try await stage.scene.restarted()
            let resumed = stage
            #expect(await eventually { resumed.isEnded && resumed.terminations >= 2 })
            #expect(stage.terminations == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatWasNotToldWhenTheDaemonDiedIsTold() async throws {
            let subject = try #require(UploadFaultSubject.named(.contentRange))
            var stage = try await Stage(subject.large, [.on(.termination, .stall)])
            #expect(try await stage.scene.probe.control("cancel", stage.id))
            let server = stage.server
            #expect(await eventually { server.requests(in: .termination).count == 1 })
            stage.scene = try await stage.scene.restarted()
            #expect(await eventually { server.files.all.values.allSatisfy(\.isDeleted) })
            #expect(server.requests(in: .termination).count == 2)
        }

        @Test(.timeLimit(.minutes(1)))
        func nobodyWaitsForAServerThatSaysNothing() async throws {
            let subject = try #require(UploadFaultSubject.named(.tus))
            let stage = try await Stage(subject.large, [.always(.termination, .stall)])
            #expect(try await stage.scene.probe.control("cancel", stage.id))
            #expect(try await stage.scene.probe.state(stage.id) == "cancelled")
            #expect(await eventually { stage.server.requests(in: .termination).count == 1 })
            // The upload starts over while the old one is still being ended.
            #expect(try await stage.scene.probe.control("retry", stage.id))
            stage.server.release()
            try await stage.scene.probe.wait(for: stage.id, "completed")
            let whole = stage.server.files.all.values.filter(\.isComplete)
            #expect(whole.map(\.content) == [subject.large.content])
            #expect(stage.server.files.all.count == 2)
            #expect(try await stage.scene.daemon.terminate() == 0)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [204, 404, 405, 403])
        func anAnswerThatWillNotChangeIsEnough(_ status: Int) async throws {
            let subject = try #require(UploadFaultSubject.named(.tus))
            let stage = try await Stage(subject.large, [.always(.termination, .answer(status))])
            #expect(try await stage.scene.probe.control("cancel", stage.id))
            #expect(await eventually { stage.terminations == 1 })
            try await stage.passTime()
            #expect(stage.terminations == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatIsKeptIsNotEnded() async throws {
            let subject = try #require(UploadFaultSubject.named(.tus))
            let stage = try await Stage(subject.large)
            #expect(try await stage.scene.probe.control("cancel", stage.id, ["keepPartial": true]))
            try await stage.passTime()
            #expect(stage.terminations == 0)
            #expect(try await stage.scene.probe.control("retry", stage.id))
            stage.server.release()
            try await stage.scene.probe.wait(for: stage.id, "completed")
            #expect(stage.server.files.all.values.map(\.content) == [subject.large.content])
            #expect(stage.server.received("PATCH") == subject.large.content.size)
            try await stage.passTime()
            #expect(stage.terminations == 0)
        }

        @Test(.timeLimit(.minutes(1)), arguments: subjects)
        func anotherURLEndsTheOldUpload(_ subject: UploadFaultSubject) async throws {
            let stage = try await Stage(subject.large, [.on(.termination, .answer(500))])
            let new = try UploadServer(subject.rules)
            // A new query is the same place, because tokens are renewed there.
            try await stage.scene.probe.call(
                "task.update", ["id": .integer(stage.id), "url": .string(stage.server.url("/files/?token=2"))])
            try await stage.scene.probe.call(
                "task.update", ["id": .integer(stage.id), "url": .string(new.url())])
            try await stage.scene.probe.wait(for: stage.id, "completed")
            #expect(new.files.all.values.map(\.content) == [subject.large.content])
            #expect(await eventually { stage.isEnded && stage.terminations >= 2 })
            #expect(stage.server.files.all.count == 1)
            #expect(stage.terminations == 2)
            #expect(new.requests(in: .termination).isEmpty)
        }
    }
}

import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// Bodies that go to a client as they arrive, within its credit.
    struct Streams {
        private let resource = Resource.version(1, size: 3 << 20)

        @Test(.timeLimit(.minutes(1)))
        func aBodyComesWholeAndInOrder() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add()
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == resource.content)
            #expect(heard.order == ["task.added", "task.started", "task.response", "task.data", "task.completed"])
            #expect(heard.last["bytes"]?.integerValue == Int64(resource.content.size))
            let refusal = try await stream.refusal("task.body", ["id": .integer(id)])
            #expect(refusal?.code == "task.wrong_state")
            // Late credit is not an error: a client gives it as it consumes.
            #expect(try await stream.credit(id, 1) != nil)
            let info = try await stream.probe.call("daemon.info")
            #expect(info["features"]?.arrayValue?.contains("sessions.streams") == true)
        }

        @Test(.timeLimit(.minutes(1)))
        func noMoreComesThanThereIsCreditFor() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            // Credit counts before the task runs.
            let id = try await stream.add("/file", ["startPaused": true])
            #expect(try await stream.credit(id, 70_000) == 70_000)
            #expect(try await stream.credit(id, 30_000) == 100_000)
            try await stream.probe.call("task.resume", ["ids": [.integer(id)]])
            var heard = try await stream.hear(id, bytes: 100_000)
            #expect(heard.bytes.count == 100_000)
            // Everything sent before an answer comes before it in the queue, and nothing else was sent.
            let taken = await eventually {
                (try? await stream.probe.task(id))?["bytesReceived"]?.integerValue == 100_000
            }
            #expect(taken)
            #expect(try await stream.credit(id, 1) == 1)
            heard = try await stream.hear(id, bytes: 100_001, after: heard)
            #expect(heard.bytes.count == 100_001)
            try await stream.credit(id)
            heard = try await stream.hear(id, until: "task.completed", after: heard)
            #expect(Content(bytes: heard.bytes) == resource.content)
        }

        /// A task of the other store says that it waits for the slot, and gets it when the stream's client takes nothing.
        @Test(.timeLimit(.minutes(1)))
        func aStreamWithoutCreditLeavesItsSlot() async throws {
            let stream = try await StreamScene()
            try await stream.probe.call("settings.set", ["maximumConcurrentTasks": 1])
            // The server has no use for a full buffer.
            let long = Resource.version(2, size: 24 << 20)
            stream.origin.serve("/long", .good(long))
            stream.origin.serve("/file", .good(resource))
            stream.origin.serve("/silent", .silent)
            let id = try await stream.add("/long")
            _ = try await stream.hear(id, until: "task.response")
            let other = try await stream.scene.add()
            let waiting = try await stream.probe.task(other)
            #expect(waiting["state"] == "queued" && waiting["reason"] == "slots", "\(waiting)")
            try await stream.probe.wait(for: other, "completed")
            #expect(try await stream.probe.task(id)["state"] == "running")
            // It goes on although a task of the other store has the only slot, and nobody is stopped.
            let silent = try await stream.scene.add("/silent", to: "silent")
            try await stream.probe.wait(for: silent, "running")
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == long.content && stream.origin.requests("/long").count == 1)
            #expect(try await stream.probe.task(silent)["state"] == "running")
            let last = try await stream.add("/file")
            let queued = try await stream.probe.task(last)
            #expect(queued["state"] == "queued" && queued["reason"] == "slots", "\(queued)")
        }

        @Test(.timeLimit(.minutes(1)))
        func withoutCreditTheTransferPausesAndOthersGoOn() async throws {
            let stream = try await StreamScene()
            let long = Resource.version(2, size: 24 << 20)
            stream.origin.serve("/long", .good(long))
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add("/long", ["timeoutIntervalForRequest": 2, "retry": ["attempts": 1]])
            _ = try await stream.hear(id, until: "task.response")
            let other = try await stream.scene.add(session: "v")
            try await stream.probe.wait(for: other, "completed")
            // A server's silence is detected. This client has been silent longer than the timeout when the server's
            // silence begins.
            stream.origin.serve("/silent", .silent)
            let silent = try await stream.add(
                "/silent", ["timeoutIntervalForRequest": 3, "retry": ["attempts": 1]])
            try await stream.probe.wait(for: silent, "failed")
            let task = try await stream.probe.task(id)
            #expect(task["state"] == "running" && task["attempts"]?.integerValue == 1, "\(task)")
            #expect(stream.origin.bytesSent("/long") < 12 << 20)
            try await stream.credit(id)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == long.content)
        }

        @Test(.timeLimit(.minutes(1)))
        func aResourceTimeoutHoldsWithoutCredit() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add("/file", ["timeoutIntervalForResource": 0.5])
            let heard = try await stream.hear(id, until: "task.failed")
            #expect(heard.last.errorCode == "deadline.exceeded")
            #expect(heard.bytes.isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func anEmptyBodyNeedsNoCredit() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/empty", .status(200))
            let id = try await stream.add("/empty")
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(heard.order == ["task.added", "task.started", "task.response", "task.completed"])
            #expect(heard.last["bytes"]?.integerValue == 0)
        }

        @Test(.timeLimit(.minutes(1)))
        func onlyTheFinalAnswersBodyIsSent() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/moved", .status(302, [("Location", "/gone")], body: "it moved"))
            stream.origin.serve("/gone", .status(404, body: "it is gone"))
            let refused = try await stream.add("/moved")
            try await stream.credit(refused)
            var heard = try await stream.hear(refused, until: "task.failed")
            #expect(heard.bytes.isEmpty && heard.last.errorCode == "http.status")
            let wanted = try await stream.add("/moved", ["acceptsAnyStatus": true])
            try await stream.credit(wanted)
            heard = try await stream.hear(wanted, until: "task.completed")
            #expect(heard.bytes == Array("it is gone".utf8))
        }

        @Test(.timeLimit(.minutes(1)))
        func streamsAreRefusedElsewhere() async throws {
            let stream = try await StreamScene()
            let url = JSONValue.string(stream.origin.url("/file"))
            for (session, spec) in [
                ("durable", ["kind": "data", "stream": true, "url": url]),
                ("v", ["stream": true, "url": url, "destination": ["path": .string(stream.scene.file())]]),
                ("v", ["kind": "upload", "stream": true, "url": url, "source": ["path": "/etc/hostname"]]),
            ] as [(String, JSONValue)] {
                if session == "durable" { try await stream.probe.call("session.open", ["id": "durable"]) }
                let refusal = try await stream.refusal(
                    "task.add", ["session": .string(session), "tasks": [spec]])
                #expect(refusal?.code == "request.bad_field" && refusal?.field == "tasks[0].stream", "\(spec)")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func creditIsForOnesOwnStreamsOnly() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add()
            let other = try await stream.scene.daemon.probe()
            let ask = ["id": .integer(id), "bytes": 10] as JSONValue
            #expect(try await stream.refusal("task.credit", ask, on: other)?.code == "task.not_found")
            try await stream.credit(id, 1)
            #expect(try await stream.refusal("task.credit", ask, on: other)?.code == "task.not_found")
            for bytes in [0, -1, .integer(.min), "1", 1.5, .null] as [JSONValue] {
                let refusal = try await stream.refusal("task.credit", ["id": .integer(id), "bytes": bytes])
                #expect(refusal?.code == "request.bad_field" && refusal?.field == "bytes", "\(bytes)")
            }
            // More credit than a body can have counts as the largest possible credit.
            _ = try await stream.hear(id, bytes: 1)
            try await stream.probe.call("task.pause", ["ids": [.integer(id)]])
            #expect(try await stream.credit(id) == .max)
            #expect(try await stream.credit(id) == .max)
            let kept = try await stream.probe.add(
                [["kind": "data", "url": .string(stream.origin.url("/file"))]], session: "v")[0]
            let durable = try await stream.scene.add()
            for task in [kept, durable] {
                let refusal = try await stream.refusal("task.credit", ["id": .integer(task), "bytes": 1])
                #expect(refusal?.code == "request.bad_field" && refusal?.field == "id")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aClientThatDoesNotReadHoldsItsStreamsBack() async throws {
            let stream = try await StreamScene()
            let long = Resource.version(2, size: 24 << 20)
            stream.origin.serve("/long", .good(long))
            stream.origin.serve("/file", .good(resource))
            let id = try await stream.add("/long")
            try await stream.credit(id)
            #expect(await eventually { stream.origin.bytesSent("/long") > 100_000 })
            // While others transfer as much as they want, this one waits for its client.
            let other = try await stream.scene.daemon.probe()
            let download = try await other.add(stream.origin.url("/file"), to: stream.scene.file())
            try await other.wait(for: download, "completed")
            #expect(stream.origin.bytesSent("/long") < 12 << 20)
            let heard = try await stream.hear(id, until: "task.completed")
            #expect(Content(bytes: heard.bytes) == long.content)
        }

        @Test(.timeLimit(.minutes(1)))
        func aStreamEndsWithItsConnection() async throws {
            let stream = try await StreamScene()
            stream.origin.serve("/file", .good(resource))
            let other = try await stream.scene.daemon.probe()
            let id = try await stream.add()
            try await stream.credit(id, 1000)
            _ = try await stream.hear(id, bytes: 1000)
            stream.probe.disconnect()
            #expect(
                await eventually {
                    (try? await other.call("session.open", ["id": "v", "kind": "default"])) != nil
                })
            #expect(try await other.call("daemon.stats")["activeTransfers"]?.integerValue == 0)
        }
    }
}

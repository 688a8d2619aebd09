import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Answers that a client is asked about at their headers.
    struct DecisionResponses {
        private func scene() async throws -> Scene {
            let scene = try await Scene.asking("response")
            scene.origin.serve("/file", .good(.version(1, size: 300_000)))
            return scene
        }

        private func add(_ kind: String, _ scene: Scene) async throws -> Int64 {
            kind == "data" ? try await scene.request("/file") : try await scene.add(session: "s")
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["data", "download"])
        func nothingOfTheBodyIsTakenBeforeTheAnswer(kind: String) async throws {
            let scene = try await scene()
            let id = try await add(kind, scene)
            let asked = try await scene.question(id)
            #expect(asked["kind"] == "response" && asked["default"] == "allow" && asked["deadline"] != nil, "\(asked)")
            #expect(asked["response", "status"] == 200 && asked["response", "expectedLength"] == 300_000)
            var task: JSONValue = .null
            #expect(
                try await eventually {
                    task = try await scene.probe.task(id)
                    return task["phase"] == "deciding"
                }, "\(task)")
            #expect(task["state"] == "running" && task["bytesReceived"] == 0 && scene.names.isEmpty, "\(task)")
            let output = try await scene.daemon.dlctl(["explain", "\(id)"]).output
            #expect(output.contains("allow") && output.contains("If nobody answers, dld takes allow at "), "\(output)")
            let offered = kind == "data" ? "say one of allow, cancel, becomeDownload." : "say one of allow, cancel."
            let wrong = try #require(try await scene.refusal(asked, "follow"))
            #expect(wrong.code == "request.bad_field" && wrong.message.contains(offered))
            try await scene.answer(asked, "allow")
            try await scene.answer(asked, "allow")
            #expect(try await scene.refusal(asked, "cancel")?.code == "decision.gone")
            try await scene.probe.wait(for: id, "completed")
            if kind == "download" { #expect(Resource.version(1, size: 300_000).content.matches(scene.file())) }
            #expect(scene.origin.requests("/file").count == 1)
            #expect(try await scene.toldQuestions(id).count == 1)
        }

        /// Others do not wait for the client's answer. The session's own limit holds all the same.
        @Test(.timeLimit(.minutes(1))) func whoWaitsForAnAnswerLeavesItsSlot() async throws {
            let scene = try await scene()
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 1])
            try await scene.openAsking(["response"], ["maximumConcurrentTasks": 1])
            let id = try await scene.add(session: "s")
            let asked = try await scene.question(id)
            let next = try await scene.add(to: "next", session: "s")
            try await scene.probe.wait(for: try await scene.add(to: "other"), "completed")
            #expect(try await scene.probe.task(id)["phase"] == "deciding")
            let waiting = try await scene.probe.task(next)
            #expect(waiting["state"] == "queued" && waiting["reason"] == "session", "\(waiting)")
            try await scene.answer(asked, "allow")
            try await scene.probe.wait(for: id, "completed")
            try await scene.answer(try await scene.question(next), "allow")
            try await scene.probe.wait(for: next, "completed")
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["data", "download"])
        func anEmptyBodyWaitsToo(kind: String) async throws {
            let scene = try await scene()
            scene.origin.serve("/file", .status(200, [], body: ""))
            let id = try await add(kind, scene)
            let asked = try await scene.question(id)
            #expect(try await scene.probe.task(id)["state"] == "running")
            try await scene.answer(asked, "allow")
            try await scene.probe.wait(for: id, "completed")
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["data", "download"])
        func cancelCancelsTheTask(kind: String) async throws {
            let scene = try await scene()
            let id = try await add(kind, scene)
            try await scene.answer(try await scene.question(id), "cancel")
            try await scene.probe.wait(for: id, "cancelled")
            #expect(scene.names.isEmpty)
            #expect(try await scene.questions(id).isEmpty)
        }

        /// No body is fetched without consent.
        @Test(.timeLimit(.minutes(1))) func aQuestionThatCannotBeStoredFailsTheAttempt() async throws {
            var scene = try await scene()
            _ = try await scene.daemon.terminate()
            let index = "CREATE UNIQUE INDEX one ON decision (state)"
            try Files.write(
                scene.file("plant.py"),
                "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as database: database.execute('\(index)')\n")
            try await Program.require([
                "python3", scene.file("plant.py"), scene.daemon.stateFolder + "/dld.sqlite",
            ])
            scene = try await scene.restarted()
            let first = try await add("download", scene)
            _ = try await scene.question(first)
            let second = try await scene.add(to: "second", session: "s")
            let task = try await scene.probe.wait(for: second, "waiting")
            #expect(task["reason"] == "retry" && task["bytesReceived"] == 0, "\(task)")
        }

        @Test(.timeLimit(.minutes(1))) func aPausedTaskAsksNothing() async throws {
            let scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await scene.question(id)
            #expect(try await scene.probe.control("pause", id))
            #expect(try await scene.questions(id).isEmpty)
            #expect(try await scene.refusal(asked, "allow")?.code == "decision.gone")
        }

        /// The request is never made again: the exchange that is held goes on into the file.
        @Test(.timeLimit(.minutes(1)), arguments: ["GET", "POST"], [0, 1000, 300_000, 3_000_000])
        func anAnswerBecomesAFile(method: String, size: Int) async throws {
            let scene = try await scene()
            let resource = Resource.version(1, size: size)
            // A link that works once.
            scene.origin.serve("/file", .good(resource), .status(410))
            let id = try await scene.request(
                "/file", method == "POST" ? ["method": "POST", "body": ["text": "order"]] : [:])
            let asked = try await scene.question(id)
            #expect(asked["actions"] == ["allow", "cancel", "becomeDownload"])
            let bad = try await scene.refusal(asked, "becomeDownload", ["destination": ["path": "relative"]])
            #expect(bad?.code == "destination.bad_path", "\(String(describing: bad))")
            let destination: [String: JSONValue] = ["destination": ["path": .string(scene.file("saved"))]]
            for _ in 0..<2 { try await scene.answer(asked, "becomeDownload", destination) }
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(task["kind"] == "download" && task["file"] == .string(scene.file("saved")), "\(task)")
            #expect(task["attempts"] == 1 && scene.names == ["saved"], "\(task)")
            #expect(resource.content.matches(scene.file("saved")))
            #expect(try await scene.toldQuestions(id).count == 1)
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// The request had asked for a coding.
        @Test(.timeLimit(.minutes(1))) func aCodedAnswerBecomesADecodedFile() async throws {
            let scene = try await scene()
            let coded = try await Packing.pack(Resource.version(1, size: 300_000).content.bytes, "gzip")
            scene.origin.serve(
                "/file",
                Behaviour { _, reply in
                    try reply.head(200, "OK", [("Content-Encoding", "gzip"), ("Content-Length", "\(coded.count)")])
                    try reply.body(coded[...])
                }, .status(410))
            let id = try await scene.request("/file")
            try await scene.answer(
                try await scene.question(id), "becomeDownload", ["destination": ["path": .string(scene.file("saved"))]])
            try await scene.probe.wait(for: id, "completed")
            #expect(Resource.version(1, size: 300_000).content.matches(scene.file("saved")))
        }

        /// A stream of a volatile session, of which its client has seen the header.
        @Test(.timeLimit(.minutes(1))) func aStreamBecomesAFile() async throws {
            let scene = try await scene()
            try await scene.probe.call(
                "session.open", ["id": "v", "kind": "ephemeral", "configuration": ["asks": ["response"]]])
            let id = try await scene.probe.add(
                [["kind": "data", "url": .string(scene.origin.url("/file")), "stream": true]], session: "v")[0]
            try await scene.answer(
                try await scene.question(id), "becomeDownload", ["destination": ["path": .string(scene.file("saved"))]])
            try await scene.probe.wait(for: id, "completed")
            #expect(Resource.version(1, size: 300_000).content.matches(scene.file("saved")))
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// What is left of the answer is requested, as in every download.
        @Test(.timeLimit(.minutes(1))) func theRestOfABrokenAnswerIsRequested() async throws {
            let scene = try await scene()
            let resource = Resource.version(1, size: 2 << 20)
            scene.origin.serve("/file", .good(resource, cutAfter: 1 << 20), .good(resource))
            let id = try await scene.request("/file", Scene.quickRetry)
            try await scene.answer(
                try await scene.question(id), "becomeDownload", ["destination": ["path": .string(scene.file("saved"))]])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file("saved")))
            #expect(scene.origin.requests("/file").map(\.rangeStart).last == 1 << 20)
        }

        /// The daemon dies while the answer arrives. Whether the server acted on the request is not known.
        @Test(.timeLimit(.minutes(1))) func theNextDaemonDoesNotRepeatAPost() async throws {
            var scene = try await scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 300_000), after: 100_000))
            let id = try await scene.request("/file", ["method": "POST", "body": ["text": "order"]])
            try await scene.answer(
                try await scene.question(id), "becomeDownload", ["destination": ["path": .string(scene.file("saved"))]])
            let arrives = try await eventually {
                (try await scene.probe.task(id)["bytesReceived"]?.integerValue ?? 0) > 0
            }
            #expect(arrives)
            scene = try await scene.restarted()
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "network.lost" && task["kind"] == "download", "\(task)")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// The connection ended with the daemon, so the request would have to be made again.
        @Test(.timeLimit(.minutes(1)), arguments: ["GET", "POST"])
        func anAnswerThatIsNotHeldAnyMoreIsRequestedIfThatIsHarmless(method: String) async throws {
            var scene = try await scene()
            let id = try await scene.request(
                "/file", method == "POST" ? ["method": "POST", "body": ["text": "order"]] : [:])
            let asked = try await scene.question(id)
            scene = try await scene.restarted()
            let destination: JSONValue = ["destination": ["path": .string(scene.file("saved"))]]
            let refusal = try await scene.refusal(asked, "becomeDownload", destination.objectValue ?? [:])
            #expect(refusal?.code == (method == "POST" ? "request.unsupported" : nil))
            if method == "GET" { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.origin.requests("/file").count == (method == "GET" ? 2 : 1))
        }

        /// A stop before the file has begun, and while it arrives.
        @Test(.timeLimit(.minutes(1))) func whatBecameAFileCanBePaused() async throws {
            let scene = try await scene()
            let resource = Resource.version(1, size: 300_000)
            for name in ["first", "second"] {
                scene.origin.serve("/\(name)", .stalling(resource, after: 100_000), .good(resource))
                let id = try await scene.request("/\(name)")
                try await scene.answer(
                    try await scene.question(id), "becomeDownload", ["destination": ["path": .string(scene.file(name))]]
                )
                if name == "second" {
                    let arrives = try await eventually {
                        (try await scene.probe.task(id)["bytesReceived"]?.integerValue ?? 0) > 0
                    }
                    #expect(arrives)
                }
                #expect(try await scene.probe.control("pause", id))
                #expect(try await scene.probe.state(id) == "paused")
                #expect(try await scene.probe.control("resume", id))
                try await scene.probe.wait(for: id, "completed")
                #expect(resource.content.matches(scene.file(name)))
            }
        }

        @Test(.timeLimit(.minutes(1))) func fetchNamesTheFileThatItsAnswerBecame() async throws {
            let scene = try await scene()
            let daemon = scene.daemon
            async let fetched = daemon.dlctl(["fetch", "-s", "s", scene.origin.url("/file")])
            // It is the first task of this daemon.
            try await scene.answer(
                try await scene.question(1), "becomeDownload", ["destination": ["path": .string(scene.file("saved"))]])
            let ended = try await fetched
            #expect(ended.status == 0 && "\(ended)".contains(scene.file("saved")), "\(ended)")
        }

        /// The connection ends with the daemon, but the question stays, and the same request is made again.
        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func theQuestionOutlivesTheConnection(isSame: Bool) async throws {
            var scene = try await scene()
            let id = try await scene.add(session: "s")
            let asked = try await scene.question(id)
            scene = try await scene.restarted()
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "decision", "\(task)")
            #expect(try await scene.question(id) == asked)
            let resource = Resource.version(isSame ? 1 : 2, size: isSame ? 300_000 : 400_000)
            scene.origin.serve("/file", .good(resource))
            try await scene.answer(asked, "allow")
            if !isSame {
                let other = try await scene.question(id, after: asked)
                #expect(other["response", "expectedLength"] == 400_000, "\(other)")
                try await scene.answer(other, "allow")
            }
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(try await scene.toldQuestions(id).count == (isSame ? 1 : 2))
        }

        /// The continuation of an answer that was allowed is not asked about.
        @Test(.timeLimit(.minutes(1))) func aContinuationIsNotAskedAbout() async throws {
            let scene = try await scene()
            let resource = Resource.version(1, size: 2 << 20)
            scene.origin.serve("/file", .good(resource, cutAfter: 1 << 20), .good(resource))
            let id = try await scene.add(session: "s")
            try await scene.answer(try await scene.question(id), "allow")
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(try await scene.toldQuestions(id).count == 1)
        }

        /// The server has closed the connection by the time the question is answered.
        @Test(.timeLimit(.minutes(1))) func theServersPatienceIsNotTheTasks() async throws {
            let scene = try await scene()
            let resource = Resource.version(1, size: 300_000)
            scene.origin.serve("/file", .good(resource, cutAfter: 1000), .good(resource))
            let id = try await scene.request("/file", Scene.quickRetry)
            let asked = try await scene.question(id)
            #expect(await eventually { scene.origin.requests("/file").first?.status == 200 })
            try await scene.answer(asked, "allow")
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").count == 2)
            #expect(try await scene.toldQuestions(id).count == 1)
        }

        /// While a client decides, no timeout for missing bytes applies.
        @Test(.timeLimit(.minutes(1))) func aDecisionIsNoStall() async throws {
            let scene = try await scene()
            scene.origin.serve("/silent", .stalling(.version(2, size: 3000), after: 1))
            let short: [String: JSONValue] = ["timeoutIntervalForRequest": 1]
            let id = try await scene.add("/file", to: "file", short, session: "s")
            let asked = try await scene.question(id)
            // By the time that this one is given up, the other has waited longer.
            let other = try await scene.add("/silent", to: "other", short)
            try await scene.probe.wait(for: other, "waiting")
            try await scene.answer(asked, "allow")
            try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// An answer that the task would not accept anyway is not asked about.
        @Test(.timeLimit(.minutes(1)), arguments: ["data", "download"])
        func aRefusalIsNotAskedAbout(kind: String) async throws {
            let scene = try await scene()
            scene.origin.serve("/file", .status(404))
            let id = try await add(kind, scene)
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "http.status")
            #expect(try await scene.toldQuestions(id).isEmpty)
        }
    }

    /// A client that is asked while it is not connected is started.
    struct DecisionLaunches {
        @Test(.timeLimit(.minutes(1)), arguments: ["redirect", "response", "begin"])
        func anAbsentProgramIsStarted(kind: String) async throws {
            let scene = try await Scene()
            let script = "echo $DLD_SUBSCRIBER >> \(scene.file("mark"))"
            try await scene.openAsking(
                [kind],
                [
                    "sendsLaunchEvents": true, "subscriber": "app", "launchInterval": 3600,
                    "launch": ["argv": ["/bin/sh", "-c", .string(script)]],
                ])
            scene.origin.serve("/file", kind == "redirect" ? .redirect(to: "/x") : .good(.version(1, size: 5000)))
            let begin: JSONValue = .string(Timestamp.now().advanced(by: 0.2).description)
            let id = try await scene.add(
                "/file", to: "file", kind == "begin" ? ["earliestBeginAt": begin] : [:], session: "s")
            #expect(try await scene.question(id)["kind"] == .string(kind))
            #expect(await eventually { (try? Files.text(scene.file("mark"))) == "app\n" })
        }
    }

    /// Questions of volatile sessions.
    struct DecisionVolatile {
        private static let marker = "Qx9volatileQuestion9xQ"

        @Test(.timeLimit(.minutes(1)), arguments: ["default", "ephemeral"])
        func theyGoToTheirConnectionAlone(kind: String) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .redirect(to: "/\(Self.marker)"))
            scene.origin.serve("/\(Self.marker)", .status(200, [], body: "answer"))
            try await scene.probe.call(
                "session.open",
                ["id": "s", "kind": .string(kind), "configuration": ["asks": ["redirect", "response", "challenge"]]])
            let other = try await scene.daemon.probe()
            let id = try await scene.request("/file")
            let asked = try await scene.question(id)
            #expect((asked["decision"]?.integerValue ?? 0) >= 1_000_000_000_000_000, "\(asked)")
            #expect(try await other.call("decision.list")["decisions"]?.arrayValue?.isEmpty == true)
            do {
                try await scene.answer(asked, "follow", on: other)
                Issue.record("another connection has answered")
            } catch let failure as RPCFailure {
                #expect(failure.code == "decision.gone")
            }
            try await scene.answer(asked, "follow")
            let second = try await scene.question(id, after: asked)
            #expect(second["kind"] == "response", "\(second)")
            try await scene.answer(second, "allow")
            try await scene.probe.wait(for: id, "completed")
            #expect(
                try await scene.probe.call("events.list", ["after": "start"])["events"]?.arrayValue?.isEmpty == true)
        }

        @Test(.timeLimit(.minutes(1))) func theyEndWithTheirConnection() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .redirect(to: "/there"))
            let client = try await scene.daemon.probe()
            try await client.call(
                "session.open", ["id": "s", "kind": "ephemeral", "configuration": ["asks": ["redirect"]]])
            let id = try await client.add(scene.origin.url("/file"), to: scene.file(), session: "s")
            let isAsked = try await eventually {
                try await client.call("decision.list", ["tasks": [.integer(id)]])["decisions"]?.arrayValue?.isEmpty
                    == false
            }
            #expect(isAsked)
            client.disconnect()
            let isFree = await eventually {
                (try? await scene.probe.call("session.open", ["id": "s", "kind": "ephemeral"])) != nil
            }
            #expect(isFree)
            #expect(try await scene.probe.call("decision.list")["decisions"]?.arrayValue?.isEmpty == true)
        }

        /// The question and the answer of an ephemeral session are in no file of the daemon.
        @Test(.timeLimit(.minutes(1))) func nothingOfAnEphemeralOneIsOnADisk() async throws {
            let temporary = try TemporaryFolder()
            let scene = try await Scene(["--log-level", "info"], environment: ["TMPDIR": temporary.path])
            scene.origin.serve("/file", .redirect(to: "/\(Self.marker)"))
            scene.origin.serve("/\(Self.marker)2", .status(200, [], body: "answer"))
            try await scene.probe.call(
                "session.open", ["id": "s", "kind": "ephemeral", "configuration": ["asks": ["redirect"]]])
            let id = try await scene.request("/file")
            let asked = try await scene.question(id)
            let url = JSONValue.string(scene.origin.url("/\(Self.marker)2"))
            try await scene.answer(
                asked, "followWith", ["request": ["url": url, "headers": [["X-M", .string(Self.marker)]]]])
            try await scene.probe.wait(for: id, "completed")
            let places = [scene.daemon.folder.path, temporary.path]
            let grep = ["grep", "-rlaF", "--devices=skip", "-s", "-e", Self.marker] + places
            #expect(try await Program.run(grep).output == "")
            try await scene.daemon.kill()
            #expect(try await Program.run(grep).output == "")
        }
    }
}

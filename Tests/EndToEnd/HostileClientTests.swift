import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Serving {
    /// What clients do to a real daemon, perhaps on purpose: it survives, serves the others, and frees what they held.
    struct HostileClient {
        private static let resource = Resource.version(1, size: 200_000)

        /// Half of the body, and the rest after the gate opens.
        private static func halting(_ gate: Guarded<Bool>) -> Behaviour {
            Behaviour { _, reply in
                let bytes = resource.content.bytes
                try reply.head(200, "OK", [("ETag", resource.etag ?? ""), ("Content-Length", "\(bytes.count)")])
                try reply.body(bytes.prefix(100_000))
                while !gate.withLock({ $0 }) { usleep(5000) }
                try reply.body(bytes.dropFirst(100_000))
            }
        }

        private static func descriptors(_ daemon: DaemonProcess) -> Int {
            daemon.pid.map { Files.names(in: "/proc/\($0)/fd").count } ?? 0
        }

        private static func expectFewDescriptors(_ daemon: DaemonProcess, _ before: Int) async {
            // The daemon's own work opens and closes a few.
            #expect(
                await eventually(within: 30) { descriptors(daemon) <= before + 8 },
                "\(descriptors(daemon)) of \(before)")
        }

        // MARK: - Many

        /// The daemon accepts 1024 connections at a time and tells the others. Existing transfers continue.
        @Test(.timeLimit(.minutes(3)))
        func tenThousandConnectionsHinderNobody() async throws {
            let scene = try await Scene()
            let before = Self.descriptors(scene.daemon)
            let memory = try scene.daemon.residentMemory()
            let crowd = ConnectionCrowd()
            let gate = Guarded(false)
            scene.origin.serve("/file", Self.halting(gate))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 100_000)
            for _ in 0..<10 { try await crowd.connect(1000, to: scene.daemon.socket) }
            #expect(try await scene.probe.call("daemon.info")["name"] == "dld")
            gate.withLock { $0 = true }
            try await scene.probe.wait(for: id, "completed")
            // Besides the served connections, some refused ones stay open until their clients have read why.
            #expect(Self.descriptors(scene.daemon) <= before + 1024 + 64 + 16)
            let refusals = await crowd.refusals()
            #expect(refusals.count >= 10_000 - 1024)
            #expect(refusals.allSatisfy { $0.contains("\"limit.reached\"") }, "\(refusals.first ?? "")")
            crowd.close()
            await Self.expectFewDescriptors(scene.daemon, before)
            #expect(try scene.daemon.peakMemory() - memory < 96 << 20)
            #expect(try await scene.daemon.probe().call("daemon.info")["name"] == "dld")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// The library that runs Swift's tasks examines its threads once a second while work waits for them. It ended
        /// the process if it got no descriptor for that.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("gcc"), "a preloaded library is C"))
        func descriptorsThatTheRunTimeLibraryWantsAreThere() async throws {
            let folder = try TemporaryFolder()
            let library = try await Program.preloadable("exhausted", in: folder)
            let daemon = try await DaemonProcess.started(environment: ["LD_PRELOAD": library])
            // Work waits for several of those seconds.
            let began = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    let probe = try await daemon.probe()
                    group.addTask {
                        while ContinuousClock.now - began < .seconds(4) { try await probe.call("rpc.discover") }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await daemon.probe().call("daemon.info")["name"] == "dld")
        }

        /// A daemon that may open only few files: new clients wait, running transfers continue, and new tasks wait and
        /// complete later.
        @Test(.timeLimit(.minutes(3)))
        func descriptorsThatRunOutHarmNothing() async throws {
            let folder = try TemporaryFolder()
            let origin = try MisbehavingOrigin()
            let daemon = try await DaemonProcess.started(wrapper: ["prlimit", "--nofile=192:192"])
            let probe = try await daemon.probe()
            let gate = Guarded(false)
            origin.serve("/file", Self.halting(gate))
            origin.serveEverything(.good(Self.resource))
            let running = try await probe.add(origin.url("/file"), to: folder.file("file"), Scene.quickRetry)
            try await probe.wait(for: running, bytes: 100_000)
            let queued = try await probe.add(
                origin.url("/later"), to: folder.file("later"),
                Scene.quickRetry.merging(["startPaused": true, "timeoutIntervalForRequest": 2]) { $1 })
            try await probe.call("settings.set", ["diskPollInterval": 0.5])
            var readers: [RPCProbe] = []
            for _ in 0..<4 { readers.append(try await daemon.probe()) }

            let crowd = ConnectionCrowd()
            try await crowd.connect(400, to: daemon.socket)
            // The daemon has used all descriptors once a client was refused.
            #expect(
                await eventually(within: 30) {
                    Self.descriptors(daemon) >= 190 && daemon.log.contains("no file descriptor is left")
                })
            try await probe.control("resume", queued)
            try await probe.wait(for: queued, "waiting")
            #expect(try await probe.call("daemon.info")["name"] == "dld")
            #expect(try await probe.state(running) == "running")
            // The store opens more connections if more reads run at a time.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for reader in readers {
                    group.addTask { for _ in 0..<25 { try await reader.call("events.list", ["after": "start"]) } }
                }
                try await group.waitForAll()
            }

            crowd.close()
            gate.withLock { $0 = true }
            for id in [running, queued] { try await probe.wait(for: id, "completed") }
            #expect(await eventually { daemon.log.contains("there are descriptors again") })
            #expect(
                daemon.log.ranges(of: "no file descriptor is left").count
                    == daemon.log.ranges(of: "are descriptors again").count)
            #expect(Self.resource.content.matches(folder.file("file")))
            #expect(Self.resource.content.matches(folder.file("later")))
            #expect(origin.requests("/file").count == 1)
            #expect(try await daemon.probe().call("daemon.info")["name"] == "dld")
        }

        // MARK: - What they leave

        @Test(.timeLimit(.minutes(2)))
        func descriptorsThatAreHandedOverAreClosed() async throws {
            let scene = try await Scene()
            let before = Self.descriptors(scene.daemon)
            let crowd = ConnectionCrowd()
            try await crowd.connect(1, to: scene.daemon.socket)
            let request = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\"}\n".utf8)
            for _ in 0..<100 { try crowd.send(request, handingOver: 16) }
            #expect(try await crowd.lines(100).allSatisfy { $0.contains("\"name\":\"dld\"") })
            #expect(Self.descriptors(scene.daemon) <= before + 8)
            crowd.close()
        }

        @Test(.timeLimit(.minutes(2)))
        func whoGoesInTheMiddleOfAnAnswerLeavesNothing() async throws {
            let scene = try await Scene()
            let specs = (0..<1000).map { number -> JSONValue in
                [
                    "url": .string(scene.origin.url("/\(number)")), "startPaused": true,
                    "description": .string(String(repeating: "d", count: 1000)),
                    "destination": ["path": .string(scene.file("\(number)"))],
                ]
            }
            _ = try await scene.probe.add(specs)
            let before = Self.descriptors(scene.daemon)
            for _ in 0..<15 {
                let probe = try await scene.daemon.probe()
                for method in ["task.list", "events.list"] {
                    try await probe.send(
                        line: [
                            "jsonrpc": "2.0", "id": 1, "method": .string(method),
                            "params": method == "task.list" ? ["limit": 1000] : ["after": 0, "limit": 1000],
                        ])
                }
                for _ in 0..<16 {
                    try await probe.send(
                        line: ["jsonrpc": "2.0", "id": 2, "method": "events.subscribe", "params": ["after": "start"]])
                }
                _ = try await probe.nextLine()
            }
            await Self.expectFewDescriptors(scene.daemon, before)
            #expect(try await eventually(within: 30) { try await scene.probe.call("daemon.stats")["connections"] == 1 })
            #expect(try await scene.probe.call("task.list", ["limit": 1])["tasks"]?.arrayValue?.count == 1)
        }

        /// 2,000 pages of half a megabyte: without limits on answers, they would all be in memory at once.
        @Test(.timeLimit(.minutes(3)))
        func pagesThatNobodyReadsCostLittleAndHinderNobody() async throws {
            let scene = try await Scene()
            let specs = (0..<120).map { number -> JSONValue in
                [
                    "url": .string(scene.origin.url("/\(number)")), "startPaused": true,
                    "description": .string(String(repeating: "d", count: 4000)),
                    "destination": ["path": .string(scene.file("\(number)"))],
                ]
            }
            _ = try await scene.probe.add(specs)
            let before = try scene.daemon.residentMemory()
            var crowd: [RPCProbe] = []
            for _ in 0..<40 {
                let probe = try await scene.daemon.probe()
                for id in 0..<50 {
                    try await probe.send(
                        line: [
                            "jsonrpc": "2.0", "id": .integer(Int64(id)), "method": "task.list",
                            "params": ["limit": 1000],
                        ])
                }
                crowd.append(probe)
            }
            for _ in 0..<20 {
                #expect(try await scene.probe.call("task.list", ["limit": 1])["tasks"]?.arrayValue?.count == 1)
            }
            #expect(try scene.daemon.peakMemory() - before < 160 << 20)
            // A client that reads nevertheless gets all answers.
            var answered: Set<JSONValue> = []
            while answered.count < 50 { answered.insert(try await crowd[0].nextMessage()["id"] ?? .null) }
        }

        /// No client has to be quick: only the connection and the beginning of a line are held.
        @Test(.timeLimit(.minutes(1)))
        func aRequestMayComeByteByByte() async throws {
            let scene = try await Scene()
            let slow = try await scene.daemon.probe()
            for byte in "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"daemon.info\"}\n".utf8 {
                try await slow.send([byte])
                #expect(try await scene.probe.call("daemon.info")["name"] == "dld")
            }
            #expect(try await slow.nextMessage()["id"] == 7)
        }

        // MARK: - Lines

        struct Line: Sendable, CustomTestStringConvertible {
            let text: String
            /// `error.data.code`; nil for a result.
            let code: String?
            var id: JSONValue = 1
            /// The field that the error names.
            var field: String?
            var testDescription: String { String(text.prefix(60)) }
        }

        private static func request(_ method: String, _ parameters: String, id: String = "1") -> String {
            "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":\(parameters)}"
        }

        static let lines: [Line] = [
            Line(text: request("daemon.info", "{}", id: "\"\\u0000\\ud83d\\ude00\""), code: nil, id: "\u{0}\u{1F600}"),
            Line(text: request("daemon.info", "{}", id: "-9223372036854775808"), code: nil, id: .integer(.min)),
            Line(text: request("daemon.info", "{}", id: "null"), code: nil, id: .null),
            Line(text: request("daemon.info", "{}", id: "1.5"), code: "rpc.malformed", id: .null),
            Line(text: request("daemon.info", "{}", id: "[1]"), code: "rpc.malformed", id: .null),
            Line(text: request("daemon.info", "{}", id: "{}"), code: "rpc.malformed", id: .null),
            Line(text: request("daemon.info", "{}", id: "true"), code: "rpc.malformed", id: .null),
            Line(
                text: request("daemon.info", "{}", id: "\"\(String(repeating: "i", count: 5000))\""),
                code: "rpc.malformed", id: .null),
            Line(
                text: "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"daemon.info\"}",
                code: "rpc.malformed", id: .null),
            Line(
                text: request("task.get", "{\"id\":9223372036854775808}"), code: "request.bad_field"),
            Line(text: request("task.get", "{\"id\":1e400}"), code: "request.bad_field"),
            Line(text: request("task.get", "{\"id\":-1}"), code: "task.not_found"),
            Line(
                text: request("task.list", "{\"limit\":-9223372036854775808}"), code: "request.bad_field",
                field: "limit"),
            Line(
                text: request("task.list", "{\"cursor\":\"queue.0.0.1.forged\",\"order\":\"queue\"}"),
                code: "request.bad_field", field: "cursor"),
            Line(
                text: request("task.add", "{\"tasks\":[{\"url\":\"http://h/\",\"rateLimit\":-1}]}"),
                code: "request.bad_field", field: "tasks[0].rateLimit"),
            Line(
                text: request("task.add", "{\"tasks\":[{\"resumeData\":\"e30=\"}]}"), code: "request.bad_field",
                field: "tasks[0].resumeData"),
            Line(
                text: request("task.add", "{\"tasks\":[{\"a\":\(String(repeating: "[", count: 80))"),
                code: "rpc.malformed", id: .null),
            Line(text: request("settings.set", "{\"progressInterval\":1e308}"), code: "request.bad_field"),
            Line(
                text: request("events.list", "{\"after\":99999999999999999999}"), code: "request.bad_field",
                field: "after"),
            Line(text: request("session.open", "{\"id\":\"\\ud800\"}"), code: "request.bad_field"),
            Line(
                text: "[" + [String](repeating: "{}", count: 100_000).joined(separator: ",") + "]",
                code: "request.too_large", id: .null),
        ]

        @Test(.timeLimit(.minutes(1)))
        func everyLineGetsItsAnswer() async throws {
            let scene = try await Scene()
            for line in Self.lines {
                try await scene.probe.send(Array((line.text + "\n").utf8))
                let answer = try await scene.probe.nextMessage()
                #expect(answer["id"] ?? .null == line.id, "\(line.testDescription): \(answer)")
                #expect(answer["error", "data", "code"]?.stringValue == line.code, "\(line.testDescription): \(answer)")
                if let field = line.field {
                    #expect(
                        answer["error", "data", "details", "field"]?.stringValue == field,
                        "\(line.testDescription): \(answer)")
                }
            }
            try await scene.probe.send([0x22, 0xC3, 0x28, 0x22, 10])
            #expect(try await scene.probe.nextMessage()["error", "data", "code"] == "rpc.malformed")
            #expect(try await scene.probe.call("daemon.info")["name"] == "dld")
        }
    }
}

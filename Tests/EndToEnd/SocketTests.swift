import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// Whatever comes through the socket, the daemon survives and serves the others.
    @Suite(.oneDaemon) struct Socket {
        private func stillServes(_ scene: Scene) async throws {
            #expect(scene.daemon.isRunning)
            let probe = try await scene.daemon.probe()
            #expect(try await probe.call("daemon.info")["name"] == "dld")
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ("text", Array("hello\n".utf8)), ("bad UTF-8", [0x22, 0xff, 0xfe, 0x22, 0x0a]),
                ("not an object", Array("42\n".utf8)), ("no method", Array("{\"jsonrpc\":\"2.0\",\"id\":1}\n".utf8)),
                ("empty batch", Array("[]\n".utf8)), ("NULs", [0, 0, 0, 0x0a]),
                ("half an object", Array("{\"jsonrpc\":\n".utf8)),
                ("nested", [UInt8](repeating: 0x5b, count: 100_000) + [0x0a]),
                ("nested objects", Array(String(repeating: "{\"a\":", count: 100_000).utf8) + [0x0a]),
                ("an old version", Array("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"daemon.info\"}\n".utf8)),
            ] as [(String, [UInt8])])
        func junkGetsAnErrorAndTheConnectionGoesOn(name: String, bytes: [UInt8]) async throws {
            let scene = try await Scene.shared()
            let probe = try await scene.daemon.probe()
            try await probe.send(bytes)
            #expect(try await probe.nextMessage()["error", "code"]?.integerValue != nil)
            #expect(try await probe.call("daemon.info")["name"] == "dld")
            try await stillServes(scene)
        }

        @Test(.timeLimit(.minutes(1)))
        func anOverlongLineGetsAnErrorAndTheConnectionIsClosed() async throws {
            let scene = try await Scene()
            let probe = try await scene.daemon.probe()
            try await probe.send([UInt8](repeating: 0x61, count: 100 << 20) + [0x0a])
            var lines = 0
            do {
                while let line = try await probe.nextLine(within: 20) { lines += line.isEmpty ? 0 : 1 }
            } catch let error as SupportError {
                Issue.record("the connection stays open: \(error)")
            }
            #expect(lines <= 1)
            try await stillServes(scene)
        }

        @Test(.timeLimit(.minutes(1)))
        func halfALineThatNeverEndsHindersNobody() async throws {
            let scene = try await Scene.shared()
            let probe = try await scene.daemon.probe()
            try await probe.send(Array("{\"jsonrpc\":\"2.0\",".utf8))
            try await stillServes(scene)
            withExtendedLifetime(probe) {}
        }

        @Test(.timeLimit(.minutes(1)))
        func fiveHundredSilentConnectionsHinderNobody() async throws {
            let scene = try await Scene()
            var silent: [RPCProbe] = []
            for _ in 0..<500 { silent.append(try await scene.daemon.probe()) }
            try await stillServes(scene)
            let resource = Resource.version(1, size: 1000)
            scene.origin.serve("/file", .good(resource))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            withExtendedLifetime(silent) {}
        }

        /// A second daemon for the same socket says who listens there, before it makes anything.
        @Test(.timeLimit(.minutes(1)))
        func aTakenSocketIsToldBeforeAStoreIsMade() async throws {
            let scene = try await Scene()
            let folder = try TemporaryFolder()
            let command = [
                try Binaries.path("dld"), "--state-dir", folder.file("state"), "--socket", scene.daemon.socket,
            ]
            let second = try await Program.run(command, limit: 30)
            #expect(second.status == 1)
            #expect(second.output.contains("listens on \(scene.daemon.socket) already"), "\(second.output)")
            #expect(second.output.contains("--socket") && second.output.contains("--state-dir"))
            #expect(Files.status(folder.file("state")) == nil)
            try await stillServes(scene)
        }

        @Test(.timeLimit(.minutes(1)))
        func batchesAreAnsweredAsOne() async throws {
            let scene = try await Scene.shared()
            try await scene.probe.send(
                line: [
                    ["jsonrpc": "2.0", "id": 1, "method": "daemon.info"],
                    ["jsonrpc": "2.0", "id": 2, "method": "no.such"], ["jsonrpc": "2.0", "method": "daemon.info"],
                ])
            let answers = try #require(try await scene.probe.nextMessage().arrayValue)
            #expect(Set(answers.compactMap { $0["id"]?.integerValue }) == [1, 2])
        }

        @Test(.timeLimit(.minutes(1)))
        func unknownFieldsAndUnbuiltNamesAreRefusedByName() async throws {
            let scene = try await Scene.shared()
            let cases: [(String, JSONValue, String)] = [
                ("no.such", [:], "rpc.unknown_method"),
                ("task.get", ["id": 1, "colour": "red"], "request.unknown_field"),
                ("task.get", ["id": 99_999], "task.not_found"), ("task.get", ["id": "one"], "request.bad_field"),
                ("task.add", ["tasks": [["url": "http://x/", "prio": 1]]], "request.unknown_field"),
                ("task.add", ["tasks": [["url": "ht!tp://x/"]]], "request.bad_url"),
                ("task.add", ["tasks": [["url": "gopher://x/"]]], "request.bad_url"),
                ("task.add", ["tasks": [["url": "http://x/a\r\nHost: y"]]], "request.bad_url"),
                ("hsts.remove", ["domain": "http://a.org/"], "request.bad_field"),
                ("hsts.list", ["domain": "a.org:80"], "request.bad_field"),
                ("trust.remove", ["host": "https://a.org/"], "request.bad_field"),
                ("task.add", ["tasks": [["requestCachePolicy": "x", "url": "http://x/"]]], "request.bad_field"),
                ("session.get", ["id": "nobody"], "session.not_found"),
            ]
            for (method, parameters, code) in cases {
                do {
                    let result = try await scene.probe.call(method, parameters)
                    Issue.record("\(method) \(parameters) answered \(result)")
                } catch let failure as RPCFailure {
                    #expect(failure.code == code, "\(method) \(parameters): \(failure)")
                    #expect(failure.rpcCode == ErrorCode(rawValue: code).map { Int64($0.rpcCode) })
                }
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func theProtocolDescribesItself() async throws {
            let scene = try await Scene.shared()
            let document = try await scene.probe.call("rpc.discover")
            #expect(document["openrpc"]?.stringValue != nil)
            let methods = (document["methods"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
            #expect(Set(methods).isSuperset(of: ["daemon.info", "task.add", "events.subscribe", "settings.set"]))
        }
    }
}

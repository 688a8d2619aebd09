import Glibc
import JSONRPC
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(4)))
struct RPCServerTests {
    @Test func answersARequestWithItsID() async throws {
        try await withServer { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"echo\",\"params\":{\"a\":1}}\n")
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1}}")
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"fail\"}\n")
            #expect(
                await client.line() == """
                    {"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"No \\"way\\"\\u000a.",\
                    "data":{"code":"task.not_found","retryable":true,"details":{}}}}
                    """)
            #expect(handler.peer == PeerIdentity(uid: getuid(), gid: getgid(), pid: getpid()))
            await client.close()
        }
    }

    @Test func answersNoNotification() async throws {
        try await withServer { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{\"a\":1}}\n")
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"echo\"}\n")
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":null}")
            #expect(handler.begun == ["{\"a\":1}", "null"])
        }
    }

    @Test func answersABatchInOneLine() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send(
                """
                [{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]},{"jsonrpc":"2.0","method":"echo"},3,\
                {"jsonrpc":"2.0","id":2,"method":"none"}]

                """)
            let line = try #require(await client.line())
            #expect(line.hasPrefix("[") && line.hasSuffix("]"))
            #expect(line.contains("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1]}"))
            #expect(line.contains("\"id\":null,\"error\":{\"code\":-32600"))
            #expect(line.contains("\"id\":2,\"error\":{\"code\":-32601"))
            try await client.send(
                "[{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}]\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"echo\"}\n")
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}")
        }
    }

    /// A request whose answer has no room in the rest of the batch is not started, and its answer says so.
    @Test func theAnswersOfABatchAreBounded() async throws {
        var limits = RPCLimits()
        limits.outgoing = 1000
        try await withServer(limits: limits) { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            let padding = String(repeating: "x", count: 400)
            let requests = (0..<4).map {
                "{\"jsonrpc\":\"2.0\",\"id\":\($0),\"method\":\"echo\",\"params\":[\"\(padding)\"]}"
            }
            try await client.send("[" + requests.joined(separator: ",") + "]\n")
            let line = try #require(await client.line())
            #expect(line.ranges(of: padding).count == 3 && line.ranges(of: "request.too_large").count == 1)
            #expect((0..<4).allSatisfy { line.contains("\"id\":\($0)") } && handler.begun.count == 3)
            try await expectService(client)
        }
    }

    /// Requests that arrive together must not produce more answers than the client has time to read.
    @Test func answersToManyRequestsAreNotPiledUp() async throws {
        var limits = RPCLimits()
        (limits.outgoing, limits.outgoingHighWater) = (1 << 20, 64 << 10)
        try await withServer(limits: limits) { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            let requests = (0..<60).map { "{\"jsonrpc\":\"2.0\",\"id\":\($0),\"method\":\"long\"}\n" }
            try await client.send(requests.joined())
            for id in 0..<60 { #expect(await client.line()?.contains("\"id\":\(id),") == true) }
        }
    }

    @Test func beginsRequestsOfOneConnectionInOrder() async throws {
        try await withServer { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            var text = ""
            for number in 0..<500 {
                text += "{\"jsonrpc\":\"2.0\",\"id\":\(number),\"method\":\"echo\",\"params\":[\(number)]}\n"
            }
            try await client.send(text)
            for _ in 0..<500 { #expect(await client.line() != nil) }
            #expect(handler.begun == (0..<500).map { "[\($0)]" })
        }
    }

    @Test func requestsWaitInOrderUntilTheHandlerIsReady() async throws {
        try await withServer { socket, handler, _ in
            handler.setReady(false)
            let client = try await LineClient.connect(to: socket)
            for number in 0..<40 {
                try await client.send(
                    "{\"jsonrpc\":\"2.0\",\"id\":\(number),\"method\":\"echo\",\"params\":[\(number)]}\n")
            }
            try await client.shutOutput()
            #expect(await eventually { handler.waiting > 0 })
            #expect(handler.begun.isEmpty)
            #expect(handler.waiting == 1)
            handler.setReady(true)
            for number in 0..<40 {
                #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":\(number),\"result\":[\(number)]}")
            }
            #expect(await client.line() == nil)
            #expect(handler.begun == (0..<40).map { "[\($0)]" })
        }
    }

    @Test func whatWaitsForTheHandlerGoesWithItsClient() async throws {
        try await withServer { socket, handler, _ in
            handler.setReady(false)
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[1]}\n")
            #expect(await eventually { handler.waiting == 1 })
            await client.close()
            #expect(await eventually { handler.closed == 1 })
            handler.setReady(true)
            try await expectService(try await LineClient.connect(to: socket))
            #expect(handler.begun == ["[]"])
        }
    }

    @Test func limitsBatches() async throws {
        var limits = RPCLimits()
        limits.batch = 3
        try await withServer(limits: limits) { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("[1,2,3,4]\n[]\n")
            #expect(try #require(await client.line()).contains("at most 3 requests"))
            #expect(try #require(await client.line()).contains("the batch is empty"))
        }
    }

    @Test func sendsWhatComesAfterTheAnswerAfterIt() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"burst\"}\n")
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}")
            for number in 0..<1000 { #expect(await client.line() == "{\"n\":\(number)}") }
        }
    }

    @Test func adoptsAListeningSocketAndLeavesItsFile() async throws {
        let folder = try TemporaryFolder()
        let first = try await RPCServer.start(on: .path(try SocketPath(folder.file("s"))), handler: EchoHandler())
        await first.stop()
        #expect(access(folder.file("s"), F_OK) != 0)

        let descriptor = try listen(on: folder.file("s"))
        let server = try await RPCServer.start(on: .adopted(descriptor: descriptor), handler: EchoHandler())
        try await expectService(try await LineClient.connect(to: folder.file("s")))
        await server.stop()
        #expect(access(folder.file("s"), F_OK) == 0)
    }

    func expectService(_ client: LineClient) async throws {
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"echo\",\"params\":[]}\n")
        #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":[]}")
    }
}

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

    /// A request that the rest of the answer has no room for is not begun, and says so.
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

    /// Requests that came together must not bring more answers than a client is given the time to read.
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

    /// What long lines become in memory must not add up; short ones of others go on meanwhile.
    @Test func longRequestsOfAUserAreAnsweredOneAtATime() async throws {
        var limits = RPCLimits()
        limits.limitsRoot = true
        limits.longLine = 1000
        try await withServer(limits: limits) { socket, handler, _ in
            let padding = String(repeating: "x", count: 1000)
            func long(_ method: String, _ id: Int) -> String {
                "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":[\"\(padding)\"]}\n"
            }
            let first = try await LineClient.connect(to: socket)
            let second = try await LineClient.connect(to: socket)
            let gone = try await LineClient.connect(to: socket)
            try await first.send(long("hold", 1) + long("echo", 2))
            #expect(await eventually { handler.held == 1 })
            try await gone.send(long("echo", 3))
            try await second.send(long("echo", 4) + "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"echo\"}\n")
            try await expectService(try await LineClient.connect(to: socket))
            await gone.close()
            #expect(await eventually { handler.closed >= 1 })
            #expect(handler.begun.count == 2, "the one that is held, and the short one of another connection")
            handler.release()
            #expect(await first.line()?.contains("\"id\":1,\"result\":true") == true)
            #expect(await second.line()?.contains("\"id\":4") == true)
            #expect(await second.line()?.contains("\"id\":5") == true)
            #expect(await first.line()?.contains("\"id\":2") == true)
            try await expectService(first)
        }
    }

    /// Room for lines is given back when they are answered: a client may send long ones all day.
    @Test func roomForLongLinesIsGivenBack() async throws {
        var limits = RPCLimits()
        limits.limitsRoot = true
        limits.longLine = 1000
        (limits.unfinishedLines, limits.unfinishedLinesPerUser) = (200_000, 200_000)
        try await withServer(limits: limits) { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            let padding = String(repeating: "x", count: 150_000)
            for id in 0..<20 {
                try await client.send(
                    "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"echo\",\"params\":[\"\(padding)\"]}\n")
                #expect(await client.line()?.hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\"") == true)
            }
        }
    }

    @Test(arguments: [
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"", "nonsense", "{\"a\":}", "[1,2", "\"\\q\"", "[01]",
        "{\"a\":1,}",
    ])
    func refusesBadJSONAndGoesOn(_ text: String) async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send(text + "\n")
            let line = try #require(await client.line())
            #expect(line.hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700"))
            #expect(line.contains("\"code\":\"rpc.malformed\""))
            try await expectService(client)
        }
    }

    @Test func refusesBadUTF8AndGoesOn() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send([UInt8(ascii: "\""), 0xFF, 0xC0, UInt8(ascii: "\""), UInt8(ascii: "\n")])
            #expect(try #require(await client.line()).contains("\"code\":-32700"))
            try await expectService(client)
        }
    }

    @Test func survives100000Brackets() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            for bracket in ["[", "{\"a\":"] {
                try await client.send(String(repeating: bracket, count: 100_000) + "\n")
                #expect(try #require(await client.line()).contains("nested deeper"))
            }
            let inside = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":\(inside)}\n")
            #expect(try #require(await client.line()).contains("nested deeper"))
            try await expectService(client)
        }
    }

    @Test func closesAfterAnOverlongLine() async throws {
        try await withServer { socket, _, _ in
            let other = try await LineClient.connect(to: socket)
            let client = try await LineClient.connect(to: socket)
            client.post([UInt8](repeating: UInt8(ascii: "a"), count: 10 << 20))
            let line = try #require(await client.line())
            #expect(line.contains("\"code\":\"request.too_large\""))
            #expect(await client.line() == nil)
            try await expectService(other)
        }
    }

    @Test func takesALineOfTheLimit() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            let frame = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"\"]}"
            let text = String(repeating: "a", count: (8 << 20) - frame.utf8.count)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"\(text)\"]}\n")
            #expect(try #require(await client.line()).utf8.count > text.utf8.count)
        }
    }

    @Test func putsHalfLinesTogether() async throws {
        try await withServer { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            let text = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"ü\"]}\r\n\n  \n".utf8)
            for byte in text { try await client.send([byte]) }
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"ü\"]}")
        }
    }

    @Test func answersAClientThatOnlyShutItsOutput() async throws {
        try await withServer { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}\nhalf a line")
            try await client.shutOutput()
            #expect(await eventually { handler.held == 1 })
            handler.release()
            #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}")
            #expect(await client.line() == nil)
        }
    }

    @Test func serves500SilentConnectionsAndOthers() async throws {
        try await withServer { socket, _, server in
            var silent: [LineClient] = []
            for _ in 0..<500 { silent.append(try await LineClient.connect(to: socket)) }
            for client in silent.prefix(50) { try await client.send("{\"jsonrpc\":") }
            let client = try await LineClient.connect(to: socket)
            try await expectService(client)
            #expect(server.connectionCount == 501)
            for client in silent { await client.close() }
            #expect(await eventually { server.connectionCount == 1 })
        }
    }

    @Test func refusesConnectionsOverTheLimit() async throws {
        var limits = RPCLimits()
        limits.connections = 3
        try await withServer(limits: limits) { socket, _, server in
            var clients: [LineClient] = []
            for _ in 0..<3 { clients.append(try await LineClient.connect(to: socket)) }
            #expect(await eventually { server.connectionCount == 3 })
            let refused = try await LineClient.connect(to: socket)
            #expect(try #require(await refused.line()).contains("\"code\":\"limit.reached\""))
            #expect(await refused.line() == nil)
            try await expectService(clients[0])
            await clients[1].close()
            #expect(await eventually { server.connectionCount == 2 })
            try await expectService(try await LineClient.connect(to: socket))
        }
    }

    @Test func limitsConnectionsOfOneUser() async throws {
        var limits = RPCLimits()
        limits.connectionsPerUser = 1
        limits.limitsRoot = true
        try await withServer(limits: limits) { socket, _, server in
            let first = try await LineClient.connect(to: socket)
            #expect(await eventually { server.connectionCount == 1 })
            let second = try await LineClient.connect(to: socket)
            #expect(try #require(await second.line()).contains("One user has at most 1"))
            try await expectService(first)
        }
    }

    @Test func readsNoMoreThanItAnswers() async throws {
        var limits = RPCLimits()
        limits.inFlight = 4
        try await withServer(limits: limits) { socket, handler, _ in
            let client = try await LineClient.connect(to: socket)
            var text = ""
            for number in 0..<100 { text += "{\"jsonrpc\":\"2.0\",\"id\":\(number),\"method\":\"hold\"}\n" }
            try await client.send(text)
            #expect(await eventually { handler.held == 4 })
            handler.release()
            for _ in 0..<100 { #expect(await client.line() != nil) }
            #expect(handler.mostHeld == 4)
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

    @Test func limitsTheMemoryOfUnfinishedLines() async throws {
        var limits = RPCLimits()
        limits.unfinishedLines = 2 << 20
        try await withServer(limits: limits) { socket, _, _ in
            let small = try await LineClient.connect(to: socket)
            try await small.send([UInt8](repeating: UInt8(ascii: " "), count: 1 << 20))
            let large = try await LineClient.connect(to: socket)
            large.post([UInt8](repeating: UInt8(ascii: " "), count: 3 << 20))
            #expect(try #require(await large.line()).contains("\"code\":\"limit.reached\""))
            #expect(await large.line() == nil)
            try await small.send("\n")
            try await expectService(small)
        }
    }

    @Test func dropsAClientThatDoesNotRead() async throws {
        var limits = RPCLimits()
        limits.outgoing = 1 << 20
        try await withServer(limits: limits) { socket, handler, server in
            let deaf = try await LineClient.connect(to: socket, reads: false)
            let other = try await LineClient.connect(to: socket)
            try await deaf.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"flood\"}\n")
            #expect(await eventually { handler.closed == 1 })
            #expect(server.connectionCount == 1)
            try await expectService(other)
            await deaf.close()
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

    @Test func stopsReadingFromAClientThatDoesNotReadItsAnswers() async throws {
        try await withServer { socket, handler, _ in
            let deaf = try await LineClient.connect(to: socket, reads: false)
            let filler = String(repeating: "a", count: 10_000)
            let request = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"\(filler)\"]}\n".utf8)
            for _ in 0..<5000 { deaf.post(request) }
            #expect(await eventually { handler.begun.count > 20 })
            try await expectService(try await LineClient.connect(to: socket))
            #expect(handler.begun.count < 1000)
            await deaf.close()
        }
    }

    @Test func survivesRandomBytes() async throws {
        try await withServer { socket, _, _ in
            var generator = SeededGenerator(state: 42)
            let alphabet = Array("{}[]\",:0123456789truefalsn\\u \n\"jsonrpc\"method\"id".utf8) + [0, 0x80, 0xFF]
            for _ in 0..<200 {
                let client = try await LineClient.connect(to: socket)
                let count = Int.random(in: 1...400, using: &generator)
                let junk = (0..<count).compactMap { _ in alphabet.randomElement(using: &generator) }
                try await client.send(junk)
                await client.close()
            }
            try await expectService(try await LineClient.connect(to: socket))
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

    private func expectService(_ client: LineClient) async throws {
        try await client.send("{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"echo\",\"params\":[]}\n")
        #expect(await client.line() == "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":[]}")
    }
}

/// SplitMix64: the same junk in every run.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A listening socket as a service manager would hand it over.
func listen(on path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    try #require(bound == 0 && listen(descriptor, 16) == 0)
    return descriptor
}

import JSONRPC
import Testing

/// Many clients, and clients that do not read.
extension RPCServerTests {
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

    /// They are more than may wait as bytes.
    @Test func linesThatAreMadeLaterWaitForAClientThatReads() async throws {
        var limits = RPCLimits()
        limits.outgoing = 64 << 10
        limits.outgoingHighWater = 16 << 10
        try await withServer(limits: limits) { socket, _, _ in
            let client = try await LineClient.connect(to: socket)
            try await client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"later\"}\n")
            var (next, answers) = (0, 0)
            while next < 100_000 || answers == 0, let line = await client.line() {
                if line == "{\"n\":\(next)}" { next += 1 } else { answers += 1 }
            }
            #expect(next == 100_000 && answers == 1)
            try await expectService(client)
        }
    }

    @Test func dropsAClientThatLeavesTooManyLinesToBeMade() async throws {
        var limits = RPCLimits()
        limits.outgoingPerUser = 4 << 20
        try await withServer(limits: limits) { socket, handler, server in
            let deaf = try await LineClient.connect(to: socket, reads: false)
            try await deaf.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"later\"}\n")
            #expect(await eventually { handler.closed == 1 })
            #expect(server.connectionCount == 0)
            await deaf.close()
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

    /// Each of many connections may leave little unread, if all of them together leave much.
    @Test(arguments: [true, false])
    func unreadAnswersOfOneUserAreBounded(_ inBatches: Bool) async throws {
        var limits = RPCLimits()
        limits.outgoingPerUser = 2 << 20
        limits.limitsRoot = true
        try await withServer(limits: limits) { socket, handler, _ in
            let requests = (0..<60).map { "{\"jsonrpc\":\"2.0\",\"id\":\($0),\"method\":\"long\"}" }
            let text =
                inBatches ? "[" + requests.joined(separator: ",") + "]\n" : requests.joined(separator: "\n") + "\n"
            var deaf: [LineClient] = []
            for _ in 0..<15 {
                let client = try await LineClient.connect(to: socket, reads: false)
                try await client.send(text)
                deaf.append(client)
            }
            let reader = try await LineClient.connect(to: socket)
            try await expectService(reader)
            // Each has at least one answer.
            #expect(await eventually { handler.begun.count >= 15 })
            #expect(handler.begun.count < 200)
            for _ in 0..<60 {
                let client = try await LineClient.connect(to: socket, reads: false)
                try await client.send(text)
                deaf.append(client)
            }
            if !inBatches {
                // Each leaves an answer unread that the kernel does not take.
                var isRefused = false
                for _ in 0..<2000 where !isRefused {
                    try await reader.send(requests[0] + "\n")
                    isRefused = await reader.line()?.contains("\"limit.reached\"") == true
                }
                #expect(isRefused)
            }
            for client in deaf { await client.close() }
            // What was owed to them is forgotten: a batch is answered as before.
            #expect(await eventually { handler.closed == 75 })
            try await reader.send("[" + requests.prefix(9).joined(separator: ",") + "]\n")
            let line = try #require(await reader.line())
            #expect(line.count > 900_000)
        }
    }
}

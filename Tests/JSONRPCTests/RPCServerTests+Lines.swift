import JSONRPC
import Testing

/// What a line may contain, and how many bytes of lines may wait.
extension RPCServerTests {
    /// The memory for long lines must not add up. Short requests of other users continue in the meantime.
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

    /// A line releases its memory when it is answered, so a client may send long lines all day.
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
}

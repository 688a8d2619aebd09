import Foundation
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Servers that answer before they have the body, and what happens to the answer and to the connection.
@Suite struct EarlyAnswerTests {
    private static let length = Int(PayloadFeed.copiedEnd) + 30_000_000
    private static let content = longPattern(length)
    private static let payload = Payload.source(offset: 0, length: ByteCount(Int64(length)))

    @Test func anErrorInTheMiddleStopsTheBody() async throws {
        let bench = try Bench()
        let rest = Notes<Int>()
        let server = try UploadServer(receiveBuffer: 32 << 10) { connection in
            guard let head = connection.readHead() else { return }
            connection.goOn(head)
            _ = connection.read(10_000)
            connection.answer(413, [], "too much")
            rest.add(connection.readToEnd().count)
        }
        let source = try bench.source(Self.content)
        let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 413)
        #expect(outcome.body == Array("too much".utf8))
        #expect(!outcome.continueRefused)
        #expect(!outcome.isSentWhole)
        #expect(outcome.sent < ByteCount(Int64(Self.length)))
        try await eventually("the connection ends") { rest.all.count == 1 }
        #expect(rest.all[0] < Self.length - 1_000_000)
        await bench.engine.shutdown()
    }

    /// The connection is reset while the body is on its way, because the server closes it with unread bytes. The answer
    /// that the server sent before still counts.
    @Test(arguments: [0, 1, 70_000, 1_000_000])
    func anAnswerBeforeAResetCounts(taken: Int) async throws {
        let bench = try Bench()
        let server = try UploadServer(receiveBuffer: 64 << 10) { connection in
            guard let head = connection.readHead() else { return }
            connection.goOn(head)
            _ = connection.read(taken)
            connection.answer(403, ["Connection: close"], "not for you")
        }
        let source = try bench.source(Self.content)
        for _ in 0..<20 {
            let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
            #expect(outcome.head?.status == 403, "\(outcome.end)")
            #expect(!outcome.isSentWhole)
        }
        await bench.engine.shutdown()
    }

    /// The server would read the rest of the body as the next request.
    @Test func theConnectionIsNotUsedAgain() async throws {
        let bench = try Bench()
        let numbers = Notes<Int>()
        let server = try UploadServer(receiveBuffer: 32 << 10) { connection in
            while let head = connection.readHead() {
                numbers.add(connection.number)
                if head.method == "GET" {
                    connection.answer(200)
                    continue
                }
                connection.goOn(head)
                _ = connection.read(10_000)
                connection.answer(409)
            }
        }
        let source = try bench.source(Self.content)
        #expect(await bench.request("PUT", server.url("/x"), Self.payload, sending: source).head?.status == 409)
        #expect(await bench.request("GET", server.url("/x")).head?.status == 200)
        let used = numbers.all
        #expect(used.first != used.last)
        await bench.engine.shutdown()
    }

    /// If the server read the entire body first, the connection may serve the next request too.
    @Test func theConnectionOfAWholeExchangeIsKept() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                _ = connection.readBody(of: head)
                connection.answer(409)
            }
        }
        let source = try bench.source(Self.content)
        for _ in 0..<3 {
            #expect(await bench.request("PUT", server.url("/x"), Self.payload, sending: source).head?.status == 409)
        }
        #expect(server.connectionCount == 1)
        await bench.engine.shutdown()
    }

    @Test func aSuccessBeforeTheEndIsNotSentWhole() async throws {
        let bench = try Bench()
        let server = try UploadServer(receiveBuffer: 32 << 10) { connection in
            guard let head = connection.readHead() else { return }
            connection.goOn(head)
            _ = connection.read(10_000)
            connection.answer(200, ["Connection: close"], "thanks")
        }
        let source = try bench.source(Self.content)
        let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
        #expect(outcome.head?.status == 200)
        #expect(!outcome.isSentWhole)
        await bench.engine.shutdown()
    }

    /// A refusal of credentials counts even if the connection broke before the body of the answer came.
    @Test func aRefusalWhoseBodyIsLostCounts() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            let known = head.header("Authorization") != nil
            connection.send(
                "HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=\"r\"\r\nConnection: close\r\n"
                    + "Content-Length: \(known ? 100 : 0)\r\n\r\n")
        }
        let outcome = await bench.request("PUT", server.url("/x"), .bytes([1])) {
            $0.network.username = "name"
            $0.network.password = "wrong"
        }
        #expect(outcome.head?.status == 401)
        await bench.engine.shutdown()
    }

    /// If a redirect arrives while the body is on its way, the engine does not wait for the rest. It sends the body to
    /// the new URL from the start.
    @Test func aRedirectInTheMiddleBeginsAnew() async throws {
        let bench = try Bench()
        let content = pattern(6_000_000)
        let arrived = Notes<[UInt8]>()
        let server = try UploadServer(receiveBuffer: 32 << 10) { connection in
            while let head = connection.readHead() {
                connection.goOn(head)
                if head.target == "/next" {
                    arrived.add(connection.read(head.length))
                    connection.answer(201)
                    continue
                }
                _ = connection.read(100_000)
                connection.answer(307, ["Location: /next", "Connection: close"])
                return
            }
        }
        let outcome = await bench.request(
            "POST", server.url("/x"), .source(offset: 0, length: 6_000_000), sending: try bench.source(content))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 201)
        #expect(outcome.sent == 6_000_000)
        #expect(arrived.all == [content])
        await bench.engine.shutdown()
    }

    /// 303 means that the POST is done. A GET follows, and its failure does not undo the POST.
    @Test func aPostThatBecameAGetIsDone() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                guard head.method == "POST" else { return }
                _ = connection.readBody(of: head)
                connection.answer(303, ["Location: /result"])
            }
        }
        let outcome = await bench.request("POST", server.url("/x"), .bytes([1, 2, 3]))
        guard case .transport = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.becameGET)
        await bench.engine.shutdown()
    }

    @Test func whatNeverReachedAServerWasNotSent() async throws {
        let bench = try Bench()
        let outcome = await bench.request("POST", "http://127.0.0.1:1/x", .bytes([1]))
        guard case .transport(7, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(!outcome.wasSent)
        let server = try UploadServer { connection in _ = connection.readHead() }
        #expect(await bench.request("POST", server.url("/x"), .bytes([1])).wasSent)
        await bench.engine.shutdown()
    }
}

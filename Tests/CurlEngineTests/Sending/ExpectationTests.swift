import Foundation
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Expect: 100-continue (RFC 9110 section 10.1.1): requests with large bodies send it by themselves, and a refusal
/// comes before any byte of the body is sent.
@Suite struct ExpectationTests {
    private static let content = pattern(3_000_000)
    private static let payload = Payload.source(offset: 0, length: 3_000_000)

    @Test(arguments: [413, 401, 403, 500, 307])
    func aRefusalCostsNoBody(status: Int) async throws {
        let bench = try Bench()
        let after = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            guard let head = connection.readHead(), head.header("Expect") == "100-continue" else { return }
            connection.answer(status, ["WWW-Authenticate: Bearer"], "no")
            after.add(connection.readToEnd())
        }
        let outcome = await bench.request(
            "PUT", server.url("/x"), Self.payload, sending: try bench.source(Self.content))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == status)
        #expect(outcome.body == Array("no".utf8))
        #expect(outcome.continueRefused)
        #expect(outcome.sent == .zero)
        #expect(!outcome.isSentWhole)
        try await eventually("the connection ends") { after.all.count == 1 }
        #expect(after.all == [[]])
        await bench.engine.shutdown()
    }

    @Test func theBodyFollowsThe100() async throws {
        let bench = try Bench()
        let early = Notes<Bool>()
        let arrived = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                early.add(connection.hasBytes(within: 100))
                arrived.add(connection.readBody(of: head))
                connection.answer(204)
            }
        }
        let source = try bench.source(Self.content)
        // A server that answers the expectation gets it with each request.
        for _ in 0..<2 {
            let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == 204)
            #expect(!outcome.continueRefused)
            #expect(outcome.isSentWhole)
            #expect(outcome.interim.isEmpty)
        }
        #expect(early.all == [false, false])
        #expect(arrived.all == [Self.content, Self.content])
        await bench.engine.shutdown()
    }

    @Test func silenceIsNoRefusalAndIsNotWaitedForTwice() async throws {
        let bench = try Bench()
        let asked = Notes<Bool>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                asked.add(head.header("Expect") != nil)
                connection.answer(connection.read(head.length) == Self.content ? 204 : 400)
            }
        }
        let source = try bench.source(Self.content)
        for _ in 0..<2 {
            let outcome = await bench.request("PUT", server.url("/x"), Self.payload, sending: source)
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == 204)
            #expect(!outcome.continueRefused)
        }
        #expect(asked.all == [true, false])
        await bench.engine.shutdown()
    }

    @Test(arguments: ["PUT", "POST"])
    func a417IsTriedWithout(method: String) async throws {
        let bench = try Bench()
        let heads = Notes<String?>()
        let refused = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                heads.add(head.header("Expect"))
                if head.header("Expect") != nil {
                    connection.answer(417, [], "what?")
                    refused.add(connection.readToEnd())
                    return
                }
                connection.answer(connection.read(head.length) == Self.content ? 200 : 400)
            }
        }
        let source = try bench.source(Self.content)
        for _ in 0..<2 {
            let outcome = await bench.request(method, server.url("/x"), Self.payload, sending: source)
            #expect(outcome.end == .finished)
            #expect(outcome.head?.status == 200)
            #expect(outcome.body.isEmpty)
            #expect(!outcome.continueRefused)
        }
        #expect(heads.all == ["100-continue", nil, nil])
        try await eventually("the refused connection ends") { refused.all.count == 1 }
        #expect(refused.all == [[]])
        await bench.engine.shutdown()
    }

    /// If the request had no Expect field, a 417 is an answer like any other.
    @Test func a417ToNoQuestionIsFinal() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                _ = connection.read(head.length)
                connection.answer(417)
            }
        }
        let outcome = await bench.request("PUT", server.url("/x"), .bytes([1, 2]))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 417)
        await bench.engine.shutdown()
    }

    /// A challenge comes in place of the 100. The number of bytes at the server shows that the body is sent once, and
    /// only after the server has accepted the credential.
    @Test(arguments: ["Digest realm=\"r\", nonce=\"n\", qop=\"auth\"", "Basic realm=\"r\""], [3_000_000, 64 << 10])
    func aChallengeCostsNoBody(challenge: String, size: Int) async throws {
        let bench = try Bench()
        let content = pattern(size)
        let before = Notes<Int>()
        let arrived = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                guard head.header("Authorization") == nil else {
                    arrived.add(connection.readBody(of: head))
                    connection.answer(200)
                    continue
                }
                connection.answer(401, ["WWW-Authenticate: \(challenge)"], "who?")
                before.add(connection.readToEnd().count)
                return
            }
        }
        let outcome = await bench.request(
            "PUT", server.url("/x"), .source(offset: 0, length: ByteCount(Int64(size))),
            sending: try bench.source(content)
        ) {
            $0.network.username = "name"
            $0.network.password = "word"
        }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 200)
        #expect(outcome.sent == ByteCount(Int64(size)))
        #expect(!outcome.continueRefused)
        #expect(arrived.all == [content])
        try await eventually("the first connection ends") { before.all.count == 1 }
        #expect(before.all == [0])
        await bench.engine.shutdown()
    }

    /// An answer that came before the 100 tells nothing about a body that was sent afterwards: the server may have
    /// acted on the POST.
    @Test(arguments: [401, 307])
    func aRefusalOfAnEarlierRequestIsNotRemembered(status: Int) async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                if head.target == "/next" || head.header("Authorization") != nil {
                    _ = connection.readBody(of: head)
                    return
                }
                connection.answer(status, ["WWW-Authenticate: Basic realm=\"r\"", "Location: /next"])
                if status == 401 { return }
            }
        }
        let outcome = await bench.request(
            "POST", server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) {
            $0.network.username = status == 401 ? "name" : nil
        }
        guard case .transport = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(!outcome.continueRefused)
        #expect(outcome.wasSent)
        #expect(outcome.sent == 3_000_000)
        await bench.engine.shutdown()
    }
}

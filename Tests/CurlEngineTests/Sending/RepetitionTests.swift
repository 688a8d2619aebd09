import Foundation
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// When a body is sent again, and when it must not be sent again.
@Suite struct RepetitionTests {
    /// Short enough to be sent without Expect.
    private static let content = pattern(900_000)
    private static let payload = Payload.source(offset: 0, length: 900_000)
    typealias Arrived = UploadTests.Arrived

    @Test(arguments: [301, 302, 303, 307, 308], ["POST", "PUT"])
    func followsARedirect(status: Int, method: String) async throws {
        let bench = try Bench()
        let arrived = Notes<Arrived>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                arrived.add(Arrived(head: head, body: connection.readBody(of: head)))
                head.target == "/x" ? connection.answer(status, ["Location: /y"]) : connection.answer(200)
            }
        }
        let outcome = await bench.request(
            method, server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) { $0.headers = [HeaderField("Content-Type", "a/b")] }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.redirects == 1)
        let keeps = status >= 307 || status != 303 && method == "PUT"
        let second = try #require(arrived.all.last)
        #expect(arrived.all.count == 2)
        #expect(second.head.method == (keeps ? method : "GET"))
        #expect(second.body == (keeps ? Self.content : []))
        #expect(second.head.header("Content-Type") == (keeps ? "a/b" : nil))
        #expect(outcome.sent == (keeps ? 900_000 : 0))
        await bench.engine.shutdown()
    }

    @Test func aBodyThatMayGoOnceIsNotRedirected() async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                _ = connection.readBody(of: head)
                connection.answer(308, ["Location: /y", "Range: bytes=0-9"])
            }
        }
        let source = try bench.source(Self.content)
        let refused = await bench.request("PUT", server.url("/x"), Self.payload, sending: source) {
            $0.isReplayable = false
        }
        guard case .refusedRedirect(let error) = refused.end else { throw TestFailure("\(refused.end)") }
        #expect(error.code == .httpProtocol)
        let final = await bench.request("PUT", server.url("/x"), Self.payload, sending: source) {
            $0.finalStatuses = [308]
        }
        #expect(final.end == .finished)
        #expect(final.head?.status == 308)
        #expect(final.head?.values("range") == ["bytes=0-9"])
        await bench.engine.shutdown()
    }

    @Test(arguments: [false, true])
    func answersADigestChallenge(expects: Bool) async throws {
        let bench = try Bench()
        let arrived = Notes<Arrived>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                let known = head.header("Authorization")?.hasPrefix("Digest ") ?? false
                let body = known || head.header("Expect") == nil ? connection.readBody(of: head) : []
                arrived.add(Arrived(head: head, body: body))
                known
                    ? connection.answer(200)
                    : connection.answer(
                        401, ["WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""], "who?")
            }
        }
        let outcome = await bench.request(
            "PUT", server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) {
            $0.network.username = "name"
            $0.network.password = "word"
            $0.expectsContinue = expects
        }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 200)
        #expect(outcome.body.isEmpty)
        #expect(outcome.sent == 900_000)
        #expect(arrived.all.last?.body == Self.content)
        if expects { #expect(arrived.all.first?.body == []) }
        await bench.engine.shutdown()
    }

    /// A reused connection dies during the next request. The engine repeats the request by itself only if the method is
    /// idempotent.
    @Test(arguments: ["PUT", "POST", "PATCH"])
    func aDeadConnection(method: String) async throws {
        let bench = try Bench()
        let arrived = Notes<[UInt8]>()
        let died = Guarded(false)
        let server = try UploadServer { connection in
            var served = 0
            while let head = connection.readHead() {
                let body = connection.readBody(of: head)
                if head.target == "/second", !died.withLock({ $0 }) {
                    // A new connection of libcurl proves nothing here.
                    guard served > 0 else {
                        connection.answer(409)
                        continue
                    }
                    died.withLock { $0 = true }
                    arrived.add(body)
                    return
                }
                if head.target == "/second" { arrived.add(body) }
                connection.answer(200)
                served += 1
            }
        }
        let source = try bench.source(Self.content)
        var outcome: ExchangeOutcome
        var attempts = 0
        repeat {
            #expect(await bench.request("GET", server.url("/first")).end == .finished)
            outcome = await bench.request(method, server.url("/second"), Self.payload, sending: source)
            attempts += 1
        } while outcome.head?.status == 409 && attempts < 50
        if method == "PUT" {
            #expect(outcome.end == .finished)
            #expect(arrived.all == [Self.content, Self.content])
        } else {
            guard case .transport(let code, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
            #expect([52, 55, 56].contains(code))
            #expect(arrived.all == [Self.content])
        }
        await bench.engine.shutdown()
    }

    @Test func anEmptyPostIsNotRepeatedEither() async throws {
        let bench = try Bench()
        let methods = Notes<String>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                methods.add(head.method)
                if head.method == "POST" { return }
                connection.answer(200)
            }
        }
        #expect(await bench.request("GET", server.url("/x")).end == .finished)
        guard case .transport(52, _) = await bench.request("POST", server.url("/x")).end else {
            throw TestFailure("no failure")
        }
        #expect(methods.all == ["GET", "POST"])
        await bench.engine.shutdown()
    }
}

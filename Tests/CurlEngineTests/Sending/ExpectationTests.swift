import Foundation
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Expect: 100-continue (RFC 9110 section 10.1.1).
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
            "PUT", server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) { $0.expectsContinue = true }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == status)
        #expect(outcome.body == Array("no".utf8))
        #expect(outcome.continueRefused)
        #expect(outcome.sent == .zero)
        try await eventually("the connection ends") { after.all.count == 1 }
        #expect(after.all == [[]])
        await bench.engine.shutdown()
    }

    @Test func theBodyFollowsThe100() async throws {
        let bench = try Bench()
        let early = Notes<Bool>()
        let arrived = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            early.add(connection.hasBytes(within: 100))
            connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            arrived.add(connection.read(head.length))
            connection.answer(204)
        }
        let outcome = await bench.request(
            "PUT", server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) { $0.expectsContinue = true }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 204)
        #expect(!outcome.continueRefused)
        #expect(outcome.interim.isEmpty)
        #expect(early.all == [false])
        #expect(arrived.all == [Self.content])
        await bench.engine.shutdown()
    }

    @Test func silenceIsNoRefusal() async throws {
        let bench = try Bench()
        let arrived = Notes<[UInt8]>()
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            arrived.add(connection.read(head.length))
            connection.answer(204)
        }
        let outcome = await bench.request(
            "PUT", server.url("/x"), Self.payload, sending: try bench.source(Self.content)
        ) { $0.expectsContinue = true }
        #expect(outcome.end == .finished)
        #expect(!outcome.continueRefused)
        #expect(arrived.all == [Self.content])
        await bench.engine.shutdown()
    }

    /// The strategy repeats without; one request was made and cost no body.
    @Test func a417ComesBack() async throws {
        let bench = try Bench()
        let heads = Notes<String?>()
        let server = try UploadServer { connection in
            while let head = connection.readHead() {
                heads.add(head.header("Expect"))
                if head.header("Expect") != nil {
                    connection.answer(417)
                } else {
                    connection.answer(connection.read(head.length) == Self.content ? 200 : 400)
                }
            }
        }
        let source = try bench.source(Self.content)
        let refused = await bench.request("POST", server.url("/x"), Self.payload, sending: source) {
            $0.expectsContinue = true
        }
        #expect(refused.end == .finished)
        #expect(refused.head?.status == 417)
        #expect(refused.continueRefused)
        #expect(refused.sent == .zero)
        #expect(heads.all == ["100-continue"])
        #expect(await bench.request("POST", server.url("/x"), Self.payload, sending: source).head?.status == 200)
        #expect(heads.all == ["100-continue", nil])
        await bench.engine.shutdown()
    }

    @Test func anErrorInTheMiddleStopsTheBody() async throws {
        let bench = try Bench()
        let rest = Notes<Int>()
        let server = try UploadServer(receiveBuffer: 32 << 10) { connection in
            guard connection.readHead() != nil else { return }
            _ = connection.read(10_000)
            connection.answer(413, [], "too much")
            rest.add(connection.readToEnd().count)
        }
        let large = pattern(40_000_000)
        let outcome = await bench.request(
            "PUT", server.url("/x"), .source(offset: 0, length: 40_000_000), sending: try bench.source(large))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 413)
        #expect(outcome.body == Array("too much".utf8))
        #expect(!outcome.continueRefused)
        #expect(outcome.sent < 40_000_000)
        try await eventually("the connection ends") { rest.all.count == 1 }
        #expect(rest.all[0] < 39_000_000)
        await bench.engine.shutdown()
    }
}

import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Downloads whose request has a body. The body is streamed from its file as in an upload, and the answer goes to the
/// part file.
@Suite struct DownloadBodyTests {
    private static let question = pattern(3_000_000, seed: 2)
    private static let reply = pattern(400_000, seed: 3)
    private static let payload = Payload.source(offset: 0, length: 3_000_000)

    private func server(_ arrived: Notes<[UInt8]>, _ target: String = "/x") throws -> UploadServer {
        try UploadServer { connection in
            while let head = connection.readHead() {
                guard head.target == target else {
                    connection.answer(307, ["Location: \(target)", "Connection: close"])
                    return
                }
                arrived.add(connection.readBody(of: head))
                connection.answer(
                    200, ["Seen: \(head.method) \(head.header("Content-Length") ?? "")"], body: Self.reply)
            }
        }
    }

    private func ask(
        _ bench: Bench, _ url: String, _ payload: Payload, _ source: UploadSource?, method: String? = nil
    ) async throws -> ExchangeOutcome {
        let part = try PartFile.create(path: bench.folder.file("part"), replacing: true)
        var exchange = Exchange(url: url, judge: Judge.taking())
        exchange.method = method
        exchange.payload = payload
        exchange.network.proxy = ""
        return await bench.engine.perform(exchange, into: part, sending: source, context: bench.context)
    }

    @Test(arguments: ["/x", "/moved"])
    func theBodyIsStreamedAndTheAnswerSaved(target: String) async throws {
        let bench = try Bench()
        let arrived = Notes<[UInt8]>()
        let server = try server(arrived, target)
        let outcome = try await ask(bench, server.url("/x"), Self.payload, try bench.source(Self.question))
        #expect(outcome.end == .finished)
        #expect(outcome.head?.values("seen") == ["POST 3000000"])
        #expect(outcome.head?.redirects == (target == "/x" ? 0 : 1))
        #expect(outcome.sent == 3_000_000)
        #expect(arrived.all == [Self.question])
        #expect(try bench.folder.read("part") == Self.reply)
        #expect(bench.counters.bytesReceived == 400_000)
        #expect(bench.counters.bytesSent == 3_000_000)
        await bench.engine.shutdown()
    }

    @Test(arguments: [Payload.bytes([7, 8]), .bytes([]), .none], [nil, "POST", "PUT", "GET"])
    func shortBodiesAndNone(payload: Payload, method: String?) async throws {
        let bench = try Bench()
        let arrived = Notes<[UInt8]>()
        let server = try server(arrived)
        let outcome = try await ask(bench, server.url("/x"), payload, nil, method: method)
        #expect(outcome.end == .finished)
        let length = payload.length ?? (["POST", "PUT"].contains(method) ? 0 : nil)
        let expected = "\(method ?? (payload == .none ? "GET" : "POST")) \(length.map { "\($0)" } ?? "")"
        #expect(outcome.head?.values("seen") == [expected.trimming()])
        #expect(arrived.all == [payload == .bytes([7, 8]) ? [7, 8] : []])
        #expect(try bench.folder.read("part") == Self.reply)
        await bench.engine.shutdown()
    }

    @Test func anotherVersionIsNeverSent() async throws {
        let bench = try Bench()
        let server = try server(Notes())
        let source = try bench.source(Self.question)
        try bench.folder.write("source", pattern(3_000_000, seed: 9))
        let outcome = try await ask(bench, server.url("/x"), Self.payload, source)
        guard case .stopped(.failure(let error, nil)) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(error.code == .sourceChanged)
        #expect(try bench.folder.read("part").isEmpty)
        await bench.engine.shutdown()
    }
}

extension String {
    fileprivate func trimming() -> String { self[...].trimmingSpaces() }
}

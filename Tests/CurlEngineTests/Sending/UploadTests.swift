import Foundation
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// What arrives at a server, and what the outcome tells of it afterwards.
@Suite struct UploadTests {
    struct Arrived: Sendable {
        var head: UploadServer.Head
        var body: [UInt8]
    }

    /// Reads each request completely and answers 201 with a short body.
    private func taking(_ arrived: Notes<Arrived>) throws -> UploadServer {
        try UploadServer { connection in
            while let head = connection.readHead() {
                arrived.add(Arrived(head: head, body: connection.readBody(of: head)))
                connection.answer(201, ["Location: /new"], "made")
            }
        }
    }

    private static let content = pattern(5_000_000)

    static let payloads: [(payload: Payload, whole: [UInt8])] = [
        (.bytes(Array("hello".utf8)), Array("hello".utf8)),
        (.source(offset: 0, length: 5_000_000), content),
        (.source(offset: 1_000_001, length: 2_000_000), Array(content[1_000_001..<3_000_001])),
        (.source(offset: 5_000_000, length: 0), []),
        (
            .framed(head: Array("a\r\n".utf8), offset: 0, length: 5_000_000, tail: Array("\r\nb".utf8)),
            Array("a\r\n".utf8) + content + Array("\r\nb".utf8)
        ),
    ]

    @Test(arguments: ["PUT", "POST", "PATCH"], payloads.indices)
    func sendsAPayload(method: String, index: Int) async throws {
        let bench = try Bench()
        let arrived = Notes<Arrived>()
        let server = try taking(arrived)
        let (payload, whole) = Self.payloads[index]
        let outcome = await bench.request(method, server.url("/x"), payload, sending: try bench.source(Self.content)) {
            $0.headers = [HeaderField("Content-Type", "a/b"), HeaderField("Content-Length", "3")]
        }
        #expect(outcome.end == .finished)
        #expect(outcome.head?.status == 201)
        #expect(outcome.head?.values("location") == ["/new"])
        #expect(outcome.body == Array("made".utf8))
        #expect(!outcome.isBodyTruncated)
        #expect(outcome.sent == ByteCount(Int64(whole.count)))
        let request = try #require(arrived.all.first)
        #expect(arrived.all.count == 1)
        #expect(request.head.method == method)
        #expect(request.head.headers.filter { $0.name == "Content-Length" }.map(\.value) == ["\(whole.count)"])
        #expect(request.head.header("Content-Type") == "a/b")
        #expect((request.head.header("Expect") != nil) == (whole.count >= 1 << 20))
        #expect(request.head.header("Transfer-Encoding") == nil)
        #expect(request.body == whole)
        await bench.engine.shutdown()
    }

    @Test func saysTheLengthOfNothing() async throws {
        let bench = try Bench()
        let arrived = Notes<Arrived>()
        let server = try taking(arrived)
        for method in ["POST", "PUT", "PATCH", "GET", "DELETE", "OPTIONS"] {
            #expect(await bench.request(method, server.url("/x")).end == .finished)
        }
        #expect(arrived.all.map(\.head.method) == ["POST", "PUT", "PATCH", "GET", "DELETE", "OPTIONS"])
        #expect(arrived.all.map { $0.head.header("Content-Length") } == ["0", "0", "0", nil, nil, nil])
        await bench.engine.shutdown()
    }

    @Test func countsWhereTheFileStands() async throws {
        let bench = try Bench()
        let server = try taking(Notes())
        let source = try bench.source(Self.content)
        let tail = Payload.source(offset: 4_000_000, length: 1_000_000)
        #expect(await bench.request("PATCH", server.url("/x"), tail, sending: source).end == .finished)
        #expect(bench.counters.bytesSent == 5_000_000)
        #expect(bench.counters.bytesToSend == 5_000_000)
        // A request that completes the upload says nothing about the file, although the file is given too.
        let note = Payload.bytes([1, 2])
        #expect(await bench.request("POST", server.url("/x"), note, sending: source).end == .finished)
        #expect(bench.counters.bytesSent == 5_000_000)
        #expect(await bench.request("POST", server.url("/x"), note).end == .finished)
        #expect(bench.counters.bytesSent == 2)
        #expect(bench.counters.bytesToSend == 2)
        await bench.engine.shutdown()
    }

    @Test(arguments: [false, true])
    func keepsAnAnswerUpToItsLimit(stops: Bool) async throws {
        let bench = try Bench()
        let server = try UploadServer { connection in
            while connection.readHead() != nil {
                connection.answer(200, [], String(repeating: "x", count: 200_000))
            }
        }
        for (limit, truncated) in [(100, true), (200_000, false), (0, true)] {
            let outcome = await bench.request("GET", server.url("/x")) {
                $0.responseLimit = ByteCount(Int64(limit))
                $0.stopsAtResponseLimit = stops
            }
            #expect(outcome.end == .finished)
            #expect(outcome.body.count == limit)
            #expect(bench.counters.bytesExpected == 200_000)
            #expect(bench.counters.bytesReceived == outcome.received)
            #expect(outcome.isBodyTruncated == truncated)
        }
        await bench.engine.shutdown()
    }

    @Test func hearsInterimAnswersWhileItSends() async throws {
        let reader: @Sendable (ResponseHead) -> UploadProgress? = { head in
            guard head.status == 104, let location = head.values("location").first else { return nil }
            let source = SourceIdentity(device: 1, inode: 2, size: 3, modified: 4)
            return UploadProgress(
                uploadProtocol: .resumable, resourceURL: location, source: source, createdAt: Timestamp(milliseconds: 0)
            )
        }
        let bench = try Bench()
        let goesOn = Guarded(false)
        let server = try UploadServer { connection in
            guard let head = connection.readHead() else { return }
            connection.send("HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /up/1\r\n\r\n")
            connection.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            while !goesOn.withLock({ $0 }) { usleep(1000) }
            _ = connection.readBody(of: head)
            connection.answer(200)
        }
        let source = try bench.source(Self.content)
        let running = Task {
            await bench.request("POST", server.url("/x"), .source(offset: 0, length: 5_000_000), sending: source) {
                $0.interimReader = reader
            }
        }
        try await eventually("the interim answer is told") {
            bench.observer.heard.progress.map(\.resourceURL) == ["/up/1"]
        }
        goesOn.withLock { $0 = true }
        let outcome = await running.value
        #expect(outcome.end == .finished)
        #expect(outcome.interim.map(\.status) == [104, 103])
        let answers = bench.engine.answers.current
        #expect(answers[0] >= 2 && answers[1...] == [1, 0, 0, 0])
        #expect(outcome.interim.first?.values("location") == ["/up/1"])
        #expect(outcome.head?.status == 200)
        await bench.engine.shutdown()
    }

    /// Each upload needs two buffers, and there are only two for all of them.
    @Test func manyUploadsShareFewBuffers() async throws {
        let folder = try TemporaryFolder()
        let engine = try CurlEngine(
            .init(journalPath: folder.file("journal"), userAgent: "dld-test", bufferBound: .kibibytes(128)))
        let bench = Bench(try Bench(), engine: engine)
        let arrived = Notes<Arrived>()
        let server = try taking(arrived)
        let source = try bench.source(Self.content)
        let outcomes = await withTaskGroup(of: ExchangeOutcome.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    await bench.request("PUT", server.url("/x"), .source(offset: 0, length: 5_000_000), sending: source)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.map(\.end) == Array(repeating: .finished, count: 12))
        #expect(arrived.all.allSatisfy { $0.body == Self.content })
        await engine.shutdown()
    }
}

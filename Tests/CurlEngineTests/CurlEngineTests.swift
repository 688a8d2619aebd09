import Glibc
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct CurlEngineTests {
    private static let megabyte = pattern(3 << 20)

    private func server(_ body: [UInt8] = megabyte) throws -> ScriptedServer {
        try ScriptedServer { request, connection in
            let start = request.rangeStart ?? 0
            let rest = Array(body[start...])
            let status = start > 0 ? "206 Partial Content" : "200 OK"
            let range = start > 0 ? "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)\r\n" : ""
            connection.send("HTTP/1.1 \(status)\r\n\(range)ETag: \"a\"\r\nContent-Length: \(rest.count)\r\n\r\n")
            connection.send(rest)
            return .keepAlive
        }
    }

    @Test func writesABodyToThePartFile() async throws {
        let bench = try Bench()
        let origin = try server()
        let outcome = try await bench.download(origin.url("/file?x=1#fragment"))
        #expect(outcome.end == .finished)
        #expect(outcome.offset == ByteCount(3 << 20))
        #expect(outcome.received == ByteCount(3 << 20))
        #expect(outcome.delimited)
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.url == origin.url("/file?x=1"))
        #expect(try bench.folder.read("part") == Self.megabyte)
        #expect(bench.counters.bytesReceived == ByteCount(3 << 20))
        #expect(bench.counters.bytesExpected == 3 << 20)
        await bench.engine.shutdown()
    }
}

import Foundation
import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// FTP servers that do not do what they say.
@Suite struct FTPTests {
    private static let file = pattern(100_000)

    /// Judges the answer as the strategy does after its probe.
    private func taking(from offset: ByteCount = 0, of size: ByteCount) -> Judge {
        Judge { _ in
            .accept(Acceptance(offset: offset, truncate: offset == 0, expected: size - offset, total: size))
        }
    }

    /// Resumes a file of 100,000 bytes at 40,000.
    private func rest(_ server: ScriptedFTPServer, _ bench: Bench) async throws -> ExchangeOutcome {
        let part = try bench.part()
        try #require(FileHandle(forWritingAtPath: part.path)).write(contentsOf: Data(Self.file[..<40_000]))
        return await bench.perform(server.url("file"), into: part, judge: taking(from: 40_000, of: 100_000)) {
            $0.startOffset = 40_000
        }
    }

    @Test func goesOnWhereRESTSays() async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 100_000) { .init(bytes: Array(Self.file[$0...])) }
        let outcome = try await rest(server, bench)
        #expect(outcome.end == .finished)
        #expect(outcome.offset == 100_000)
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    /// Without this check libcurl would take the first 60,000 bytes of the file for its last ones.
    @Test func noticesAServerThatIgnoresREST() async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 100_000) { _ in .init(bytes: Self.file) }
        let outcome = try await rest(server, bench)
        #expect(outcome.end == .overrun)
        await bench.engine.shutdown()
    }

    /// libcurl then speaks HTTP and the proxy speaks FTP: the answer has a length, and the connection stays open.
    @Test func goesOnThroughAnHTTPProxy() async throws {
        let bench = try Bench()
        let proxy = try ScriptedServer { request, connection in
            let start = request.rangeStart ?? 0
            connection.send(
                "HTTP/1.1 \(start > 0 ? "206" : "200") OK\r\nContent-Length: \(100_000 - start)\r\n"
                    + "Content-Range: bytes \(start)-99999/100000\r\n\r\n")
            connection.send(Array(Self.file[start...]))
            return .keepAlive
        }
        let part = try bench.part()
        try #require(FileHandle(forWritingAtPath: part.path)).write(contentsOf: Data(Self.file[..<40_000]))
        let judge = taking(from: 40_000, of: 100_000)
        let outcome = await bench.perform("ftp://ftp.invalid/file", into: part, judge: judge) {
            $0.startOffset = 40_000
            $0.network.proxy = "http://127.0.0.1:\(proxy.port)"
        }
        #expect(outcome.end == .finished)
        #expect(try bench.folder.read("part") == Self.file)
        await bench.engine.shutdown()
    }

    @Test func saysThatRESTIsRefused() async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 100_000, answers: ["REST": "502 unknown"]) { _ in
            .init(bytes: Self.file)
        }
        let end = try await rest(server, bench).end
        guard case .transport(21, _) = end else { throw TestFailure("\(end)") }
        #expect(!server.commands.contains { $0.hasPrefix("RETR") })
        await bench.engine.shutdown()
    }

    /// libcurl's error names neither a full server nor a missing folder; its text is the same for all of them.
    @Test(arguments: [
        (
            "USER", "530-Welcome\r\n There are\r\n530 too many connections",
            "530 Welcome  There are too many connections", true
        ),
        ("PASS", "530 Login incorrect.", "530 Login incorrect.", false),
        (ScriptedFTPServer.greeting, "421 There are too many users", "421 There are too many users", true),
        ("PASS", "421 Too many connections", "421 Too many connections", true),
        ("CWD", "550 No such folder", "550 No such folder", false),
    ])
    func keepsTheWordsOfARefusal(_ command: String, _ answer: String, _ reply: String, _ isCrowded: Bool) async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 9, answers: [command: answer, "QUIT": "221 bye"]) { _ in
            .init(bytes: Self.file)
        }
        let outcome = try await bench.download(server.url("folder/file"), judge: taking(of: 9))
        #expect(outcome.reply == reply)
        let failure = FailureClassifier.classify(outcome, url: server.url("folder/file"))
        #expect(failure.disposition == (isCrowded ? .transient(after: 5) : .permanent))
        #expect(failure.error.code == (answer.contains("incorrect") ? .authRequired : .httpStatus))
        #expect(failure.error.message.hasSuffix("It said: \(reply)"))
        await bench.engine.shutdown()
    }

    /// SIZE gave a smaller number: the file was replaced since then, or the number was wrong from the start.
    @Test func noticesAFileThatIsLongerThanItsSize() async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 90_000) { _ in .init(bytes: Self.file) }
        let outcome = try await bench.download(server.url("file"), judge: taking(of: 90_000))
        #expect(outcome.end == .overrun)
        await bench.engine.shutdown()
    }

    /// libcurl waits for the 226 inside its call for up to a minute, and all transfers wait with it.
    @Test(.timeLimit(.minutes(1)))
    func aServerThatNeverSaysThatItIsDoneHoldsUpNobodyForLong() async throws {
        let bench = try Bench()
        let server = try ScriptedFTPServer(size: 100_000) { _ in .init(bytes: Self.file, ending: nil) }
        let outcome = try await bench.download(server.url("file"), judge: taking(of: 100_000))
        guard case .transport(42, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(outcome.offset == 100_000)
        // The answer that may still come must not reach another transfer.
        let next = try await bench.download(server.url("file"), judge: taking(of: 100_000))
        guard case .transport(42, _) = next.end else { throw TestFailure("\(next.end)") }
        #expect(server.commands.filter { $0.hasPrefix("USER") }.count == 2)
        await bench.engine.shutdown()
    }
}

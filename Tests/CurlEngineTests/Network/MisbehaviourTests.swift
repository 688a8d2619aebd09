import Glibc
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// What the engine reports of servers that do not behave correctly.
@Suite struct MisbehaviourTests {
    private func outcome(
        of answer: String, then next: ScriptedServer.Next = .close, judge: Judge = .taking(),
        change: (inout Exchange) -> Void = { _ in }
    ) async throws -> (outcome: ExchangeOutcome, part: [UInt8], observer: Observer) {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send(answer)
            if next == .keepAlive { connection.awaitClose() }
            return .close
        }
        let outcome = try await bench.download(origin.url("/x"), judge: judge, change: change)
        let part = try bench.folder.read("part")
        await bench.engine.shutdown()
        return (outcome, part, bench.observer)
    }

    @Test func reportsABodyThatEndsEarly() async throws {
        let result = try await outcome(of: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd")
        guard case .transport(18, _) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
        #expect(result.outcome.offset == 4)
        #expect(result.part == Array("abcd".utf8))
    }

    /// A server that sends a header line now and then must not hold the slot for ever, and neither must interim
    /// answers.
    @Test(.timeLimit(.minutes(1)), arguments: ["X-Drip: 1\r\n", "HTTP/1.1 102 Processing\r\n\r\n"])
    func aHeadThatNeverEndsIsGivenUp(drip: String) async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            if drip.hasPrefix("X-") { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n") }
            // Ends when the client closes the connection or when the test has seen enough.
            for _ in 0..<500 {
                guard connection.send(drip) else { break }
                usleep(50_000)
            }
            return .close
        }
        let outcome = try await bench.download(origin.url("/x")) { $0.network.stallTimeout = 0.5 }
        #expect(outcome.end == .stalled)
        await bench.engine.shutdown()
    }

    @Test func interimAnswersLetTheFinalOneTakeLonger() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            for _ in 0..<4 {
                connection.send("HTTP/1.1 102 Processing\r\n\r\n")
                usleep(400_000)
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .close
        }
        let outcome = try await bench.download(origin.url("/x")) { $0.network.stallTimeout = 1 }
        #expect(outcome.end == .finished)
        await bench.engine.shutdown()
    }

    /// libcurl 7.88 leaves a handle whose name did not resolve in a state that no other request can use.
    @Test func aNameThatDoesNotResolveSpoilsNoOtherTransfer() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .close
        }
        let lost = try await bench.download("http://name.invalid/x")
        guard case .transport(6, _) = lost.end else { throw TestFailure("\(lost.end)") }
        #expect(try await bench.download(origin.url("/x")).end == .finished)
        await bench.engine.shutdown()
    }

    @Test func reportsChunksWithoutTheLast() async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n"
        let result = try await outcome(of: answer)
        guard case .transport(let code, _) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
        #expect([18, 56].contains(code))
        #expect(result.outcome.offset == 4)
    }

    @Test func reportsABodyShorterThanTheJudgeExpects() async throws {
        let judge = Judge { _ in .accept(Acceptance(offset: 0, expected: 10, total: 10)) }
        let result = try await outcome(of: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", judge: judge)
        guard case .transport(18, _) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
        #expect(result.outcome.offset == 4)
    }

    @Test func writesNothingPastTheExpectedEnd() async throws {
        let judge = Judge { _ in .accept(Acceptance(offset: 0, expected: 3, total: 3)) }
        let result = try await outcome(of: "HTTP/1.1 200 OK\r\n\r\nabcdef", then: .keepAlive, judge: judge)
        #expect(result.outcome.end == .overrun)
        #expect(result.part == Array("abc".utf8))
    }

    @Test func marksABodyThatOnlyTheCloseEnded() async throws {
        let result = try await outcome(of: "HTTP/1.0 200 OK\r\n\r\nabc")
        #expect(result.outcome.end == .finished)
        #expect(!result.outcome.delimited)
        #expect(result.outcome.offset == 3)
    }

    @Test func givesTrailers() async throws {
        let answer =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Repr-Digest\r\n\r\n"
            + "3\r\nabc\r\n0\r\nRepr-Digest: sha-256=:x=:\r\n\r\n"
        let result = try await outcome(of: answer)
        #expect(result.outcome.end == .finished)
        #expect(result.outcome.delimited)
        #expect(result.outcome.trailers == [HeaderField("Repr-Digest", "sha-256=:x=:")])
    }

    @Test func showsTheJudgeBothLengths() async throws {
        let seen = Guarded<[String]>([])
        let judge = Judge { head in
            seen.withLock { $0 = head.values("Content-Length") }
            return .stop(.failure(TransferError(.httpProtocol, "two lengths"), retryAfter: nil))
        }
        let result = try await outcome(
            of: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", judge: judge)
        #expect(seen.withLock { $0 } == ["3", "4"])
        guard case .stopped(.failure) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
    }

    @Test func stopsWithoutReadingTheBody() async throws {
        let judge = Judge { _ in .stop(.bareRange) }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + String(repeating: "x", count: 1000)
        let result = try await outcome(of: answer, then: .keepAlive, judge: judge)
        #expect(result.outcome.end == .stopped(.bareRange))
        #expect(result.outcome.head?.status == 200)
        #expect(result.outcome.received == .zero)
        #expect(result.part.isEmpty)
    }

    @Test func skipsInterimResponses() async throws {
        let answer =
            "HTTP/1.1 103 Early Hints\r\nETag: \"wrong\"\r\n\r\nHTTP/1.1 200 OK\r\nETag: \"right\"\r\n"
            + "Content-Length: 2\r\n\r\nok"
        let result = try await outcome(of: answer)
        #expect(result.observer.heard.heads.count == 1)
        #expect(result.outcome.head?.values("etag") == ["\"right\""])
        #expect(result.part == Array("ok".utf8))
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 200 OK\r\nCont", ""])
    func endsWhenTheOriginFallsSilent(answer: String) async throws {
        let result = try await outcome(of: answer, then: .keepAlive) { $0.network.stallTimeout = 3 }
        #expect(result.outcome.end == .stalled)
        #expect(result.part.count == (answer.hasSuffix("abc") ? 3 : 0))
    }

    @Test func reportsJunkAndNothing() async throws {
        let junk = try await outcome(of: "this is not HTTP\r\n\r\n")
        guard case .transport = junk.outcome.end else { throw TestFailure("\(junk.outcome.end)") }
        #expect(junk.part.isEmpty)
        let nothing = try await outcome(of: "")
        guard case .transport(52, _) = nothing.outcome.end else { throw TestFailure("\(nothing.outcome.end)") }
    }

    /// The body was longer than its Content-Length. The remaining bytes are no answer to the next request.
    @Test func whatIsLeftOnAConnectionIsNotTheNextRequestsFault() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { request, connection in
            if request.number == 1 { connection.send("the rest of the first body") }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return request.number == 1 ? .close : .keepAlive
        }
        #expect(try await bench.download(origin.url("/1")).end == .finished)
        #expect(try await bench.download(origin.url("/2")).end == .finished)
        #expect(try bench.folder.read("part") == Array("ok".utf8))
        #expect(origin.requests.map(\.target) == ["/1", "/2", "/2"])
        #expect(origin.connectionCount == 2)
        #expect(try await bench.download(origin.url("/3")).end == .finished)
        #expect(origin.connectionCount == 2)
        await bench.engine.shutdown()
    }

    /// The server may have acted on the request already.
    @Test func aPOSTIsNotSentTwiceBecauseOfWhatWasLeft() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { request, connection in
            if request.number == 1 { connection.send("the rest of the first body") }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return request.number == 1 ? .close : .keepAlive
        }
        #expect(try await bench.download(origin.url("/1")).end == .finished)
        let second = try await bench.download(origin.url("/2")) { $0.method = "POST" }
        guard case .transport(56, _) = second.end else { throw TestFailure("\(second.end)") }
        #expect(origin.requests.count == 2)
        await bench.engine.shutdown()
    }

    /// Junk on a new connection is the server's answer.
    @Test func junkIsNotAskedForTwice() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("this is not HTTP\r\n\r\n")
            return .close
        }
        guard case .transport = try await bench.download(origin.url("/")).end else { throw TestFailure("junk") }
        #expect(origin.requests.count == 1)
        await bench.engine.shutdown()
    }

    @Test func reportsARefusedConnectionAndABadURL() async throws {
        let bench = try Bench()
        let port = try ScriptedServer { _, _ in .close }.port
        let outcome = try await bench.download("http://127.0.0.1:\(port)/")
        guard case .transport(7, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        guard case .transport(3, _) = try await bench.download("http://").end else { throw TestFailure("bad URL") }
        // There is no helper in this test.
        guard case .stopped(.failure(let error, _)) = try await bench.download("gopher://x/").end,
            error.code == .helperFailed
        else { throw TestFailure("scheme") }
        await bench.engine.shutdown()
    }

    @Test func neverLetsAHeaderSmuggleAnother() async throws {
        let result = try await outcome(of: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
            $0.headers = [HeaderField("X", "a\r\nInjected: b")]
        }
        guard case .transport(43, _) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
    }
}

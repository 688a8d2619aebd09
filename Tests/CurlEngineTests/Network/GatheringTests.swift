import Foundation
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Small bodies that arrive at once need no part file. All others get one.
@Suite struct GatheringTests {
    private struct Result {
        var outcome: ExchangeOutcome
        var part: [UInt8]?
        var observer: Observer
    }

    private func download(
        judge: Judge = .taking(), planned: Bool = true, _ script: @escaping ScriptedServer.Script
    ) async throws -> Result {
        let bench = try Bench()
        let origin = try ScriptedServer(script)
        let part = planned ? try bench.plannedPart() : try bench.part()
        let outcome = await bench.perform(origin.url("/x"), into: part, judge: judge)
        let exists = FileManager.default.fileExists(atPath: bench.folder.file("part"))
        let bytes = exists ? try bench.folder.read("part") : nil
        await bench.engine.shutdown()
        return Result(outcome: outcome, part: bytes, observer: bench.observer)
    }

    @Test(arguments: ["Content-Length: 4\r\n\r\nabcd", "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"])
    func aSmallBodyStaysInMemory(rest: String) async throws {
        let result = try await download { _, connection in
            connection.send("HTTP/1.1 200 OK\r\n\(rest)")
            return .close
        }
        #expect(result.outcome.end == .finished)
        #expect(result.outcome.gathered == Array("abcd".utf8))
        #expect(result.outcome.offset == 4)
        #expect(result.part == nil)
        #expect(result.observer.heard.files.isEmpty)
    }

    @Test func anEmptyBodyIsGatheredToo() async throws {
        let result = try await download { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return .close
        }
        #expect(result.outcome.gathered == [])
        #expect(result.part == nil)
    }

    @Test func aFileThatIsThereTakesTheBytes() async throws {
        let result = try await download(planned: false) { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")
            return .close
        }
        #expect(result.outcome.gathered == nil)
        #expect(result.part == Array("abcd".utf8))
    }

    @Test(arguments: [true, false])
    func aLongBodyGoesToItsFile(lengthKnown: Bool) async throws {
        let bytes = pattern(200_000)
        let result = try await download { _, connection in
            connection.send("HTTP/1.0 200 OK\r\n\(lengthKnown ? "Content-Length: 200000\r\n" : "")\r\n")
            connection.send(bytes)
            return .close
        }
        #expect(result.outcome.end == .finished)
        #expect(result.outcome.gathered == nil)
        #expect(result.part == bytes)
        #expect(result.observer.heard.files.map(\.offset) == [0])
    }

    @Test func aSlowBodyIsMadeSafeOnTheWay() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nabcd")
            connection.awaitClose()
            return .close
        }
        let part = try bench.plannedPart()
        let running = Task { await bench.perform(origin.url("/x"), into: part) }
        try await eventually("four bytes in the file") {
            (try? bench.folder.read("part")) == Array("abcd".utf8)
        }
        #expect(bench.observer.heard.files.map(\.inode) == [part.inode])
        running.cancel()
        let outcome = await running.value
        #expect(outcome.end == .aborted)
        #expect(outcome.offset == 4)
        #expect(outcome.gathered == nil)
        await bench.engine.shutdown()
    }

    @Test func whatCameBeforeAnErrorIsKept() async throws {
        let result = try await download { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd")
            return .close
        }
        guard case .transport(18, _) = result.outcome.end else { throw TestFailure("\(result.outcome.end)") }
        #expect(result.outcome.offset == 4)
        #expect(result.part == Array("abcd".utf8))
        #expect(result.observer.heard.checkpoints.last?.offset == 4)
    }

    @Test func anErrorStatusMakesNoFile() async throws {
        let result = try await download { _, connection in
            connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope")
            return .close
        }
        #expect(result.part == nil)
        #expect(result.outcome.gathered == nil)
    }

    @Test func aFolderThatIsGoneIsTold() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
            connection.send(pattern(200_000))
            return .close
        }
        let part = PartFile(planned: "/nowhere/part", device: 1, directory: -1, keeper: 0)
        let outcome = await bench.perform(origin.url("/x"), into: part)
        guard case .local(let code, _) = outcome.end else { throw TestFailure("\(outcome.end)") }
        #expect(code == EBADF)
        await bench.engine.shutdown()
    }
}

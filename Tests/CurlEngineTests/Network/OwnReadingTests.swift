import Glibc
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Bodies that the engine reads from their sockets itself, without libcurl.
@Suite struct OwnReadingTests {
    private static let piece = pattern(1 << 20)
    /// Long enough for the engine to read it itself.
    private static let count = 18

    private static func file(_ pieces: Int = count) -> [UInt8] {
        (0..<pieces).reduce(into: []) { file, _ in file += piece }
    }

    /// Announces the whole file, but sends only `pieces` of it. Calls `pause` after the second piece and waits for it.
    private func origin(
        sending pieces: Int = count, then next: ScriptedServer.Next = .keepAlive, more: [UInt8] = [],
        pause: @escaping @Sendable () -> Void = {}
    ) throws -> ScriptedServer {
        try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count << 20)\r\n\r\n")
            for index in 0..<pieces {
                if index == 2 { pause() }
                if !connection.send(Self.piece) { return .close }
            }
            connection.send(more)
            return next
        }
    }

    @Test func aLongBodyArrivesWholeAndItsConnectionEnds() async throws {
        let bench = try Bench()
        // A transfer that is paused stays with libcurl: each piece waits until the one before it is written.
        let origin = try ScriptedServer { [counters = bench.counters] _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count << 20)\r\n\r\n")
            for index in 0..<Self.count {
                if index > 1 { while counters.bytesReceived != ByteCount(Int64(index << 20)) { usleep(1000) } }
                if !connection.send(Self.piece) { return .close }
            }
            return .keepAlive
        }
        for turn in 1...2 {
            let outcome = try await bench.download(origin.url("/"))
            #expect(outcome.end == .finished)
            #expect(outcome.received == ByteCount(Int64(Self.count << 20)))
            #expect(identical(try bench.folder.read("part"), Self.file()))
            #expect(origin.connectionCount == turn)
        }
        await bench.engine.shutdown()
    }

    @Test func slowIsWhoWillLastLonger() {
        let second: Int64 = 1_000_000_000
        func isSlow(_ age: Int64, _ received: Int64, _ remaining: Int64) -> Bool {
            Transfer.isSlow(age: age, received: received, remaining: remaining)
        }
        #expect(isSlow(2 * second, 500_000, 600_000))
        // Fast, or done in less than two seconds.
        #expect(!isSlow(2 * second, 525_000, 10_000_000))
        #expect(!isSlow(2 * second, 500_000, 490_000))
        #expect(isSlow(second / 4, 1000, 29_000))
        #expect(!isSlow(second / 4, 4000, 29_000))
        // A newer transfer may still become fast.
        #expect(!isSlow(second / 8, 0, 10_000_000))
    }

    @Test func ofAThousandOnlyShortBodiesKeepLibcurl() {
        #expect(Transfer.ownBody(among: Transfer.largeCrowd - 1) == 16 << 20)
        #expect(Transfer.ownBody(among: Transfer.largeCrowd) == 64 << 10)
    }

    @Test func anEarlyEndIsToldAsLibcurlTellsIt() async throws {
        let bench = try Bench()
        let origin = try origin(sending: 3, then: .close)
        let outcome = try await bench.download(origin.url("/"))
        let missing = (Self.count - 3) << 20
        #expect(
            outcome.end
                == .transport(code: 18, message: "transfer closed with \(missing) bytes remaining to read"))
        #expect(outcome.offset == ByteCount(3 << 20))
        #expect(identical(try bench.folder.read("part"), Self.file(3)))
        await bench.engine.shutdown()
    }

    @Test func bytesBeyondTheLengthAreNotTaken() async throws {
        let bench = try Bench()
        let origin = try origin(more: pattern(100_000, seed: 2))
        #expect(try await bench.download(origin.url("/")).end == .finished)
        #expect(identical(try bench.folder.read("part"), Self.file()))
        await bench.engine.shutdown()
    }

    @Test func silenceIsAStall() async throws {
        let bench = try Bench()
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count << 20)\r\n\r\n")
            connection.send(Self.piece)
            connection.awaitClose()
            return .close
        }
        let outcome = try await bench.download(origin.url("/")) { $0.network.stallTimeout = 1 }
        #expect(outcome.end == .stalled)
        #expect(outcome.offset == ByteCount(1 << 20))
        await bench.engine.shutdown()
    }

    @Test func anAbortKeepsWhatArrived() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let origin = try origin { while !goesOn.withLock({ $0 }) { usleep(1000) } }
        let running = Task { try await bench.download(origin.url("/")) }
        try await eventually("the beginning is written") { bench.counters.bytesReceived == ByteCount(2 << 20) }
        running.cancel()
        let outcome = try await running.value
        #expect(outcome.end == .aborted)
        #expect(outcome.offset == ByteCount(2 << 20))
        goesOn.withLock { $0 = true }
        await bench.engine.shutdown()
    }

    /// Whoever reads the socket at that moment, no byte is lost and none is counted that is not in the file.
    @Test func anAbortAmidAFastBodyCountsEveryByte() async throws {
        let origin = try origin()
        for least in [1, 5, 9] {
            let bench = try Bench()
            let running = Task { try await bench.download(origin.url("/")) }
            try await eventually("some of it is written") {
                bench.counters.bytesReceived >= ByteCount(Int64(least << 20))
            }
            running.cancel()
            let outcome = try await running.value
            let held = Int(outcome.offset.rawValue)
            #expect(outcome.received == outcome.offset)
            #expect(identical(try bench.folder.read("part"), Array(Self.file().prefix(held))))
            await bench.engine.shutdown()
        }
    }

    @Test func aLimitThatComesLaterHoldsIt() async throws {
        let bench = try Bench()
        let goesOn = Guarded(false)
        let origin = try origin { while !goesOn.withLock({ $0 }) { usleep(1000) } }
        let running = Task { try await bench.download(origin.url("/")) }
        try await eventually("the beginning is written") { bench.counters.bytesReceived == ByteCount(2 << 20) }
        bench.engine.setRateLimit(session: bench.session, 1)
        goesOn.withLock { $0 = true }
        try await Task.sleep(for: .milliseconds(400))
        #expect(bench.counters.bytesReceived < ByteCount(3 << 20))
        bench.engine.setRateLimit(session: bench.session, .unlimited)
        #expect(try await running.value.end == .finished)
        #expect(identical(try bench.folder.read("part"), Self.file()))
        await bench.engine.shutdown()
    }

    @Test func aSegmentEndsAtItsBound() async throws {
        let bench = try Bench()
        let origin = try origin()
        let part = try bench.plannedPart()
        let board = bench.engine.board(for: part, nil, context: bench.context)
        let end = Int64(5 << 20) + 12_345
        let segment = Segment(bound: SegmentBound(start: 0, end: end), board: board) { _, _ in }
        var exchange = Exchange(url: origin.url("/"), judge: Judge.taking(truncate: true))
        exchange.network.proxy = ""
        let outcome = await withCheckedContinuation { continuation in
            _ = bench.engine.start(exchange, into: part, sending: nil, as: segment, context: bench.context) {
                continuation.resume(returning: $0)
            }
        }
        #expect(outcome.end == .finished)
        #expect(outcome.offset == ByteCount(end))
        await board.finish(syncing: false)
        #expect(
            identical(Array(try bench.folder.read("part").prefix(Int(end))), Array(Self.file(6).prefix(Int(end)))))
        await bench.engine.shutdown()
    }
}

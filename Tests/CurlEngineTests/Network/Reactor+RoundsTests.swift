import CLinux
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Many slow transfers at the same time, over sockets that wait for more bytes than come.
@Suite struct ReactorRoundsTests {
    private static let many = Crowd.begins + 16

    /// Lets servers continue from one stage to the next.
    private final class Gate: Sendable {
        private let stage = ConditionLock(0)
        func open(_ stage: Int) {
            self.stage.withLock { $0 = max($0, stage) }
            self.stage.broadcast()
        }
        func wait(for stage: Int) { self.stage.wait { $0 >= stage ? () : nil } }
    }

    private func downloads(
        _ bench: Bench, _ origin: ScriptedServer, _ observers: [Observer], from first: Int = 0, planned: Bool = false
    ) async throws -> [ExchangeOutcome] {
        try await withThrowingTaskGroup(of: ExchangeOutcome.self) { group in
            for (number, observer) in zip(first..., observers) {
                let name = "part\(number)"
                let part =
                    try planned
                    ? bench.plannedPart(name) : PartFile.create(path: bench.folder.file(name), replacing: true)
                var exchange = Exchange(url: origin.url("/\(number)"), judge: Judge.taking())
                exchange.network.proxy = ""
                let context = TransferContext(
                    task: TaskID(Int64(number)), session: bench.session, counters: TransferCounters(),
                    observer: observer)
                group.addTask { [exchange] in await bench.engine.perform(exchange, into: part, context: context) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(.timeLimit(.minutes(2))) func fewBytesOfManyAreReadAndMadeDurable() async throws {
        let gate = Gate()
        let body = pattern(30_000)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n")
            // Each time fewer bytes than any socket of a crowd waits for.
            connection.send(Array(body[0..<3000]))
            gate.wait(for: 1)
            connection.send(Array(body[3000..<6000]))
            gate.wait(for: 2)
            connection.send(Array(body[6000...]))
            return .keepAlive
        }
        let bench = try Bench()
        let observers = (0..<Self.many).map { _ in Observer() }
        async let outcomes = downloads(bench, origin, observers)
        for (stage, offset) in [(1, ByteCount(3000)), (2, ByteCount(6000))] {
            try await eventually("a checkpoint at \(offset) of all") {
                observers.allSatisfy { $0.heard.checkpoints.last?.offset == offset }
            }
            gate.open(stage)
        }
        #expect(try await outcomes.allSatisfy { $0.end == .finished && $0.offset == 30_000 })
        for number in observers.indices { #expect(try bench.folder.read("part\(number)") == body) }

        // The connections are used again, for answers shorter than the number of bytes that their sockets waited for.
        let before = origin.connectionCount
        let again = try await downloads(bench, origin, (0..<Self.many).map { _ in Observer() })
        #expect(again.allSatisfy { $0.end == .finished })
        #expect(origin.connectionCount <= before + Self.many)
        await bench.engine.shutdown()
    }

    /// The number of transfers that read their own sockets.
    private func readers(_ bench: Bench) async -> Int { await look(bench) { $0.readers.count } }

    @Test(.timeLimit(.minutes(2))) func slowOnesAreReadWithoutLibcurl() async throws {
        let gate = Gate()
        let body = pattern(200_000)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
            connection.send(Array(body[0..<3000]))
            gate.wait(for: 1)
            connection.send(Array(body[3000...]))
            return .keepAlive
        }
        let bench = try Bench()
        let observers = (0..<Self.many).map { _ in Observer() }
        async let outcomes = downloads(bench, origin, observers)
        while await readers(bench) < Self.many { try await Task.sleep(for: .milliseconds(20)) }
        // The tick does not reach these transfers, and the table knows where each of them is.
        while await look(bench, { $0.transfers.resting.count }) < Self.many {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(await look(bench) { $0.transfers.restless.isEmpty && $0.transfers.count == Self.many })
        #expect(await look(bench) { $0.transfers.resting.enumerated().allSatisfy { $0 == $1.place } })
        gate.open(1)
        #expect(try await outcomes.allSatisfy { $0.end == .finished && $0.offset == 200_000 })
        for number in observers.indices { #expect(try bench.folder.read("part\(number)") == body) }
        #expect(await readers(bench) == 0)
        await bench.engine.shutdown()
    }

    /// Asks the reactor on its own thread, between two turns of its loop.
    private func look<Answer: Sendable>(
        _ bench: Bench, _ say: @escaping @Sendable (Reactor) -> Answer
    ) async -> Answer {
        let reactor = bench.engine.reactor
        return await withCheckedContinuation { continuation in
            reactor.post(.ping { continuation.resume(returning: say(reactor)) })
        }
    }

    /// Sends 3,000 bytes, then 60,000 (more than any socket waits for), then the rest, each when the gate allows it.
    private func stages(_ gate: Gate, _ body: [UInt8]) throws -> ScriptedServer {
        try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.send(Array(body[0..<3000]))
            gate.wait(for: 1)
            connection.send(Array(body[3000..<63_000]))
            gate.wait(for: 2)
            connection.send(Array(body[63_000...]))
            return .keepAlive
        }
    }

    /// Allows or forbids new rounds.
    private func rounds(_ bench: Bench, _ mayBegin: Bool) async {
        await look(bench) { $0.nextRound = mayBegin ? 0 : .max }
        while !mayBegin, await look(bench, { !$0.round.isEmpty }) { try? await Task.sleep(for: .milliseconds(5)) }
    }

    @Test(.timeLimit(.minutes(2))) func noBufferWaitsForARound() async throws {
        let gate = Gate()
        let body = pattern(400_000)
        let origin = try stages(gate, body)
        let bench = try Bench()
        async let outcomes = downloads(bench, origin, (0..<Self.many).map { _ in Observer() })
        while await readers(bench) < Self.many { try await Task.sleep(for: .milliseconds(20)) }
        await rounds(bench, false)
        gate.open(1)
        while await look(bench, { $0.transfers.all.contains { $0.received < 30_000 || $0.buffer?.count ?? 0 >= 4096 } })
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        // A round that finds nothing takes no buffer.
        await rounds(bench, true)
        while await look(
            bench, { $0.nextRound == 0 || !$0.round.isEmpty || $0.transfers.all.contains { $0.buffer != nil } })
        {
            try await Task.sleep(for: .milliseconds(20))
        }
        gate.open(2)
        #expect(try await outcomes.allSatisfy { $0.end == .finished && $0.offset == 400_000 })
        for number in 0..<Self.many { #expect(try bench.folder.read("part\(number)") == body) }
        await bench.engine.shutdown()
    }

    @Test(.timeLimit(.minutes(2))) func anAbortTakesWhatWaitsInTheSocket() async throws {
        let gate = Gate()
        let body = pattern(400_000)
        let origin = try ScriptedServer { _, connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.send(Array(body[0..<3000]))
            gate.wait(for: 1)
            connection.send(Array(body[3000..<6000]))
            connection.awaitClose()
            return .close
        }
        let bench = try Bench()
        let running = Task { try await downloads(bench, origin, (0..<Self.many).map { _ in Observer() }) }
        while await readers(bench) < Self.many { try await Task.sleep(for: .milliseconds(20)) }
        await rounds(bench, false)
        gate.open(1)
        while await look(bench, { $0.transfers.all.contains { dld_readable_bytes($0.socket) < 3000 } }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        running.cancel()
        #expect(try await running.value.allSatisfy { $0.end == .aborted && $0.offset == 6000 })
        await bench.engine.shutdown()
    }

    @Test(.timeLimit(.minutes(2))) func whoJoinsACrowdIsNotWokenForEachPiece() async throws {
        let gate = Gate()
        let body = pattern(400_000)
        let origin = try stages(gate, body)
        let bench = try Bench()
        async let first = downloads(bench, origin, (0..<Self.many).map { _ in Observer() })
        while await readers(bench) < Self.many { try await Task.sleep(for: .milliseconds(20)) }
        await rounds(bench, false)
        async let more = downloads(bench, origin, (0..<16).map { _ in Observer() }, from: Self.many)
        while await look(bench, { $0.transfers.all.count { $0.sink != nil } }) < Self.many + 16 {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(await look(bench) { $0.transfers.all.allSatisfy { $0.lowWater > 1 } })
        await rounds(bench, true)
        gate.open(2)
        let ended = try await first + more
        #expect(ended.allSatisfy { $0.end == .finished })
        await bench.engine.shutdown()
    }

    @Test(.timeLimit(.minutes(2))) func aRoundWaitsForWritersButNotForEver() async throws {
        let gate = Gate()
        let body = pattern(400_000)
        let origin = try stages(gate, body)
        let bench = try Bench()
        // The disk of another transfer accepts nothing.
        let lent = (0..<10).map { _ in bench.engine.reactor.buffers.acquire(.large) }
        async let outcomes = downloads(bench, origin, (0..<Self.many).map { _ in Observer() })
        while await look(bench, { $0.roundPause == 0 }) { try await Task.sleep(for: .milliseconds(20)) }
        gate.open(2)
        #expect(try await outcomes.allSatisfy { $0.end == .finished })
        lent.forEach(bench.engine.reactor.buffers.release)
        await bench.engine.shutdown()
    }
    /// A body that may stay in memory takes no more memory than the bytes that have come.
    @Test(.timeLimit(.minutes(2))) func aCrowdGathersInSmallBuffers() async throws {
        let gate = Gate()
        let body = pattern(60_000)
        let origin = try ScriptedServer { _, connection in
            gate.wait(for: 1)
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            connection.send(Array(body[0..<1000]))
            gate.wait(for: 2)
            connection.send(Array(body[1000...]))
            return .keepAlive
        }
        let bench = try Bench()
        async let outcomes = downloads(bench, origin, (0..<Self.many).map { _ in Observer() }, planned: true)
        while await look(bench, { !$0.crowd.isCrowded }) { try await Task.sleep(for: .milliseconds(20)) }
        await rounds(bench, false)
        gate.open(1)
        while await look(bench, { $0.transfers.all.contains { $0.received < 1000 } }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(await look(bench) { $0.buffers.lentBytes } <= Self.many * BufferPool.scrapSize)
        await rounds(bench, true)
        gate.open(2)
        #expect(try await outcomes.allSatisfy { $0.end == .finished && $0.offset == 60_000 })
        await bench.engine.shutdown()
    }
}

import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Many slow transfers at one time, over sockets that wait for more than comes.
@Suite struct ReactorRoundsTests {
    private static let many = Crowd.begins + 16

    /// Lets servers go on from one stage to the next.
    private final class Gate: Sendable {
        private let stage = ConditionLock(0)
        func open(_ stage: Int) {
            self.stage.withLock { $0 = max($0, stage) }
            self.stage.broadcast()
        }
        func wait(for stage: Int) { self.stage.wait { $0 >= stage ? () : nil } }
    }

    private func downloads(
        _ bench: Bench, _ origin: ScriptedServer, _ observers: [Observer]
    ) async throws -> [ExchangeOutcome] {
        try await withThrowingTaskGroup(of: ExchangeOutcome.self) { group in
            for (number, observer) in observers.enumerated() {
                let part = try PartFile.create(path: bench.folder.file("part\(number)"), replacing: true)
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
            // Less than any socket of a crowd waits for, each time.
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

        // Their connections are used again, for answers shorter than what they waited for.
        let before = origin.connectionCount
        let again = try await downloads(bench, origin, (0..<Self.many).map { _ in Observer() })
        #expect(again.allSatisfy { $0.end == .finished })
        #expect(origin.connectionCount <= before + Self.many)
        await bench.engine.shutdown()
    }

    /// Transfers that read their own sockets.
    private func readers(_ bench: Bench) async -> Int {
        let reactor = bench.engine.reactor
        return await withCheckedContinuation { continuation in
            reactor.post(.ping { continuation.resume(returning: reactor.readers.count) })
        }
    }

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
        gate.open(1)
        #expect(try await outcomes.allSatisfy { $0.end == .finished && $0.offset == 200_000 })
        for number in observers.indices { #expect(try bench.folder.read("part\(number)") == body) }
        #expect(await readers(bench) == 0)
        await bench.engine.shutdown()
    }
}

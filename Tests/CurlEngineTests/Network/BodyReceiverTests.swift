import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

/// Bodies that are passed on as they arrive: every byte once and in order, however much the receiver takes of what
/// libcurl offers.
@Suite struct BodyReceiverTests {
    private static let content = pattern(200_000)

    private func server() throws -> UploadServer {
        try UploadServer { connection in
            while connection.readHead() != nil { connection.answer(200, body: Self.content) }
        }
    }

    @Test func everyByteComesOnceWhateverIsTaken() async throws {
        let bench = try Bench()
        let server = try server()
        let receiver = Receiver(allowed: 1)
        let url = server.url("/x")
        let running = Task { await bench.request("GET", url, to: receiver) }
        var allowed = 1
        for step in [1, 7, 16_383, 16_384, 16_385, 3, 40_000, 1] {
            try await eventually("\(allowed) bytes are taken") { [allowed] in receiver.bytes.count == allowed }
            receiver.allow(step)
            allowed += step
        }
        // While one transfer waits for its receiver, others continue.
        #expect(await bench.request("GET", url, to: Receiver()).end == .finished)
        receiver.allow(1 << 20)
        let outcome = await running.value
        #expect(outcome.end == .finished && outcome.received == 200_000)
        #expect(receiver.bytes == Self.content)
        #expect(outcome.body.isEmpty)
        await bench.engine.shutdown()
    }

    @Test func waitingForTheReceiverIsNoSilenceOfTheServer() async throws {
        let bench = try Bench()
        let server = try server()
        let receiver = Receiver(allowed: 10)
        let url = server.url("/x")
        let running = Task { await bench.request("GET", url, to: receiver) { $0.network.stallTimeout = 1 } }
        try await eventually("it waits") { receiver.bytes.count == 10 }
        // This server is silent for the same time, and then for longer.
        let silent = try UploadServer { connection in
            _ = connection.readHead()
            _ = connection.readHead()
        }
        let other = await bench.request("GET", silent.url("/x")) { $0.network.stallTimeout = 1.5 }
        #expect(other.end == .stalled)
        receiver.allow(1 << 20)
        #expect(await running.value.end == .finished)
        #expect(receiver.bytes == Self.content)
        await bench.engine.shutdown()
    }

    @Test func aRefusedBodyEndsTheExchange() async throws {
        let bench = try Bench()
        let server = try server()
        let error = TransferError(.httpProtocol, "It is a bomb.")
        let outcome = await bench.request("GET", server.url("/x"), to: Receiver(refusing: error))
        #expect(outcome.end == .stopped(.failure(error, retryAfter: nil)))
        await bench.engine.shutdown()
    }

    @Test func anAbortEndsWhatWaits() async throws {
        let bench = try Bench()
        let server = try server()
        let receiver = Receiver(allowed: 10)
        let url = server.url("/x")
        let running = Task { await bench.request("GET", url, to: receiver) }
        try await eventually("it waits") { receiver.bytes.count == 10 }
        running.cancel()
        #expect(await running.value.end == .aborted)
        receiver.allow(100)
        await bench.engine.shutdown()
        #expect(receiver.bytes.count == 10)
    }
}

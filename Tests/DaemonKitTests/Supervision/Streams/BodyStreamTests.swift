import CurlEngine
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct BodyStreamTests {
    private let sink = FakeSink(id: 7)
    private let wakes = Guarded(0)
    private let stream: BodyStream

    init() {
        stream = BodyStream(task: .firstVolatile, session: SessionKey(owner: UserID(1), identifier: "v"), to: sink)
    }

    private func begin(_ fields: [HeaderField] = [], decodes: Bool = false) {
        stream.prepare(decodes: decodes)
        let wakes = wakes
        stream.begin(ResponseHead(url: "http://h/", status: 200, headers: fields)) { wakes.withLock { $0 += 1 } }
        stream.open()
    }

    private func take(_ bytes: [UInt8]) -> BodyReception { bytes.withUnsafeBytes { stream.take($0) } }

    /// How many bytes were accepted.
    private func taken(_ bytes: [UInt8]) -> Int? {
        switch take(bytes) {
        case .taken: bytes.count
        case .held(let count): count
        case .refused: nil
        }
    }

    private func pieces() throws -> [TaskData] {
        try sink.sent.map { line in
            let notification = try JSONTape(line).root
            #expect(notification.member("jsonrpc")?.stringIfAny == "2.0")
            #expect(notification.member("method")?.stringIfAny == "task.data")
            return try #require(try notification.value("params", as: TaskData.self))
        }
    }

    /// Only if there is something to take, and nothing of it is taken for 10 s.
    @Test func aClientThatTakesNothingIsNoticed() {
        func isStuck(_ seconds: Int64) -> Bool { stream.isStuck(at: seconds * 1000) }
        begin()
        #expect(!isStuck(0) && !isStuck(20))
        #expect(taken([1, 2, 3]) == 0)
        #expect(!isStuck(30) && !isStuck(39) && isStuck(40) && isStuck(50))
        _ = stream.give(2)
        #expect(!isStuck(51))
        #expect(taken([1, 2, 3]) == 2)
        // It moved meanwhile.
        #expect(!isStuck(52) && !isStuck(61) && isStuck(62))
        sink.stick()
        stream.give(100)
        #expect(taken([3]) == 1)
        #expect(taken([4]) == 0)
        #expect(!isStuck(70) && isStuck(80))
    }

    @Test func anAnswerThatGaveNoByteBindsNothing() {
        _ = stream.give(2)
        for bytes in [[], [1]] as [[UInt8]] {
            begin()
            _ = taken(bytes)
            var outcome = ExchangeOutcome(end: .transport(code: 56, message: "reset"))
            outcome.verdict = .accept(Acceptance(offset: 0, validators: Validators(etag: "\"\(bytes.count)\"")))
            _ = stream.ended(outcome)
        }
        begin()
        #expect(stream.body.acceptance?.validators.etag == "\"1\"")
    }

    @Test func piecesFollowEachOther() throws {
        #expect(stream.give(1_000_000) == 1_000_000)
        begin()
        #expect(taken([1, 2, 3]) == 3)
        let long = [UInt8](repeating: 9, count: 2 * Bounds.streamPiece + 1)
        #expect(taken(long) == long.count)
        let pieces = try pieces()
        #expect(pieces.map(\.task) == Array(repeating: .firstVolatile, count: 4))
        let piece = Int64(Bounds.streamPiece)
        #expect(pieces.map(\.offset) == [0, 3, 3 + piece, 3 + 2 * piece])
        #expect(pieces.map { Base64Text.decode($0.base64).count } == [3, Int(piece), Int(piece), 1])
        #expect(Base64Text.decode(pieces[0].base64) == [1, 2, 3])
        #expect(stream.offset == ByteCount(3 + Int64(long.count)))
    }

    @Test func nothingIsTakenBeyondTheCredit() {
        begin()
        #expect(taken([1, 2, 3]) == 0 && sink.count == 0)
        #expect(wakes.withLock { $0 } == 0)
        #expect(stream.give(2) == 2)
        #expect(wakes.withLock { $0 } == 1)
        #expect(taken([1, 2, 3]) == 2)
        // Only a waiting transfer is woken.
        _ = stream.give(5)
        _ = stream.give(5)
        #expect(wakes.withLock { $0 } == 2)
        #expect(stream.give(.init(.max)) == .init(.max))
        #expect(stream.give(1) == .init(.max))
    }

    @Test func nothingGoesOutBeforeTheAnswerIsTold() {
        _ = stream.give(10)
        stream.prepare(decodes: false)
        let wakes = wakes
        stream.begin(ResponseHead(url: "http://h/", status: 200)) { wakes.withLock { $0 += 1 } }
        #expect(taken([1]) == 0 && sink.count == 0)
        stream.open()
        #expect(wakes.withLock { $0 } == 1)
        #expect(taken([1]) == 1)
    }

    @Test func aClientThatDoesNotReadIsWaitedFor() async {
        _ = stream.give(1_000_000)
        begin()
        sink.stick()
        #expect(taken([1, 2, 3]) == 3)
        #expect(taken([4]) == 0)
        #expect(await eventually { sink.isWaiting })
        #expect(wakes.withLock { $0 } == 0)
        sink.loosen()
        #expect(await eventually { wakes.withLock { $0 } == 1 })
        #expect(taken([4]) == 1)
    }

    /// Its transfer goes on until the session has ended.
    @Test func aClientThatIsGoneIsSentNothing() async throws {
        _ = stream.give(1_000_000)
        begin()
        #expect(taken([1, 2, 3]) == 3)
        sink.close()
        #expect(taken([4]) == 0)
        _ = stream.give(1)
        #expect(taken([4]) == 0)
        #expect(sink.count == 1 && stream.offset == 3)
        // An answer from the cache waits too, until its run is stopped.
        let sending = Task { [stream] in try await stream.send([1, 2, 3, 4]) }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(sink.count == 1)
    }

    @Test func aCodedBodyIsDecodedNoFurtherThanItIsWanted() async throws {
        let plain = Packing.text(700_000)
        let coded = try await Packing.pack(plain, "gzip")
        begin([HeaderField("Content-Encoding", "gzip")], decodes: true)
        var used = 0
        var steps = 0
        while used < coded.count || stream.offset < ByteCount(Int64(plain.count)) {
            _ = stream.give(50_000)
            guard case .held(let count) = take(Array(coded[used...])) else { break }
            used += count
            steps += 1
            #expect(stream.offset <= ByteCount(Int64(50_000 * (steps + 1))))
        }
        let sent = try pieces().flatMap { Base64Text.decode($0.base64) }
        #expect(identical(sent, plain))
        #expect(stream.ended(ExchangeOutcome(end: .finished, offset: .zero)).end == .finished)
    }

    @Test func aCodedBodyWithoutItsEndIsNone() async throws {
        let coded = try await Packing.pack(Packing.text(1000), "gzip")
        _ = stream.give(1_000_000)
        begin([HeaderField("Content-Encoding", "gzip")], decodes: true)
        #expect(taken(Array(coded.dropLast(9))) == coded.count - 9)
        let outcome = stream.ended(ExchangeOutcome(end: .finished, offset: .zero))
        guard case .stopped(.failure(let error, _)) = outcome.end else {
            Issue.record("\(outcome.end)")
            return
        }
        #expect(error.code == .integrityLength)
        #expect(outcome.offset == stream.offset)
    }

    @Test func aStreamGoesWithItsTask() async throws {
        let bench = try await Bench()
        let streams = bench.sessions.streams
        let key = SessionKey(owner: Bench.user.uid, identifier: "v")
        var spec = TaskSpec()
        spec.stream = true
        // No client has the session.
        #expect(streams.stream(of: .firstVolatile, spec, in: key) == nil)
        _ = try await bench.call(Methods.openSession, .init(id: "v", kind: .default), on: sink)
        let first = try #require(streams.stream(of: .firstVolatile, spec, in: key))
        #expect(first.client == sink.id && streams.stream(of: .firstVolatile, spec, in: key) === first)
        spec.stream = nil
        #expect(streams.stream(of: TaskID(1), spec, in: key) == nil)
        func happens(_ type: EventType) {
            streams.committed([EventRecord(time: Sample.time, type: type, session: key, task: .firstVolatile)])
        }
        happens(.taskFailed)
        #expect(streams[.firstVolatile] === first)
        happens(.taskRemoved)
        #expect(streams[.firstVolatile] == nil)
    }
}

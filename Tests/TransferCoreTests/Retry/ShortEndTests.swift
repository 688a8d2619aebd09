import Testing
import TransferModel

@testable import TransferCore

/// Only repetition can tell an announced length that is too large from a connection that breaks.
struct ShortEndTests {
    private func end(
        _ end: ExchangeOutcome.End = .transport(code: 18, message: ""), at offset: Int64, from start: Int64 = 0,
        received: Int64? = nil, of total: Int64 = 1000, saysEnd: Bool = false
    ) -> ShortEnd? {
        let outcome = ExchangeOutcome(
            end: end, offset: ByteCount(offset), received: ByteCount(received ?? offset - start))
        return ShortEnd(
            outcome, from: ByteCount(start), to: ByteCount(total), of: ByteCount(total), host: "example.org",
            saysEnd: saysEnd)
    }

    /// Runs the attempts one after the other, each with its failure.
    /// - Returns: The number of the last attempt (from 1), or nil if the task continues.
    private func attempts(_ ends: [ShortEnd?]) throws -> (last: Int?, status: TaskStatus) {
        var machine = TaskMachine(TaskStatus(state: .queued, createdAt: reading().wall))
        for (index, end) in ends.enumerated() {
            _ = try machine.handle(.claimed, at: reading())
            var failure = AttemptFailure(
                error: TransferError(.networkLost, "Lost."), disposition: .transient(after: nil), progressed: true)
            failure.shortEnd = end
            _ = try machine.handle(
                .attemptFailed(failure, RetryPolicy(), jitter: 0), at: reading())
            if machine.status.state == .failed { return (index + 1, machine.status) }
            _ = try machine.handle(.conditionCleared, at: reading())
        }
        return (nil, machine.status)
    }

    @Test func theSameShortBodyTwiceIsTheLengthsFault() throws {
        let (last, status) = try attempts([end(at: 70), end(at: 70)])
        #expect(last == 2)
        #expect(status.error?.code == .integrityLength)
        #expect(status.error?.details["announced"] == 1000 && status.error?.details["received"] == 70)
        #expect(status.error?.message.contains("1000") == true && status.error?.message.contains("70") == true)
    }

    @Test func connectionsThatBreakHereAndThereAreResumedForEver() throws {
        let cuts = (1...200).map { end(at: Int64($0), from: Int64($0 - 1)) }
        #expect(try attempts(cuts).last == nil)
        // Without ranges each body starts over.
        let bodies = (1...200).map { end(at: Int64(1 + $0 % 7)) }
        #expect(try attempts(bodies).last == nil)
        // Another length means another file.
        #expect(try attempts([end(at: 70, of: 1000), end(at: 70, of: 1001), end(at: 70, of: 1000)]).last == nil)
    }

    @Test func whatIsLessClearTakesLonger() throws {
        let nothing = end(at: 70, from: 70, received: 0)
        #expect(try attempts([end(at: 70)] + Array(repeating: nothing, count: 4)).last == nil)
        #expect(try attempts([end(at: 70)] + Array(repeating: nothing, count: 9)).last == 6)
        for broken in [ExchangeOutcome.End.stalled, .transport(code: 56, message: "")] {
            #expect(try attempts(Array(repeating: end(broken, at: 70), count: 9)).last == 6)
            // A connection that gives no new bytes after the held ones: the network may come back.
            #expect(end(broken, at: 70, from: 70, received: 0) == nil)
            #expect(end(broken, at: 71, from: 70) == nil)
        }
    }

    @Test func otherFailuresBetweenChangeNothing() throws {
        #expect(try attempts([end(at: 70), nil, nil, end(at: 70)]).last == 4)
    }

    @Test func whatWasStoppedOrIsWholeSaysNothing() {
        for stopped in [
            ExchangeOutcome.End.aborted, .overrun, .local(errno: 28, operation: "write"), .stopped(.complete),
        ] {
            #expect(end(stopped, at: 70) == nil)
        }
        #expect(end(at: 1000) == nil)
        #expect(end(at: 0) == nil, "nothing came: the server may be starting")
    }

    @Test func anEmptyBodyThatIsSaidToBeOverIsOne() throws {
        let (last, status) = try attempts([end(at: 0, saysEnd: true), end(at: 0, saysEnd: true)])
        #expect(last == 2 && status.error?.code == .integrityLength)
        #expect(status.error?.details["received"] == 0)
        // Not said: the other side was silent, or went away.
        for broken in [ExchangeOutcome.End.stalled, .transport(code: 56, message: ""), .aborted] {
            #expect(end(broken, at: 0, saysEnd: true) == nil)
        }
    }

    @Test func aRetryBeginsToCountAnew() throws {
        var (_, status) = try attempts([end(at: 70), end(at: 70)])
        #expect(status.shortBody == ShortBody(received: 70, announced: 1000, times: 2))
        var machine = TaskMachine(status)
        _ = try machine.handle(.retry, at: reading())
        status = machine.status
        #expect(status.shortBody == nil)
    }

    @Test func aPlaceThatLiesEndsNothingWhileAnotherMayGive() throws {
        var short = AttemptFailure(error: TransferError(.networkLost, "Lost."), disposition: .transient(after: nil))
        short.shortEnd = end(at: 70)
        let away = AttemptFailure(error: TransferError(.networkConnect, "Away."), disposition: .transient(after: nil))
        let gone = AttemptFailure(error: TransferError(.httpStatus, "404"), disposition: .permanent)
        #expect(AttemptFailure.combined([short, away])?.shortEnd == nil)
        #expect(AttemptFailure.combined([away, short])?.shortEnd == nil)
        #expect(AttemptFailure.combined([short, gone])?.shortEnd == short.shortEnd)
        #expect(AttemptFailure.combined([gone, short])?.shortEnd == short.shortEnd)
        #expect(AttemptFailure.combined([short])?.shortEnd == short.shortEnd)
    }
}

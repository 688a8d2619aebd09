import Testing
import TransferModel

@testable import TransferCore

struct FileDownloadTests {
    private let time: Int64 = 784_111_777

    private func verdict(_ held: Checkpoint?, size: ByteCount?, time: Int64?, trusted: Bool = false) -> Verdict {
        FileJudge(held: held, trustedDigest: trusted).judge(
            ResponseHead(url: "file:///f", size: size, modificationTime: time))
    }
    private func held(_ offset: Int64, time: Int64? = 784_111_777) -> Checkpoint {
        checkpoint(offset, of: 100, lastModified: time.map(HTTPDate.format))
    }
    private func isRestart(_ verdict: Verdict) -> Bool {
        if case .stop(.restart(let error)) = verdict { error.code == .validatorChanged } else { false }
    }
    private func offset(_ verdict: Verdict) -> ByteCount? {
        if case .accept(let acceptance) = verdict { acceptance.offset } else { nil }
    }

    @Test func theSameFileIsContinued() {
        #expect(offset(verdict(held(40), size: 100, time: time)) == 40)
        #expect(verdict(held(100), size: 100, time: time) == .stop(.complete))
    }

    @Test func anotherFileRestarts() {
        #expect(isRestart(verdict(held(40), size: 101, time: time)))
        #expect(isRestart(verdict(held(40), size: 100, time: time + 1)))
        #expect(isRestart(verdict(held(40), size: nil, time: time)))
        #expect(isRestart(verdict(held(40, time: nil), size: 100, time: nil)))
        #expect(offset(verdict(held(40, time: nil), size: 100, time: nil, trusted: true)) == 40)
    }

    /// Only the end of a file in /proc tells its length.
    @Test func whatHasNoLengthIsWholeAtItsEnd() throws {
        var strategy = try StrategyRegistry.download(for: request("file:///proc/version"))
        _ = strategy.next(after: nil)
        let head = ResponseHead(url: "file:///proc/version", size: nil, modificationTime: time)
        let outcome = ExchangeOutcome(end: .finished, head: head, offset: 7, received: 7)
        guard case .finished(let arrival) = strategy.next(after: outcome) else {
            Issue.record("not finished")
            return
        }
        #expect(arrival.total == 7)
        #expect(!arrival.lengthProven)
    }

    @Test func aFileThatGrowsMeanwhileStartsOver() throws {
        var strategy = try StrategyRegistry.download(for: request("file:///f", checkpoint: held(40)))
        _ = strategy.next(after: nil)
        guard case .restart(let error, then: let exchange) = strategy.next(after: ExchangeOutcome(end: .overrun)) else {
            Issue.record("went on")
            return
        }
        #expect(error.code == .integrityLength)
        #expect(exchange.startOffset == 0)
    }
}

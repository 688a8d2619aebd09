import Testing
import TransferModel

@testable import TransferCore

struct MirrorNameJudgeTests {
    private func verdict(_ size: ByteCount?, _ head: ResponseHead) -> Verdict? {
        let request = request { $0.size = size }
        guard var strategy = try? StrategyRegistry.download(for: request) else { return nil }
        return strategy.next(after: nil).exchange?.judge.judge(head)
    }

    @Test func aFileOfAnotherLengthIsRefusedAtItsHead() {
        guard case .stop(.failure(let error, _)) = verdict(8, head(200, ["Content-Length": "7"])) else {
            Issue.record("taken")
            return
        }
        #expect(error.code == .integrityLength && !error.retryable)
        #expect(error.details["expected"] == 8 && error.details["found"] == 7)
    }

    @Test func whatMayBeRightIsTaken() {
        for (size, head) in [
            (7, head(200, ["Content-Length": "7"])), (nil, head(200, ["Content-Length": "7"])), (8, head(200)),
            (8, head(200, ["Content-Length": "7", "Content-Encoding": "gzip"])),
        ] as [(ByteCount?, ResponseHead)] {
            guard case .accept = verdict(size, head) else {
                Issue.record("\(head.headers) refused")
                continue
            }
        }
    }

    @Test func theWholeIsMeasuredAtItsEnd() {
        let arrival = Arrival(total: 7, lengthProven: false)
        #expect(throws: Never.self) { try arrival.check(nil) }
        #expect(throws: Never.self) { try arrival.check(7) }
        let failure = #expect(throws: AttemptFailure.self) { try arrival.check(8) }
        #expect(failure?.error.code == .integrityLength && failure?.disposition == .permanent)
        #expect(throws: Never.self) { try Arrival(total: 7, lengthProven: true, contentCoding: "gzip").check(8) }
    }
}

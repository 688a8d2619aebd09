import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

struct StrategyStepsTests {
    /// Has something to store from its first exchange on.
    private struct Strategy: TransferStrategy {
        var progress: Acceptance? { nil }
        var upload: UploadProgress?

        mutating func next(after outcome: ExchangeOutcome?) -> Step<String> {
            if outcome != nil {
                upload = UploadProgress(uploadProtocol: .post, source: nil, createdAt: Timestamp(milliseconds: 0))
            }
            return .finished("done")
        }
    }

    /// What it knows by then is stored nevertheless.
    @Test func noStepFollowsAnExchangeThatWasStopped() throws {
        var steps = StrategySteps<String>(strategy: Strategy(), stored: nil)
        #expect(steps.unstored == nil)
        guard case .success(nil) = steps.next(after: ExchangeOutcome(end: .aborted)) else {
            Issue.record("a step was taken")
            return
        }
        #expect(steps.unstored == .some(steps.strategy.upload))
        steps.stored = steps.strategy.upload
        #expect(steps.unstored == nil)
    }

    @Test func aProgressThatIsGoneIsNewsToo() {
        let known = UploadProgress(uploadProtocol: .post, source: nil, createdAt: Timestamp(milliseconds: 0))
        let steps = StrategySteps<String>(strategy: Strategy(), stored: known)
        #expect(steps.unstored == .some(nil))
    }
}

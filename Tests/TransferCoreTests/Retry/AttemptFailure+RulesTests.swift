import Testing
import TransferModel

@testable import TransferCore

struct AttemptFailureRulesTests {
    private func failure(
        _ code: ErrorCode, _ disposition: AttemptFailure.Disposition = .transient(after: nil)
    ) -> AttemptFailure {
        AttemptFailure(error: TransferError(code, "It failed."), disposition: disposition)
    }

    @Test func withoutANetworkNothingIsTheHostsFault() {
        for code in [ErrorCode.networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsFailed] {
            #expect(failure(code).adjusted(networkIsUp: false).disposition == .network)
            #expect(failure(code).adjusted(networkIsUp: true) == failure(code))
        }
        #expect(failure(.httpStatus).adjusted(networkIsUp: false) == failure(.httpStatus))
        #expect(failure(.tlsFailed, .permanent).adjusted(networkIsUp: false).disposition == .permanent)
    }

    @Test func aNameIsUnresolvedOnlyBeforeTheFirstByte() {
        let name = failure(.networkDNS)
        #expect(name.with(progressed: false, held: 0).isUnresolvedName)
        #expect(!name.with(progressed: true, held: 0).isUnresolvedName)
        #expect(!name.with(progressed: false, held: 5).isUnresolvedName)
        #expect(!failure(.networkConnect).isUnresolvedName)
    }
}

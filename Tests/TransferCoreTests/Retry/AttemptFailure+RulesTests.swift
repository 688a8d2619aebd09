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
            #expect(failure(code).withoutNetwork.disposition == .network)
        }
        #expect(failure(.httpStatus).withoutNetwork == failure(.httpStatus))
        #expect(failure(.tlsFailed, .permanent).withoutNetwork.disposition == .permanent)
        let told = AttemptFailure.Disposition.transient(after: 7)
        #expect(failure(.networkLost, told).withoutNetwork.disposition == told)
    }

    /// Every code with every disposition. For timeouts the message of libcurl decides.
    @Test func aFailureIsUnconnectedWithoutNetworkNameOrConnection() {
        for code in ErrorCode.allCases {
            #expect(failure(code, .network).isUnconnected)
            for disposition in [AttemptFailure.Disposition.disk, .permanent] {
                #expect(!failure(code, disposition).isUnconnected)
            }
            for after in [nil, 5] as [Seconds?] {
                #expect(
                    failure(code, .transient(after: after)).isUnconnected
                        == [.networkDNS, .networkConnect].contains(code))
            }
        }
        func timeout(_ reason: String, proxy: String? = nil) -> Bool {
            FailureClassifier.transport(code: 28, message: reason, host: "h", proxy: proxy).isUnconnected
        }
        #expect(timeout("Connection timeout after 30000 ms") && timeout("Connection timed out", proxy: "p:1"))
        #expect(timeout("Resolving timed out after 30000 milliseconds"))
        #expect(!timeout("Operation timed out after 1000 milliseconds with 0 bytes received"))
    }

    @Test func aDiskThatLooksWellIsTriedAgainLikeAnythingElse() {
        let gone = FailureClassifier.local(errno: 2, operation: "open")
        #expect(gone.disposition == .disk)
        let ready = gone.withReadyDisk
        #expect(ready.disposition == .transient(after: nil))
        #expect(ready.error.code == .diskIO && ready.error.details == gone.error.details)
        #expect(ready.error.message.contains("open: No such file or directory"), "\(ready.error.message)")
        #expect(!ready.error.message.contains("gone"))
        #expect(failure(.diskFull, .disk).withReadyDisk.error.message == "It failed.")
        #expect(failure(.networkLost).withReadyDisk == failure(.networkLost))
    }

    @Test func aNameIsUnresolvedOnlyBeforeTheFirstByte() {
        let name = failure(.networkDNS)
        #expect(name.with(progressed: false, held: 0).isUnresolvedName)
        #expect(!name.with(progressed: true, held: 0).isUnresolvedName)
        #expect(!name.with(progressed: false, held: 5).isUnresolvedName)
        #expect(!failure(.networkConnect).isUnresolvedName)
    }
}

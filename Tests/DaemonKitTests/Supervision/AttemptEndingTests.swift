import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

struct AttemptEndingTests {
    private func ending(_ error: any Error) async -> AttemptEnding { await .of { throw error } }

    @Test(arguments: [ErrorCode.diskFull, .diskQuota, .diskIO])
    func theDiskIsWaitedFor(code: ErrorCode) async {
        guard case .blocked(.disk, let error) = await ending(TransferError(code, "x")) else {
            Issue.record("\(code) does not wait")
            return
        }
        #expect(error.code == code)
    }

    @Test func theRestIsFinal() async {
        guard case .failed(let failure) = await ending(TransferError(.sourceChanged, "x")) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.error.code == .sourceChanged)
        #expect(failure.disposition == .permanent)
    }

    @Test func failuresAreHandedOnAsTheyAre() async {
        let given = AttemptFailure(error: TransferError(.networkLost, "x"), disposition: .transient(after: 3))
        guard case .failed(let failure) = await ending(given) else {
            Issue.record("not failed")
            return
        }
        #expect(failure == given)
    }

    @Test func stopsAreNoFailures() async {
        for error in [CancellationError(), TransferError(.cancelled, "x")] as [any Error] {
            guard case .aborted = await ending(error) else {
                Issue.record("\(error) is not a stop")
                continue
            }
        }
        guard case .integrityFailed = await ending(TransferError(.integrityChecksum, "x")) else {
            Issue.record("a wrong digest is not a restart")
            return
        }
    }
}

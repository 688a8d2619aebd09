import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct AttemptEndingTests {
    private func ending(_ error: any Error) async -> AttemptEnding { await .of { throw error } }

    @Test(arguments: [ErrorCode.diskFull, .diskQuota, .diskIO])
    func theDiskIsWaitedFor(code: ErrorCode) async {
        guard case .blocked(let error) = await ending(TransferError(code, "x")) else {
            Issue.record("\(code) does not wait")
            return
        }
        #expect(error.code == code)
    }

    @Test func theRestIsFinal() async {
        guard case .failed(let failure, nil) = await ending(TransferError(.sourceChanged, "x")) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.error.code == .sourceChanged)
        #expect(failure.disposition == .permanent)
    }

    @Test func failuresAreHandedOnAsTheyAre() async {
        let given = AttemptFailure(error: TransferError(.networkLost, "x"), disposition: .transient(after: 3))
        guard case .failed(let failure, nil) = await ending(given) else {
            Issue.record("not failed")
            return
        }
        #expect(failure == given)
    }

    /// What a failed request must store is stored with its failure, never before.
    @Test func whatAFailureLeavesGoesWithIt() async throws {
        let fixture = try SupervisionFixture()
        let task = try await fixture.add(hosts: ["a"])[0]
        let begun = UploadProgress(
            uploadProtocol: .post, resourceURL: nil, source: nil, createdAt: task.status.createdAt)
        try await fixture.store.write { try $0.setUpload(task.id, begun) }
        var notes = PendingNotes(record: task, time: task.status.createdAt)
        notes.add(nil as UploadProgress?)
        let given = AttemptFailure(error: TransferError(.networkLost, "x"), disposition: .permanent)
        guard case .failed(let failure, let left?) = await ending(AttemptEnding.failed(given, notes)) else {
            Issue.record("not failed")
            return
        }
        #expect(failure == given)
        #expect(try await fixture.store.read { try $0.task(task.id) }?.upload == begun)
        try await fixture.store.write { try left.store(in: $0) }
        let stored = try await fixture.store.read { try $0.task(task.id) }
        #expect(stored != nil && stored?.upload == nil)
    }

    @Test func stopsAreNoFailures() async {
        for error in [CancellationError(), TransferError(.cancelled, "x")] as [any Error] {
            guard case .aborted = await ending(error) else {
                Issue.record("\(error) is not a stop")
                continue
            }
        }
        let undecodable = TransferError(.httpProtocol, "x", retryable: true, details: [TransferError.coding: "gzip"])
        for error in [TransferError(.integrityChecksum, "x"), undecodable] {
            guard case .integrityFailed = await ending(error) else {
                Issue.record("\(error) is not a restart")
                continue
            }
        }
    }
}

import Testing
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct EndCountsTests {
    private let fixture: SupervisionFixture

    init() throws { fixture = try SupervisionFixture() }

    /// Each end once, and nothing of what was rolled back.
    @Test func endsCountAfterTheirCommit() async throws {
        struct Stop: Error {}
        let ends = EndCounts()
        fixture.store.onCommit { ends.follow($0) }
        let ids = try await fixture.add(hosts: ["a", "b", "c", "d", "e"]).map(\.id)
        _ = try await fixture.apply(.claimed, to: ids[0])
        _ = try await fixture.apply(.completed(TaskResult(bytes: 5, verified: false), duration: 1), to: ids[0])
        _ = try await fixture.apply(.cancel(keepPartial: true), to: ids[1])
        for id in ids[2...3] {
            _ = try await fixture.apply(.claimed, to: id)
            _ = try await fixture.apply(.deadlinePassed, to: id)
        }
        _ = try await fixture.apply(.retry, to: ids[3])
        await #expect(throws: TransferError.self) {
            let transitions = fixture.transitions
            try await fixture.store.write { transaction in
                _ = try transitions.apply(.cancel(keepPartial: true), to: ids[4], in: transaction)
                throw Stop()
            }
        }
        #expect(
            ends.current == [
                .init(kind: .download, outcome: .completed): 1, .init(kind: .download, outcome: .cancelled): 1,
                .init(kind: .download, outcome: .failed, code: "deadline.exceeded"): 2,
            ])
    }
}

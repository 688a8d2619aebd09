import Testing
import Threading
import TransferModel

@testable import FileKit

@Suite struct SharedSyncTests {
    /// Runs jobs and syncs by hand, so that a test chooses their order.
    private final class Stage: Sendable {
        let shared = SharedSync()
        private let jobs = Guarded([@Sendable () -> Void]())
        private let syncs = Guarded(0)
        private let told = Guarded([String]())
        let outcome = Guarded<Result<Void, TransferError>>(.success(()))
        let duringSync = Guarded<(@Sendable () -> Void)?>(nil)

        func join(_ name: String) {
            shared.join(post: { [jobs] job in jobs.withLock { $0.append(job) } }) { [self] in
                syncs.withLock { $0 += 1 }
                duringSync.withLock { body in
                    defer { body = nil }
                    return body
                }?()
                return outcome.withLock { $0 }
            } _: { [told] result in
                let text =
                    switch result {
                    case .success: "\(name) done"
                    case .failure(let error): "\(name) \(error.code.rawValue)"
                    }
                told.withLock { $0.append(text) }
            }
        }

        /// Runs the next job. Returns false if no job waits.
        @discardableResult func step() -> Bool {
            let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            job?()
            return job != nil
        }

        var syncCount: Int { syncs.withLock { $0 } }
        var heard: [String] { told.withLock { $0 } }
    }

    @Test func whoWaitsWhenItBeginsSharesIt() {
        let stage = Stage()
        for name in ["a", "b", "c"] { stage.join(name) }
        #expect(stage.heard.isEmpty)
        stage.step()
        #expect(stage.heard == ["a done", "b done", "c done"])
        #expect(stage.syncCount == 1)
        #expect(!stage.step())
    }

    @Test func whoComesWhileItRunsWaitsForTheNext() {
        let stage = Stage()
        stage.duringSync.withLock { $0 = { stage.join("late") } }
        stage.join("early")
        stage.step()
        #expect(stage.heard == ["early done"])
        stage.step()
        #expect(stage.heard == ["early done", "late done"])
        #expect(stage.syncCount == 2)
    }

    @Test func aFailureFailsEverybodyWhoReliedOnIt() {
        let stage = Stage()
        stage.outcome.withLock { $0 = .failure(TransferError(.diskIO, "no")) }
        // A file that was renamed during the sync may be lost too, and the next sync would not report that.
        stage.duringSync.withLock { $0 = { stage.join("late") } }
        for name in ["a", "b"] { stage.join(name) }
        stage.step()
        #expect(stage.heard == ["a disk.io", "b disk.io", "late disk.io"])
        #expect(!stage.step())
        stage.outcome.withLock { $0 = .success(()) }
        stage.join("next")
        stage.step()
        #expect(stage.heard.last == "next done")
        #expect(stage.syncCount == 2)
    }
}

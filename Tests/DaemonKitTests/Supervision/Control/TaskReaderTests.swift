import DaemonSetup
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import DaemonKit
@testable import TransferStore

struct TaskReaderTests {
    /// A task whose end cannot be stored is shown as running. It says why.
    @Test func aRunningTaskTellsOfTheStateFolder() async throws {
        let (fixture, home) = (try SupervisionFixture(), try ConfigurationFixture())
        let supervision = try fixture.supervision(in: home)
        let record = try await fixture.add(hosts: ["h"])[0]
        fixture.store.health.note(.full, TransferError(.diskFull, "There is no room."))
        #expect(await supervision.services.reader.trouble(of: record) == nil)
        supervision.runs.insert(TransferRun(record, directHost: "h") { _ in })
        #expect(
            await supervision.services.reader.trouble(of: record) == "Its changes may not be stored. There is no room.")
        fixture.store.health.note(.full, nil)
        #expect(await supervision.services.reader.trouble(of: record)?.contains("stored") != true)
    }
}

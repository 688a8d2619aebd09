import DaemonSetup
import FileKit
import Logging
import TestSupport
import Testing
import TransferModel

@testable import DaemonKit

struct SettingsServiceTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
    }

    @Test func nullRemovesWhatIsStored() async throws {
        let service = SettingsService(
            registry: try SettingsRegistry(loader: home.loader, runtime: [:]), store: fixture.store, time: fixture.time,
            pool: BlockingPool(), logger: Logger(label: "test")
        ) {}
        let peer = Peer(uid: UserID(0), gid: 0, pid: 1, isAdmin: true)
        try await service.set(["downloadRateLimit": 5, "uploadRateLimit": 6], by: peer)
        try await service.set(["downloadRateLimit": .null], by: peer)
        #expect(try await fixture.store.read { try $0.settings() } == ["uploadRateLimit": 6])
    }
}

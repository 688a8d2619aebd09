import Testing
import TransferModel
import TransferRPC

@testable import DaemonKit

@Suite(.timeLimit(.minutes(4)))
struct SettingsHandlersTests {
    @Test func showsAndChanges() async throws {
        let bench = try await Bench()
        let settings = try await bench.call(Methods.getSettings, .init())
        #expect(Set(settings.settings.keys) == Set(SettingName.allCases))
        let changed = try await bench.call(Methods.setSettings, .init([.downloadRateLimit: 5]), as: Bench.root)
        #expect(changed[.downloadRateLimit] == SettingView(value: 5, origin: .runtime))
    }

    @Test func inSystemModeOnlyAdministratorsChange() async throws {
        let system = try await Bench(mode: .system)
        #expect(await system.refusal(Methods.setSettings, .init([.progressInterval: 1]))?.code == .permissionDenied)
        let user = try await Bench(mode: .user)
        #expect(await user.refusal(Methods.setSettings, .init([.progressInterval: 1])) == nil)
    }
}

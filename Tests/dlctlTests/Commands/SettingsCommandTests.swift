import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct SettingsCommandTests {
    /// A user sees at once what is in force, in which unit, and where it comes from.
    @Test func settingsAreATable() {
        let list = SettingsInForce(
            settings: [
                ListedSetting(
                    name: "minimumFreeSpace", value: 1_073_741_824, text: "1G", unit: "bytes", origin: .runtime,
                    place: "settings.set", default: "0", effect: .runtime,
                    overruled: [SettingStatementView(text: "2G", origin: .file, place: "/f:3")], pending: nil),
                ListedSetting(
                    name: "historyRetention", value: 604_800, text: "7d", unit: "seconds", origin: .default,
                    place: nil, default: "7d", effect: .runtime, overruled: nil,
                    pending: SettingStatementView(text: "9d", origin: .file, place: "/f:4")),
            ], files: ["/f"], problem: nil)
        let lines = list.lines.map { $0.plain.split(separator: " ").joined(separator: " ") }
        #expect(
            lines == [
                "SETTING VALUE UNIT SOURCE", "minimumFreeSpace 1G bytes settings.set",
                "2G bytes overruled: /f:3", "historyRetention 7d default",
                "9d takes effect after a reload: /f:4",
            ])
    }
}

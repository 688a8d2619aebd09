import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct SettingsTableTests {
    @Test func everyGlobalSettingCanBeSetAtRunTimeUnderItsOwnName() {
        let runtime = SettingsTable.all.compactMap { setting in setting.runtimeName.map { ($0.rawValue, setting.name) }
        }
        #expect(Set(runtime.map(\.0)) == Set(SettingName.allCases.map(\.rawValue)))
        #expect(runtime.allSatisfy { $0.0 == $0.1 })
    }

    @Test func namesAndVariablesAreUnique() {
        #expect(Set(SettingsTable.all.map(\.name)).count == SettingsTable.all.count)
        #expect(Set(SettingsTable.all.map(\.environmentName)).count == SettingsTable.all.count)
        #expect(
            SettingsTable.setting(named: "session.retry.firstDelay")?.environmentName == "DLD_SESSION_RETRY_FIRST_DELAY"
        )
    }

    @Test(arguments: SettingsTable.all)
    func everySettingIsDocumentedAndItsTextsAreValid(setting: Setting) throws {
        #expect(setting.documentation.count > 20)
        let text = setting.example.filter { $0 != "\"" && $0 != "[" && $0 != "]" }
        let example = try #require(setting.kind.value(ofText: text), "the example is not accepted")
        #expect(example != setting.read(DaemonSettings()), "the example shows nothing but the default")
        let value = setting.read(DaemonSettings())
        #expect((value == .null) == (setting.defaultText != nil), "a default is either a value or words")
        if value != .null { #expect(setting.kind.checked(value) == value, "the default is not accepted") }
    }

    /// Writing a value and reading it back must give the same value. Otherwise two layers would disagree about it.
    @Test(arguments: SettingsTable.all)
    func everySettingIsStoredInAPlaceOfItsOwn(setting: Setting) throws {
        let text = setting.example.filter { $0 != "\"" && $0 != "[" && $0 != "]" }
        let example = try #require(setting.kind.value(ofText: text))
        var settings = DaemonSettings()
        setting.write(example, &settings)
        #expect(setting.read(settings) == example)
        for other in SettingsTable.all where other.name != setting.name {
            #expect(other.read(settings) == other.read(DaemonSettings()), "\(setting.name) changes \(other.name)")
        }
    }
}

extension Setting: CustomTestStringConvertible {
    public var testDescription: String { name }
}

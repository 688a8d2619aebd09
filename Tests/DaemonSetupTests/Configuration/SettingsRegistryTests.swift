import TestSupport
import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct SettingsRegistryTests {
    @Test func storedChangesTakeEffectAndNullRemovesThem() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write("downloadRateLimit: 1M", to: fixture.userFile)
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let changes = try registry.check(["downloadRateLimit": 5000, "progressInterval": 2])
        try registry.set(runtime: changes, as: SequenceNumber(1))
        #expect(registry.current.global.downloadRateLimit == 5000)
        #expect(registry.current.global.progressInterval == 2)
        #expect(registry.current.origin(of: "downloadRateLimit") == .runtime)

        try registry.set(runtime: try registry.check(["downloadRateLimit": nil]), as: SequenceNumber(2))
        #expect(registry.current.global.downloadRateLimit == ByteRate(1 << 20))
        #expect(registry.current.origin(of: "downloadRateLimit") == .userFile)
        #expect(registry.current.global.progressInterval == 2)
    }

    /// Two clients set it at once; the second one was stored last.
    @Test func whatWasStoredLastIsInForce() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        try registry.set(runtime: try registry.check(["downloadRateLimit": 2]), as: SequenceNumber(8))
        let earlier = try registry.check(["downloadRateLimit": 1, "uploadRateLimit": 1])
        try registry.set(runtime: earlier, as: SequenceNumber(7))
        #expect(registry.current.global.downloadRateLimit == 2 && registry.current.global.uploadRateLimit == 1)
    }

    @Test func aPinnedSettingIsRefusedByName() throws {
        var fixture = try ConfigurationFixture()
        fixture.environment["DLD_DOWNLOAD_RATE_LIMIT"] = "1M"
        fixture.arguments.settings["progressInterval"] = "1s"
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let byEnvironment = #expect(throws: TransferError.self) { try registry.check(["downloadRateLimit": 1]) }
        #expect(byEnvironment?.code == .badField)
        #expect(
            byEnvironment?.message
                == "downloadRateLimit: pinned by the environment variable DLD_DOWNLOAD_RATE_LIMIT; change it there.")
        let byFlag = #expect(throws: TransferError.self) { try registry.check(["progressInterval": nil]) }
        #expect(byFlag?.message == "progressInterval: pinned by the daemon's command line; change it there.")
    }

    @Test func aLimitOfUsersInEtcIsRefusedByNameInAUsersDaemonOnly() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumQueuedTasksPerUser: 5\nmaximumConcurrentTasks: 5", to: fixture.systemFile)
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let error = #expect(throws: TransferError.self) { try registry.check(["maximumQueuedTasksPerUser": 9]) }
        #expect(error?.code == .badField)
        #expect(
            error?.message
                == "maximumQueuedTasksPerUser: pinned by \(fixture.systemFile) for all users; change it there.")
        #expect(try registry.check(["maximumConcurrentTasks": 9]) == [.maximumConcurrentTasks: 9])
        #expect(try registry.check(["maximumConcurrentTasksPerUser": 9]) == [.maximumConcurrentTasksPerUser: 9])

        fixture.arguments.system = true
        let system = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        #expect(try system.check(["maximumQueuedTasksPerUser": 9]) == [.maximumQueuedTasksPerUser: 9])
    }

    @Test func theSystemDaemonRefusesACredentialHelperByName() throws {
        var fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let change = try registry.check(["credentialHelper": "git credential-store"])
        let next = try registry.set(runtime: change, as: SequenceNumber(1))
        #expect(next.settings.credentialHelper == "git credential-store")
        let removed = try registry.set(
            runtime: try registry.check(["credentialHelper": nil]), as: SequenceNumber(2))
        #expect(removed.settings.credentialHelper == nil)

        fixture.arguments.system = true
        let system = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let error = #expect(throws: TransferError.self) {
            try system.check(["credentialHelper": "git credential-store"])
        }
        #expect(
            error?.message
                == "credentialHelper: the system daemon runs no credential helper; set it in a user's own daemon.")
        #expect(error?.code == .badField && error?.details["field"] == "credentialHelper")
    }

    @Test(arguments: [
        ("maximumConcurrentTasks", JSONValue.integer(0), ErrorCode.badField),
        ("maximumConcurrentTasks", "8", .badField),
        ("downloadRateLimit", -1, .badField),
        ("downloadRateLimit", "2M", .badField),
        ("progressInterval", 0.001, .badField),
        ("historyRetention", true, .badField),
        ("maximumConcurentTasks", 8, .unknownField),
        ("socket", "/tmp/s", .unknownField),
        ("logLevel", "debug", .unknownField),
    ])
    func unfitChangesAreRefusedByName(name: String, value: JSONValue, code: ErrorCode) throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let error = #expect(throws: TransferError.self) { try registry.check([name: value]) }
        #expect(error?.code == code)
        #expect(error?.message.hasPrefix("\(name): ") == true)
        #expect(error?.details["field"] == .string(name))
    }

    @Test func everyGlobalSettingIsShownWithItsOrigin() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: ["eventRetentionCount": 10])
        let values = registry.current.globalValues()
        #expect(Set(values.map(\.name)) == Set(SettingName.allCases))
        #expect(values.first { $0.name == .eventRetentionCount }?.value == 10)
        #expect(values.first { $0.name == .eventRetentionCount }?.origin == .runtime)
        #expect(values.first { $0.name == .historyRetention }?.value == .number(30 * 86400))
    }

    @Test func reloadAppliesWhatCanChangeAndNamesWhatCannot() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        try fixture.write(
            "logLevel: debug\nmaximumConnections: 64\nuserAgent: other\nprogressInterval: 0.5", to: fixture.userFile)
        let outcome = try registry.reload()
        #expect(outcome.applied == ["logLevel"])
        #expect(Set(outcome.needsRestart) == ["maximumConnections", "userAgent"])
        #expect(registry.current.settings.logLevel == .debug)
        #expect(registry.current.settings.maximumConnections == 1024)
        #expect(registry.current.origin(of: "progressInterval") == .userFile)
    }

    /// An edit without effect is reported, because a value set at run time has priority.
    @Test func reloadNamesWhatAValueSetAtRunTimeHides() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(
            loader: fixture.loader, runtime: ["maximumConcurrentTasks": 3, "progressInterval": 2])
        try fixture.write("maximumConcurrentTasks: 7\nlogLevel: debug", to: fixture.userFile)
        let outcome = try registry.reload()
        #expect(outcome.hidden == ["maximumConcurrentTasks"] && outcome.applied == ["logLevel"])
        #expect(registry.current.global.maximumConcurrentTasks == 3)
        #expect(try registry.reload().hidden.isEmpty, "it has been said")
    }

    @Test func aReloadWithMistakesChangesNothing() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        let before = registry.current
        try fixture.write("logLevel: debug\nnonsense: 1\n", to: fixture.userFile)
        let errors = #expect(throws: ConfigurationErrors.self) { try registry.reload() }
        #expect(errors?.problems.map(\.name) == ["nonsense"])
        #expect(registry.current == before)
    }

    /// `settings.set` must not apply edits of a file that nobody asked to reload.
    @Test func settingOneValueDoesNotApplyEditedFiles() throws {
        let fixture = try ConfigurationFixture()
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        try fixture.write("logLevel: debug\nnonsense: 1", to: fixture.userFile)
        try registry.set(runtime: try registry.check(["maximumConcurrentTasks": 3]), as: SequenceNumber(1))
        #expect(registry.current.settings.logLevel == .info)
        #expect(registry.current.global.maximumConcurrentTasks == 3)
    }
}

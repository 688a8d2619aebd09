import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import DaemonSetup

@Suite struct SettingsListTests {
    private func list(_ fixture: ConfigurationFixture, _ registry: SettingsRegistry) throws -> [String: ListedSetting] {
        let list = SettingsList.result(registry.current, try registry.edited())
        #expect(list.settings.map(\.name) == SettingsTable.all.map(\.name))
        return Dictionary(uniqueKeysWithValues: list.settings.map { ($0.name, $0) })
    }

    @Test func everyOriginIsNamedWithItsPlace() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("# one\nlogLevel: debug\nsession:\n  retry:\n    attempts: 9", to: fixture.userFile)
        try fixture.write("minimumFreeSpace: 1G", to: fixture.systemFile)
        fixture.environment["DLD_USER_AGENT"] = "mine"
        fixture.arguments.settings["diskPollInterval"] = "9s"
        fixture.arguments.stateDirectory = "/srv/dld"
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: ["downloadRateLimit": 2048])
        let settings = try list(fixture, registry)
        let expected: [(String, String, SettingSource, String?)] = [
            ("logLevel", "debug", .file, "\(fixture.userFile):2"),
            ("session.retry.attempts", "9", .file, "\(fixture.userFile):5"),
            ("minimumFreeSpace", "1G", .file, "\(fixture.systemFile):1"),
            ("userAgent", "mine", .environment, "DLD_USER_AGENT"),
            ("diskPollInterval", "9s", .flag, "--set"), ("stateDirectory", "/srv/dld", .flag, "--state-dir"),
            ("downloadRateLimit", "2k", .runtime, "settings.set"), ("progressInterval", "500ms", .default, nil),
            ("socket", "\(fixture.root)/run/dld/dld.sock", .default, nil),
        ]
        for (name, text, origin, place) in expected {
            let setting = try #require(settings[name])
            #expect(setting.text == text && setting.origin == origin && setting.place == place, "\(setting)")
            #expect(setting.pending == nil, "\(setting)")
        }
        #expect(settings["downloadRateLimit"]?.effect == .runtime)
        #expect(settings["logLevel"]?.effect == .reload)
        #expect(settings["userAgent"]?.effect == .restart)
    }

    /// A default that follows from something else is shown as the value that it has, not as a description.
    @Test func defaultsAreShownAsTheValuesInForce() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumConcurrentTasks: 9\nmaximumConcurrentTasksPerHost: 3", to: fixture.userFile)
        fixture.environment["https_proxy"] = "http://me:secret@proxy:3128"
        fixture.environment["no_proxy"] = "localhost"
        let settings = try list(fixture, try SettingsRegistry(loader: fixture.loader, runtime: [:]))
        #expect(settings["userAgent"]?.text == "dld/\(Product.version)")
        #expect(settings["session.maximumConcurrentTasks"]?.text == "9")
        #expect(settings["session.maximumConcurrentTasks"]?.value == 9)
        #expect(settings["session.httpMaximumConnectionsPerHost"]?.text == "3")
        #expect(settings["session.proxy"]?.text == "https_proxy=http://proxy:3128 no_proxy=localhost")
        for name in ["userAgent", "session.maximumConcurrentTasks", "session.proxy"] {
            #expect(settings[name]?.origin == .default)
        }
        #expect(settings["minimumFreeSpace"]?.unit == "bytes" && settings["historyRetention"]?.unit == "seconds")
        #expect(settings["uploadRateLimit"]?.unit == "bytes per second" && settings["logLevel"]?.unit == nil)
        fixture.environment["https_proxy"] = "me:secret@proxy:3128"
        let short = try list(fixture, try SettingsRegistry(loader: fixture.loader, runtime: [:]))["session.proxy"]
        #expect(short?.text == "https_proxy=http://proxy:3128 no_proxy=localhost")
        fixture.environment["https_proxy"] = nil
        fixture.environment["no_proxy"] = nil
        let bare = try list(fixture, try SettingsRegistry(loader: fixture.loader, runtime: [:]))
        #expect(bare["session.proxy"]?.text == "none")
    }

    @Test func whatTheFilesSayByNowIsPendingUntilItIsInForce() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write("logLevel: debug", to: fixture.userFile)
        let registry = try SettingsRegistry(loader: fixture.loader, runtime: [:])
        try fixture.write("\nmaximumConnections: 64\nprogressInterval: 2s", to: fixture.userFile)
        var settings = try list(fixture, registry)
        #expect(settings["logLevel"]?.pending == SettingStatementView(text: "info", origin: .default))
        #expect(settings["progressInterval"]?.pending?.place == "\(fixture.userFile):3")
        _ = try registry.reload()
        settings = try list(fixture, registry)
        #expect(settings["logLevel"]?.pending == nil && settings["progressInterval"]?.text == "2s")
        #expect(
            settings["maximumConnections"]?.pending
                == SettingStatementView(text: "64", origin: .file, place: "\(fixture.userFile):2"))
        #expect(settings["maximumConnections"]?.text == "1024" && settings["maximumConnections"]?.origin == .default)
    }

    @Test func whatIsOverruledIsShown() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("downloadRateLimit: 1M\nmaximumQueuedTasksPerUser: 5", to: fixture.systemFile)
        try fixture.write("downloadRateLimit: 2M\nmaximumQueuedTasksPerUser: 6", to: fixture.userFile)
        fixture.environment["DLD_DOWNLOAD_RATE_LIMIT"] = "3M"
        let settings = try list(fixture, try SettingsRegistry(loader: fixture.loader, runtime: [:]))
        #expect(settings["downloadRateLimit"]?.text == "3M")
        #expect(settings["downloadRateLimit"]?.overruled?.map(\.text) == ["2M", "1M"])
        #expect(settings["maximumQueuedTasksPerUser"]?.place == "\(fixture.systemFile):2", "it binds every user")
        #expect(settings["maximumQueuedTasksPerUser"]?.overruled?.map(\.place) == ["\(fixture.userFile):2"])
    }

    @Test func aPasswordIsNotShown() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("session:\n  proxy: http://me:secret@proxy:3128", to: fixture.userFile)
        fixture.environment["DLD_SESSION_PROXY"] = "http://me:other@proxy:3129"
        let setting = try #require(
            try list(fixture, try SettingsRegistry(loader: fixture.loader, runtime: [:]))["session.proxy"])
        #expect(setting.text == "http://proxy:3129" && setting.value == "http://proxy:3129")
        #expect(setting.overruled?.first?.text == "http://proxy:3128")
    }
}

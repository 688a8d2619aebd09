import Glibc
import TestSupport
import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct ConfigurationLoaderTests {
    @Test func withoutAnyLayerTheDefaultsHold() throws {
        let fixture = try ConfigurationFixture()
        let configuration = try fixture.loader.load()
        #expect(configuration.settings == DaemonSettings())
        #expect(configuration.global == GlobalSettings())
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .default)
        #expect(configuration.files.isEmpty)
    }

    /// Adds each stronger layer in turn. It must win over all weaker layers, which stay in place.
    @Test func layersWinInTheDocumentedOrder() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumConcurrentTasks: 2", to: fixture.systemFile)
        var configuration = try fixture.loader.load()
        #expect(configuration.global.maximumConcurrentTasks == 2)
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .systemFile)

        try fixture.write("maximumConcurrentTasks: 3", to: fixture.userFile)
        configuration = try fixture.loader.load()
        #expect(configuration.global.maximumConcurrentTasks == 3)
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .userFile)
        #expect(configuration.files == [fixture.userFile, fixture.systemFile])

        let runtime: [String: JSONValue] = ["maximumConcurrentTasks": 4]
        configuration = try fixture.loader.load(runtime: runtime)
        #expect(configuration.global.maximumConcurrentTasks == 4)
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .runtime)

        fixture.environment["DLD_MAXIMUM_CONCURRENT_TASKS"] = "5"
        configuration = try fixture.loader.load(runtime: runtime)
        #expect(configuration.global.maximumConcurrentTasks == 5)
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .environment)

        fixture.arguments.settings["maximumConcurrentTasks"] = "6"
        configuration = try fixture.loader.load(runtime: runtime)
        #expect(configuration.global.maximumConcurrentTasks == 6)
        #expect(configuration.origin(of: "maximumConcurrentTasks") == .flag)
    }

    @Test func configFlagReplacesBothFiles() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumConcurrentTasks: 2", to: fixture.systemFile)
        try fixture.write("logLevel: debug", to: fixture.userFile)
        try fixture.write("minimumFreeSpace: 1G", to: "\(fixture.root)/own.yaml")
        fixture.arguments.configFile = "\(fixture.root)/own.yaml"
        let configuration = try fixture.loader.load()
        #expect(configuration.global.minimumFreeSpace == ByteCount(1 << 30))
        #expect(configuration.global.maximumConcurrentTasks == 32)
        #expect(configuration.settings.logLevel == .info)
        #expect(configuration.files == ["\(fixture.root)/own.yaml"])
    }

    @Test func aMissingNamedFileIsRefusedButAMissingOrdinaryOneIsNot() throws {
        var fixture = try ConfigurationFixture()
        #expect(fixture.problems().isEmpty)
        fixture.arguments.configFile = "\(fixture.root)/none.yaml"
        #expect(fixture.problems() == ["~/none.yaml: no such file; name an existing one with --config."])
    }

    @Test func allMistakesOfAllLayersAreToldAtOnce() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumConcurrentTasks: 0\nprogressIntervall: 2s\n", to: fixture.userFile)
        fixture.environment["DLD_DOWNLOAD_RATE_LIMIT"] = "fast"
        fixture.arguments.logLevel = "loud"
        #expect(
            fixture.problems() == [
                "dld.yaml:1: maximumConcurrentTasks: \"0\" is not accepted; give a whole number from 1 to 10000.",
                "dld.yaml:2: progressIntervall: no such setting; did you mean progressInterval?",
                "DLD_DOWNLOAD_RATE_LIMIT: downloadRateLimit: \"fast\" is not accepted (unit: bytes per second); "
                    + "give a rate in bytes per second, 0 or none = unlimited; k, M, G, T, P multiply by 1024: "
                    + "500k, 2M.",
                "--log-level: logLevel: \"loud\" is not accepted; give one of trace, debug, info, notice, warning, "
                    + "error, critical.",
            ])
    }

    @Test func mistakesOfAFileComeInTheOrderOfItsLines() throws {
        var fixture = try ConfigurationFixture()
        let text = "session:\n  retry:\n    firstDelay: 2h\nsession.caFil: /f\nmaximumConcurrentTasks: 0\n"
        try fixture.write(text, to: fixture.userFile)
        fixture.arguments.logLevel = "loud"
        let places = fixture.problems().map { $0.prefix { $0 != " " } }
        #expect(places == ["dld.yaml:3:", "dld.yaml:4:", "dld.yaml:5:", "--log-level:"])
    }

    @Test func aStoredValueThatIsNoLongerAcceptedIsLeftOutWithAWarning() throws {
        let fixture = try ConfigurationFixture()
        let configuration = try fixture.loader.load(runtime: ["progressInterval": -1, "maximumConcurrentTasks": 7])
        #expect(configuration.global.progressInterval == 0.5)
        #expect(configuration.global.maximumConcurrentTasks == 7)
        #expect(configuration.warnings.map(\.name) == ["progressInterval"])
    }

    @Test func firstDelayAboveTheLongestIsAContradiction() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write("session:\n  retry:\n    firstDelay: 2h\n", to: fixture.userFile)
        #expect(
            fixture.problems() == [
                "dld.yaml:3: session.retry.firstDelay: is 2h, longer than session.retry.longestDelay (10m); "
                    + "make it at most that."
            ])
        // The setting that was set is at fault, and not the one that nobody set.
        try fixture.write("session:\n  retry:\n    longestDelay: 500ms\n", to: fixture.userFile)
        #expect(
            fixture.problems() == [
                "dld.yaml:3: session.retry.longestDelay: is 500ms, shorter than session.retry.firstDelay (1s); "
                    + "make it at least that, or set both."
            ])
    }

    @Test func systemDaemonHasNoUserFile() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("logLevel: debug", to: fixture.userFile)
        try fixture.write("socket: /run/other/dld.sock", to: fixture.systemFile)
        fixture.arguments.system = true
        let configuration = try fixture.loader.load()
        #expect(configuration.settings.logLevel == .info)
        #expect(configuration.socket == "/run/other/dld.sock")
        #expect(configuration.downloadDirectory == nil)
    }

    /// The system daemon's socket in /etc must not become the socket of every user's daemon.
    @Test func usersIgnoreSocketAndStateFolderOfTheSystemFile() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write(
            "socket: /run/other/dld.sock\nstateDirectory: /srv/dld\nlogLevel: debug", to: fixture.systemFile)
        let configuration = try fixture.loader.load()
        #expect(configuration.socket == "\(fixture.root)/run/dld/dld.sock")
        #expect(configuration.stateDirectory == "\(fixture.root)/home/.local/state/dld")
        #expect(configuration.settings.logLevel == .debug)
    }

    @Test func socketPathsBeyondTheKernelsLimitAreRefused() throws {
        var fixture = try ConfigurationFixture()
        fixture.arguments.socket = "/" + String(repeating: "s", count: 107)
        let problems = fixture.problems()
        #expect(problems.count == 1)
        #expect(problems.first?.contains("has 108 bytes, but a socket's path has at most 107") == true)
        fixture.arguments.socket = "/" + String(repeating: "s", count: 106)
        #expect(fixture.problems().isEmpty)
    }

    /// The programs reach the socket through its folder. A socket path that a user sets must be short enough for other
    /// programs too.
    @Test func aLongStateFolderIsNoFaultOfTheSocket() throws {
        var fixture = try ConfigurationFixture()
        fixture.environment["XDG_RUNTIME_DIR"] = nil
        fixture.arguments.stateDirectory = "/" + String(repeating: "s", count: 150)
        #expect(try fixture.loader.load().socket.utf8.count == 160)
        #expect(fixture.problems().isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0)) func aRuntimeFolderOfSomebodyElseIsPassedOver() throws {
        let fixture = try ConfigurationFixture()
        let runtime = try #require(fixture.environment["XDG_RUNTIME_DIR"])
        mkdir(runtime, 0o700)
        #expect(try fixture.loader.load().warnings.isEmpty)
        #expect(chown(runtime, 54_321, 54_321) == 0)
        let configuration = try fixture.loader.load()
        #expect(configuration.socket == configuration.stateDirectory + "/dld.sock")
        #expect(configuration.warnings.map(\.description).count { $0.contains("belongs to user 54321") } == 1)
    }

    @Test func aRuntimeFolderThatIsTooLongIsPassedOver() throws {
        var fixture = try ConfigurationFixture()
        let runtime = "/" + String(repeating: "r", count: 94)
        fixture.environment["XDG_RUNTIME_DIR"] = runtime
        #expect(fixture.problems().isEmpty)
        let configuration = try fixture.loader.load()
        #expect(configuration.socket == configuration.stateDirectory + "/dld.sock")
        let warnings = configuration.warnings.map(\.description)
        #expect(warnings.count { $0.contains("XDG_RUNTIME_DIR") && $0.contains("a socket path of 108 bytes") } == 1)
    }

    @Test(arguments: ["flag", "environment", "file"])
    func aSocketThatIsTooLongNamesWhatSaidSo(_ source: String) throws {
        var fixture = try ConfigurationFixture()
        let path = "/" + String(repeating: "s", count: 107)
        switch source {
        case "flag": fixture.arguments.socket = path
        case "environment": fixture.environment["DLD_SOCKET"] = path
        default: try fixture.write("socket: \(path)\n", to: fixture.userFile)
        }
        let place = ["flag": "--socket", "environment": "DLD_SOCKET", "file": "dld.yaml"][source] ?? "?"
        let problems = fixture.problems()
        #expect(problems.count == 1 && problems.first?.contains(place) == true, "\(problems)")
    }

    @Test func sessionDefaultsFillOnlyWhatASessionLeavesOpen() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write(
            """
            session:
              directory: ~/in
              conflictPolicy: overwrite
              proxy: none
              connectionsPerDownload: 8
              durability: relaxed
              retry: {attempts: 3, firstDelay: 2s}
            """, to: fixture.userFile)
        var session = SessionConfiguration()
        session.conflictPolicy = .fail
        session.retry = RetryPolicySpec()
        session.retry?.attempts = 9
        let filled = try fixture.loader.load().filled(session)
        #expect(filled.conflictPolicy == .fail)
        #expect(filled.directory == "\(fixture.root)/home/in")
        #expect(filled.proxy == "none")
        #expect(filled.connectionsPerDownload == 8)
        #expect(filled.durability == .relaxed)
        #expect(filled.retry?.attempts == 9)
        #expect(filled.retry?.firstDelay == 2)
        #expect(filled.retry?.longestDelay == 600)
        #expect(filled.timeoutIntervalForRequest == 60)
    }

    @Test(arguments: ["maximumConcurrentTasksPerUser", "maximumQueuedTasksPerUser"])
    func nothingThatAUserSaysChangesALimitOfUsersInEtc(name: String) throws {
        var fixture = try ConfigurationFixture()
        let setting = try #require(SettingsTable.setting(named: name))
        try fixture.write("\(name): 5\nmaximumConcurrentTasks: 5", to: fixture.systemFile)
        try fixture.write("\(name): 6\nmaximumConcurrentTasks: 6", to: fixture.userFile)
        fixture.environment[setting.environmentName] = "7"
        fixture.arguments.settings[name] = "8"
        var configuration = try fixture.loader.load(runtime: [name: 9])
        #expect(setting.read(configuration.settings) == 5)
        #expect(configuration.origin(of: name) == .systemFile)
        #expect(configuration.global.maximumConcurrentTasks == 6)
        #expect(
            configuration.warnings.map(\.description)
                == ["\(fixture.userFile):1", "settings.set", setting.environmentName, "--set"].map {
                    "\($0): \(name): is not used: \(fixture.systemFile) sets it for all users."
                })

        // Another file in place of both is no way around the limit, and mistakes in the rest of the file in /etc do not
        // count.
        try fixture.write("\(name): 5\nnonsense: 1", to: fixture.systemFile)
        try fixture.write("\(name): 6", to: "\(fixture.root)/own.yaml")
        fixture.arguments.configFile = "\(fixture.root)/own.yaml"
        configuration = try fixture.loader.load()
        #expect(setting.read(configuration.settings) == 5)
        #expect(configuration.files == [fixture.root + "/own.yaml", fixture.systemFile])
    }

    @Test func administratorsOfTheSystemDaemonChangeLimitsOfUsers() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("maximumQueuedTasksPerUser: 5", to: fixture.systemFile)
        fixture.arguments.system = true
        #expect(try fixture.loader.load().global.maximumQueuedTasksPerUser == 5)
        let raised = try fixture.loader.load(runtime: ["maximumQueuedTasksPerUser": 9])
        #expect(raised.global.maximumQueuedTasksPerUser == 9)
        let lifted = try fixture.loader.load(runtime: ["maximumQueuedTasksPerUser": 0])
        #expect(lifted.global.maximumQueuedTasksPerUser == nil)
    }

    /// All session settings with `maximum` in their names, and no others.
    @Test func maximaOfTheSystemDaemonAreCeilingsOfSessions() throws {
        var fixture = try ConfigurationFixture()
        let named = SettingsTable.all.map(\.name).filter {
            $0.hasPrefix("session.") && $0.lowercased().contains("maximum")
        }
        #expect(named == ["session.httpMaximumConnectionsPerHost", "session.maximumConcurrentTasks"])
        try fixture.write(
            "session: {maximumConcurrentTasks: 4, httpMaximumConnectionsPerHost: 2, connectionsPerDownload: 3}",
            to: fixture.systemFile)
        func session(_ value: Int?) -> SessionConfiguration {
            var session = SessionConfiguration()
            session.maximumConcurrentTasks = value
            session.httpMaximumConnectionsPerHost = value
            session.connectionsPerDownload = value
            return session
        }
        func maxima(_ value: Int?) throws -> [Int?] {
            let filled = try fixture.loader.load().filled(session(value))
            return [filled.maximumConcurrentTasks, filled.httpMaximumConnectionsPerHost, filled.connectionsPerDownload]
        }
        #expect(try maxima(9) == [9, 9, 9])
        fixture.arguments.system = true
        #expect(try maxima(9) == [4, 2, 9])
        #expect(try maxima(1) == [1, 1, 1])
        #expect(try maxima(nil) == [4, 2, 3])
        try fixture.write("", to: fixture.systemFile)
        #expect(try maxima(9) == [9, 9, 9])
    }

    @Test func emptyVariablesAreUnset() throws {
        var fixture = try ConfigurationFixture()
        fixture.environment["DLD_LOG_LEVEL"] = ""
        #expect(try fixture.loader.load().origin(of: "logLevel") == .default)
    }

    @Test func aMistypedVariableIsWarnedOfAndAStrangersIsNot() throws {
        var fixture = try ConfigurationFixture()
        fixture.environment["DLD_LOGLEVEL"] = "debug"
        fixture.environment["DLD_SESSION"] = "import"
        fixture.environment["DLD_REQUIRE_SERVERS"] = "1"
        let configuration = try fixture.loader.load()
        #expect(
            configuration.warnings.map(\.description) == ["DLD_LOGLEVEL: no such setting; did you mean DLD_LOG_LEVEL?"])
    }
}

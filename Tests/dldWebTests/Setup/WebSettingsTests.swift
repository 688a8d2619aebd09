import FoundationEssentials
import Logging
import TestSupport
import Testing

@testable import dld_web

@Suite struct WebSettingsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(
        _ file: String = "", system: String = "", flags: [(option: String, name: String, values: [String])] = [],
        _ variables: [String: String] = [:]
    ) throws -> WebSettings {
        try FileManager.default.createDirectory(atPath: folder.path + "/dld", withIntermediateDirectories: true)
        for (name, text) in [("dld/dld-web.yaml", file), ("system.yaml", system)] {
            try Data(text.utf8).write(to: URL(filePath: folder.path + "/" + name))
        }
        return try WebSettings.load(
            flags: flags, environment: variables.merging(["XDG_CONFIG_HOME": folder.path, "HOME": "/home/x"]) { $1 },
            systemFile: folder.path + "/system.yaml")
    }

    @Test func defaults() throws {
        let settings = try load()
        #expect(settings == WebSettings())
        #expect(settings.addresses == ["127.0.0.1", "::1"])
    }

    @Test func everySettingIsRead() throws {
        let settings = try load(
            """
            listen: [127.0.0.2]
            port: 9000
            hosts: [files.example, "other.example:444", "[::1]:5"]
            allowedPeers: [root]
            metricsPeers: [0]
            metricsTokenFile: ~/token
            aria2: {enabled: true, port: 6801, secretFile: /secret}
            exitOnIdle: 10m
            logLevel: debug
            """)
        #expect(settings.listen == ["127.0.0.2"])
        #expect(settings.port == 9000)
        #expect(settings.hosts == ["files.example", "other.example:444", "[::1]:5"])
        #expect(settings.allowedPeers == ["root"])
        #expect(settings.metricsPeers == ["0"])
        #expect(settings.metricsTokenFile == "/home/x/token")
        #expect(settings.aria2Enabled && settings.aria2Port == 6801 && settings.aria2SecretFile == "/secret")
        #expect(settings.exitOnIdle == 600)
        #expect(settings.logLevel == .debug)
    }

    @Test func theStrongestSays() throws {
        let settings = try load(
            "port: 2\nlogLevel: error\n", system: "port: 1\nlogLevel: trace\nexitOnIdle: 5\n",
            flags: [("--port", "port", ["4"])], ["DLD_WEB_PORT": "3", "DLD_WEB_ARIA2_ENABLED": "true"])
        #expect(settings.port == 4)
        #expect(settings.logLevel == .error)
        #expect(settings.exitOnIdle == 5)
        #expect(settings.aria2Enabled)
    }

    @Test(arguments: [
        ("port: 99999\n", "dld-web.yaml:1: port"), ("x: 1\n", "dld-web.yaml:1: x: no such setting"),
        ("\nhosts: a b\n", "dld-web.yaml:2: hosts"), ("hosts: [\"a:b\"]\n", "dld-web.yaml:1: hosts"),
        ("hosts: [7:8:9]\n", "dld-web.yaml:1: hosts"), ("listen: nowhere\n", "dld-web.yaml:1: listen"),
        ("listen: 0.0.0.0\n", "listen: 0.0.0.0 is not a loopback address"),
        ("aria2:\n  port: x\n", "dld-web.yaml:2: aria2.port"),
        ("allowedPeers: [no-such-user]\n", "dld-web.yaml:1: allowedPeers"), ("port: {a: 1}\n", "dld-web.yaml:1: port"),
        ("[1]\n", "dld-web.yaml:1: is not a list"), ("a: [\n", "is not valid YAML"),
        ("aria2: 1\n", "dld-web.yaml:1: aria2: is a section"),
    ])
    func aMistakeHasItsPlace(_ text: String, _ said: String) {
        let failure = #expect(throws: SetupFailure.self) { try load(text) }
        #expect(failure?.status == 78)
        #expect(failure?.description.contains(said) == true, "\(failure?.description ?? "")")
    }

    @Test func allMistakesAreSaidAtOnce() {
        let failure = #expect(throws: SetupFailure.self) {
            try load("port: x\nlogLevel: loud\n", ["DLD_WEB_EXIT_ON_IDLE": "soon"])
        }
        for part in ["port", "logLevel", "DLD_WEB_EXIT_ON_IDLE"] {
            #expect(failure?.description.contains(part) == true, "\(failure?.description ?? "")")
        }
    }
}

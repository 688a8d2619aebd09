import FoundationEssentials
import Logging
import TestSupport
import Testing

@testable import dld_fleet

@Suite struct FleetSettingsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(
        _ user: String? = nil, system: String? = nil, config: String? = nil, _ variables: [String: String] = [:]
    ) throws -> FleetSettings {
        try FileManager.default.createDirectory(atPath: folder.path + "/dld", withIntermediateDirectories: true)
        for (name, text) in [("dld/fleet.yaml", user), ("system.yaml", system), ("own.yaml", config)] {
            if let text { try Data(text.utf8).write(to: URL(filePath: folder.path + "/" + name)) }
        }
        return try FleetSettings.load(
            file: config == nil ? nil : folder.path + "/own.yaml",
            environment: variables.merging(["XDG_CONFIG_HOME": folder.path, "HOME": "/home/x"]) { $1 },
            systemFile: folder.path + "/system.yaml")
    }

    @Test func defaults() throws {
        let settings = try load()
        var node = NodeSettings()
        node.name = FleetSettings.hostName
        #expect(settings.node == node)
        #expect(FleetSettings.isName(node.name))
        #expect(settings.connection.options == [:])
        #expect(settings.stateDirectory == "/home/x/.local/state/dld-fleet")
        #expect(settings.sockets.first == "/home/x/.local/state/dld/dld.sock")
        #expect(settings.logLevel == .info)
    }

    @Test func everySettingIsRead() throws {
        let settings = try load(
            """
            name: node-7
            stateDirectory: ~/state
            socket: /run/dld.sock
            database: host=db.example dbname=queue
            capacity: 3
            labels: [gpu, eu]
            lease: 30s
            renew: 10s
            poll: 2s
            listen: false
            progressInterval: 1s
            drainLimit: 1h
            handBackAfter: 90s
            localAttempts: 5
            backoff: {first: 1s, longest: 1m}
            logLevel: debug
            policy:
              pools: [media]
              kinds: [download, data]
              schemes: [https, http]
              hosts: ["*.Example.org", 127.0.0.1]
              folders: [{path: /srv, shared: true}, {path: ~/in}]
              sources:
                - path: /out
              headers: ["*"]
              methods: []
              credentials: true
            """)
        let node = settings.node
        #expect(node.name == "node-7" && settings.stateDirectory == "/home/x/state")
        #expect(settings.sockets == ["/run/dld.sock"])
        #expect(settings.connection.options == ["host": "db.example", "dbname": "queue"])
        #expect(node.capacity == 3 && node.labels == ["gpu", "eu"] && !node.listen && node.localAttempts == 5)
        #expect(node.lease == .seconds(30) && node.renew == .seconds(10) && node.poll == .seconds(2))
        #expect(node.progressInterval == .seconds(1) && node.drainLimit == .seconds(3600))
        #expect(node.handBackAfter == .seconds(90))
        #expect(node.backoff.first == .seconds(1) && node.backoff.longest == .seconds(60))
        #expect(settings.logLevel == .debug)
        let policy = node.policy
        #expect(
            policy.pools == ["media"] && policy.kinds == [.download, .data] && policy.schemes == ["https", "http"])
        #expect(policy.hosts == ["*.example.org", "127.0.0.1"])
        #expect(policy.folders == [.init(path: "/srv", shared: true), .init(path: "/home/x/in")])
        #expect(policy.sources == [.init(path: "/out")])
        #expect(policy.headers == ["*"] && policy.methods == [] && policy.credentials)
    }

    @Test func theStrongestSays() throws {
        let both = try load("capacity: 2\n", system: "capacity: 1\npoll: 9s\n")
        #expect(both.node.capacity == 2 && both.node.poll == .seconds(9))
        let own = try load("capacity: 2\n", system: "poll: 9s\n", config: "name: a\n")
        #expect(own.node.name == "a" && own.node.capacity == 16 && own.node.poll == .seconds(5))
        let named = try load("socket: /a\ndatabase: host=a\n", ["DLD_SOCKET": "/b", "PGHOST": "b"])
        #expect(named.sockets == ["/b"] && named.connection.options == [:])
    }

    /// systemd's STATE_DIRECTORY is this program's folder, and dld's socket is not in it.
    @Test func theStateFolderIsNotTheDaemons() throws {
        let settings = try load(["STATE_DIRECTORY": "/var/lib/dld-fleet:/other", "XDG_STATE_HOME": "/s"])
        #expect(settings.stateDirectory == "/var/lib/dld-fleet")
        #expect(settings.sockets.first == "/s/dld/dld.sock")
        #expect(try load(["XDG_STATE_HOME": "/s"]).stateDirectory == "/s/dld-fleet")
    }

    private func load(_ variables: [String: String]) throws -> FleetSettings { try load(nil, variables) }

    @Test(arguments: [
        ("capacity: 0\n", "1: capacity: \"0\" is not accepted; give a whole number from 1 to 1000"),
        ("capcity: 1\n", "1: capcity: no such setting; did you mean capacity?"), ("\nname: a b\n", "2: name: \"a b\""),
        ("name: \"\"\n", "1: name"), ("name: [a]\n", "1: name: \"the list\" is not accepted"),
        ("listen: 1\n", "1: listen"), ("lease: 30s\n", "1: lease: renew is at most a third of lease"),
        ("renew: 21s\n", "1: renew: renew is at most a third"),
        ("policy: {pools: [a/b]}\n", "1: policy.pools: \"a/b\""),
        ("policy:\n  kinds: [task]\n", "2: policy.kinds: \"task\""), ("policy: 1\n", "1: policy: is a section"),
        ("name: a\nname: b\n", "2: name: is given twice"),
        ("policy: {schemes: [HTTPS]}\n", "1: policy.schemes"), ("policy: {hosts: [\"a:1\"]}\n", "1: policy.hosts"),
        ("policy: {hosts: [\"a.*\"]}\n", "1: policy.hosts"), ("policy: {headers: [\"a b\"]}\n", "1: policy.headers"),
        ("policy: {headers: [\"*\", A]}\n", "1: policy.headers: \"*\" stands alone"),
        ("policy:\n  folders:\n  - /srv\n", "3: policy.folders: give {path"),
        ("policy: {folders: /srv}\n", "1: policy.folders: is not accepted"),
        ("policy:\n  folders:\n  - path: srv\n    shared: 1\n", "4: policy.folders: shared is true or false"),
        ("policy:\n  sources:\n  - {shared: true}\n", "3: policy.sources: a folder has no path"),
        ("policy:\n  sources:\n  - {path: /a, own: 1}\n", "3: policy.sources: there is no \"own\""),
        ("backoff:\n  frist: 1s\n", "2: backoff.frist: no such setting; did you mean backoff.first?"),
        ("database: host=a password=geheim\n", "1: database: has a password"),
        ("database: {host: a}\n", "1: database: is not accepted"),
        ("database: hots=a\n", "1: database: is not a connection"),
        ("[1]\n", "1: is not a list of"), ("a: [\n", "is not valid YAML"), ("logLevel: loud\n", "1: logLevel"),
    ])
    func aMistakeHasItsPlace(_ text: String, _ said: String) {
        let failure = #expect(throws: Failure.self) { try load(text) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.contains("fleet.yaml:\(said)") ?? false || failure?.message.contains(said) ?? false)
        #expect(failure?.message.contains("geheim") != true)
    }

    @Test func allMistakesAreSaidAtOnce() {
        let failure = #expect(throws: Failure.self) {
            try load("capacity: x\ndatabase: password=x\n", system: "poll: soon\n")
        }
        for part in ["fleet.yaml:1: capacity", "fleet.yaml:2: database", "system.yaml:1: poll"] {
            #expect(failure?.message.contains(part) == true, "\(failure?.message ?? "")")
        }
    }

    @Test func anOwnFileMustExist() {
        let failure = #expect(throws: Failure.self) {
            try FleetSettings.load(file: folder.path + "/none.yaml", environment: [:])
        }
        #expect(failure?.status == .configuration)
    }
}

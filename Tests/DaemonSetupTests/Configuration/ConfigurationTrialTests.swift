import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonSetup

struct ConfigurationTrialTests {
    private func problems(_ fixture: ConfigurationFixture) -> [String] {
        do {
            _ = try fixture.loader.tried()
            return []
        } catch {
            return error.problems.map { $0.description.replacingOccurrences(of: fixture.root, with: "~") }
        }
    }

    @Test func nothingIsNamedAndNothingIsMade() throws {
        let fixture = try ConfigurationFixture()
        #expect(problems(fixture) == [])
        #expect(!Files.exists(fixture.root + "/home/.local"))
    }

    /// Each message names the setting, and the line or the option that it comes from.
    @Test func eachMistakeNamesItsSettingAndItsOrigin() throws {
        var fixture = try ConfigurationFixture()
        let root = fixture.root
        try fixture.write("no certificate", to: root + "/ca.pem")
        try fixture.write("x", to: root + "/file")
        try fixture.write(
            """
            socket: \(root)/file/dld.sock
            stateDirectory: \(root)/file/state
            session:
              caFile: \(root)/ca.pem
              directory: \(root)/file
            """, to: fixture.userFile)
        fixture.environment["DLD_KNOWN_HOSTS"] = root + "/none"
        fixture.arguments.settings["allowedUnits"] = "import.servce"
        let found = problems(fixture)
        let expected = [
            ("~/home/.config/dld/dld.yaml:1: socket: ", "~/file"),
            ("~/home/.config/dld/dld.yaml:2: stateDirectory: Cannot create the state folder", "Not a directory"),
            ("DLD_KNOWN_HOSTS: knownHosts: ~/none", "name an existing file"),
            ("--set: allowedUnits: ", "\"import.servce\""),
            ("~/home/.config/dld/dld.yaml:5: session.directory: ~/file is not a folder", ""),
            ("~/home/.config/dld/dld.yaml:4: session.caFile: ~/ca.pem contains no PEM certificate", ""),
        ]
        #expect(found.count == expected.count, "\(found)")
        for (begin, part) in expected {
            #expect(found.contains { $0.hasPrefix(begin) && (part.isEmpty || $0.contains(part)) }, "\(begin): \(found)")
        }
    }

    /// To root these folders look writable.
    @Test(arguments: ["/proc", "/proc/dld/state", "/sys/dld"]) func nothingCanBeMadeInTheKernelsFolders(_ path: String)
        throws
    {
        var fixture = try ConfigurationFixture()
        fixture.arguments.stateDirectory = path
        fixture.arguments.socket = path + "/dld.sock"
        let found = problems(fixture)
        #expect(found.count == 2, "\(found)")
        #expect(found.contains { $0.hasPrefix("--state-dir: stateDirectory: ") }, "\(found)")
        #expect(found.contains { $0.hasPrefix("--socket: socket: ") }, "\(found)")
    }

    @Test func aSocketsPlaceIsFree() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("x", to: fixture.root + "/file")
        fixture.arguments.socket = fixture.root + "/file"
        #expect(
            problems(fixture) == [
                "--socket: socket: ~/file exists and is not a socket; move it away, or name another path."
            ])
    }

    @Test func oneUserHasNoMoreConnectionsThanThereAre() throws {
        var fixture = try ConfigurationFixture()
        // Alone, it lowers the share of each user too.
        fixture.arguments.settings["maximumConnections"] = "8"
        #expect(problems(fixture) == [])
        fixture.arguments.settings["maximumConnectionsPerUser"] = "9"
        #expect(
            problems(fixture) == [
                "--set: maximumConnectionsPerUser: 9 is more than maximumConnections (8), which also holds for one user; "
                    + "make it at most that."
            ])
    }

    /// One run reports the mistakes in the syntax and in the values together. No text in a message can control the
    /// terminal.
    @Test func mistakesOfBothKindsAreToldTogether() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("\"nonsense\\e[2J\": 1\nsocket: relative\n", to: fixture.userFile)
        fixture.environment["DLD_KNOWN_HOSTS"] = fixture.root + "/none"
        let found = problems(fixture)
        #expect(found.contains { $0.hasPrefix("DLD_KNOWN_HOSTS: knownHosts: ~/none") }, "\(found)")
        #expect(found.contains { $0.contains("nonsense") }, "\(found)")
        #expect(found.allSatisfy { !$0.contains("\u{1B}") }, "\(found)")
        #expect(found.count { $0.contains("socket") } <= 1)
    }

    @Test func theCredentialHelperIsAProgram() throws {
        var fixture = try ConfigurationFixture()
        try fixture.write("x", to: fixture.root + "/helper")
        func found(_ helper: String) -> [String] {
            fixture.arguments.settings["credentialHelper"] = helper
            return problems(fixture)
        }
        #expect(found("sh -c true") == [] && found("/bin/sh") == [])
        let missing = found("no-such-helper-here --file x")
        #expect(missing.count == 1 && missing[0].hasPrefix("--set: credentialHelper: "), "\(missing)")
        #expect(missing[0].contains("there is no program no-such-helper-here"), "\(missing)")
        #expect(found("/no/such/helper")[0].contains("name an existing program"))
        #expect(found(fixture.root + "/helper")[0].contains("chmod +x"))
        #expect(found("/bin")[0].contains("is not a program"))
        // The system daemon ignores the setting.
        fixture.arguments.system = true
        #expect(found("no-such-helper-here") == [])
    }

    @Test func theGroupOfAdministratorsExistsOrIsTheDefault() throws {
        var fixture = try ConfigurationFixture()
        fixture.arguments.system = true
        #expect(problems(fixture) == [])
        fixture.arguments.settings["adminGroup"] = "no-such-group-here"
        #expect(
            problems(fixture) == [
                "--set: adminGroup: there is no group no-such-group-here; create it, or name another one."
            ])
        fixture.arguments.settings["adminGroup"] = "root"
        #expect(problems(fixture) == [])
    }

    @Test func aCertificateIsKnownByItsBytes() {
        let good = "text\n-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----\n"
        #expect(ConfigurationTrial.holdsCertificate(good))
        let key = "PRIVATE KEY"
        for bad in [
            "", "-----BEGIN CERTIFICATE-----", good.replacingOccurrences(of: "CERTIFICATE", with: key),
            good.replacingOccurrences(of: "MIIB", with: "AAAA"), good.replacingOccurrences(of: "MIIB", with: "?"),
        ] {
            #expect(!ConfigurationTrial.holdsCertificate(bad), "\(bad)")
        }
    }

    @Test(arguments: ["fifo", "folder", "/dev/null"]) func whatIsNotAFileIsRefused(_ kind: String) throws {
        var fixture = try ConfigurationFixture()
        let path = kind.hasPrefix("/") ? kind : fixture.root + "/" + kind
        if kind == "fifo" { #expect(mkfifo(path, 0o600) == 0) }
        if kind == "folder" { #expect(mkdir(path, 0o700) == 0) }
        fixture.arguments.configFile = path
        #expect(fixture.problems().count == 1)
        #expect(fixture.problems().first?.hasSuffix("cannot be read: it is not a regular file.") == true)
    }
}

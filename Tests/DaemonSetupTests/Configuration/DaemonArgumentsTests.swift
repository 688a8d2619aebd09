import TestSupport
import Testing

@testable import DaemonSetup

@Suite struct DaemonArgumentsTests {
    @Test func pathsStartFromTheCurrentFolder() throws {
        var arguments = DaemonArguments()
        arguments.socket = "d.sock"
        arguments.stateDirectory = "/var/lib/x"
        let flags = arguments.settingFlags
        #expect(flags.map(\.flag) == ["--state-dir", "--socket"])
        #expect(flags.map(\.text) == ["/var/lib/x", CurrentFolder.path + "/d.sock"])
    }

    @Test func anUnknownSettingIsNamed() throws {
        var fixture = try ConfigurationFixture()
        fixture.arguments.settings = ["maximumTasks": "3"]
        let problems = fixture.problems()
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("--set: maximumTasks: no such setting; ") == true)
    }
}

import Foundation
import TestSupport
import Testing

@testable import DaemonSetup

@Suite struct PathsTests {
    @Test func xdgFoldersFallBackToTheHome() {
        let paths = Paths(system: false, environment: ["HOME": "/home/a/"])
        #expect(paths.userFile == "/home/a/.config/dld/dld.yaml")
        #expect(paths.stateDirectory == "/home/a/.local/state/dld")
        #expect(paths.socket(stateDirectory: paths.stateDirectory) == "/home/a/.local/state/dld/dld.sock")
        #expect(paths.knownHosts == "/home/a/.ssh/known_hosts")
        #expect(paths.downloads == "/home/a/Downloads")
        #expect(paths.expanded("~/x") == "/home/a/x")
        #expect(paths.expanded("/x") == "/x")
    }

    @Test func xdgVariablesMoveThem() {
        let paths = Paths(
            system: false,
            environment: [
                "HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/7",
                "XDG_DOWNLOAD_DIR": "/d",
            ])
        #expect(paths.userFile == "/c/dld/dld.yaml")
        #expect(paths.stateDirectory == "/s/dld")
        #expect(paths.socket(stateDirectory: "/elsewhere") == "/run/user/7/dld/dld.sock")
        #expect(paths.downloads == "/d")
    }

    @Test func relativeVariablesAreIgnored() {
        let paths = Paths(
            system: false, environment: ["HOME": "/h", "XDG_STATE_HOME": "state", "STATE_DIRECTORY": "dld"])
        #expect(paths.stateDirectory == "/h/.local/state/dld")
    }

    @Test func systemdsStateDirectoryIsStrongest() {
        let environment = ["HOME": "/h", "XDG_STATE_HOME": "/s", "STATE_DIRECTORY": "/var/lib/dld:/var/lib/more"]
        #expect(Paths(system: false, environment: environment).stateDirectory == "/var/lib/dld")
        #expect(Paths(system: true, environment: [:]).stateDirectory == "/var/lib/dld")
    }

    @Test func theSystemDaemonsPlacesAreFixed() {
        let paths = Paths(system: true, environment: ["XDG_RUNTIME_DIR": "/run/user/0", "HOME": "/root"])
        #expect(paths.socket(stateDirectory: "/x") == "/run/dld/dld.sock")
        #expect(paths.knownHosts == "/etc/ssh/ssh_known_hosts")
    }

    @Test func withoutHomeTheUserDatabaseIsAsked() {
        let paths = Paths(system: false, environment: [:])
        #expect(paths.home == NSHomeDirectoryForUser(NSUserName()))
    }

    @Test(arguments: [
        ("XDG_DOWNLOAD_DIR=\"$HOME/Holen\"\n", "/Holen"), ("XDG_DOWNLOAD_DIR=\"$HOME/\"\n", "/Downloads"),
        ("# XDG_DOWNLOAD_DIR=\"/x\"\n", "/Downloads"), ("XDG_DOWNLOAD_DIR=\"rel\"\n", "/Downloads"),
    ])
    func theDesktopsDownloadFolderIsRespected(text: String, folder: String) throws {
        let fixture = try ConfigurationFixture()
        try fixture.write(text, to: "\(fixture.root)/home/.config/user-dirs.dirs")
        let paths = Paths(system: false, environment: fixture.environment)
        #expect(paths.downloads == "\(fixture.root)/home\(folder)")
    }
}

import Glibc
import TestSupport
import Testing
import TransferClient

struct SocketCandidatesTests {
    private let system = ["/run/dld/dld.sock", "/var/lib/dld/dld.sock"]

    private func paths(_ environment: [String: String], explicit: String? = nil, system: Bool = false) -> [String] {
        DaemonClient.candidateSocketPaths(explicit: explicit, system: system, environment: environment)
    }

    @Test func whatIsNamedIsTheOnlyOne() {
        let environment = ["DLD_SOCKET": "/a", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]
        #expect(paths(environment, explicit: "/x") == ["/x"])
        #expect(paths(environment) == ["/a"])
        #expect(paths(environment, system: true) == ["/a"])
    }

    /// A running daemon has its socket in the state folder. A socket in the runtime folder may belong to systemd, and
    /// would start a second daemon.
    @Test func theStateFoldersThenTheRuntimeFoldersThenTheSystems() {
        #expect(
            paths(["XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]) == [
                "/h/.local/state/dld/dld.sock", "/run/user/1/dld/dld.sock",
            ] + system)
        #expect(paths(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == ["/s/dld/dld.sock"] + system)
        #expect(
            paths(["STATE_DIRECTORY": "/d:/e", "DLD_SOCKET": "", "XDG_RUNTIME_DIR": "r"]) == ["/d/dld.sock"] + system)
        #expect(paths([:]) == system)
        #expect(paths(["XDG_RUNTIME_DIR": "/r"], system: true) == system)
    }

    @Test(.enabled(if: Requirements.isRoot)) func aRuntimeFolderOfSomebodyElseIsPassedOver() throws {
        let folder = try TemporaryFolder()
        let environment = ["XDG_RUNTIME_DIR": folder.path]
        #expect(paths(environment).first == folder.path + "/dld/dld.sock")
        #expect(DaemonClient.unusableRuntimeFolder(environment: environment) == nil)
        #expect(chown(folder.path, 54_321, 54_321) == 0)
        #expect(paths(environment) == system)
        let unusable = DaemonClient.unusableRuntimeFolder(environment: environment)
        #expect(unusable?.path == folder.path && unusable?.reason == "belongs to another user")
    }

    @Test func aRuntimeFolderThatIsTooLongIsPassedOver() {
        let longest = ["XDG_RUNTIME_DIR": "/" + String(repeating: "r", count: 93)]
        #expect(paths(longest).first?.utf8.count == 107)
        let longer = ["XDG_RUNTIME_DIR": "/" + String(repeating: "r", count: 94)]
        #expect(paths(longer) == system)
        #expect(DaemonClient.unusableRuntimeFolder(environment: longer)?.reason.contains("108 bytes") == true)
    }
}

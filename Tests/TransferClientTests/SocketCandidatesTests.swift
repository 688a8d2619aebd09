import Testing
import TransferClient

struct SocketCandidatesTests {
    private func paths(_ environment: [String: String], explicit: String? = nil, system: Bool = false) -> [String] {
        DaemonClient.candidateSocketPaths(explicit: explicit, system: system, environment: environment)
    }

    @Test func whatIsNamedIsTheOnlyOne() {
        let environment = ["DLD_SOCKET": "/a", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]
        #expect(paths(environment, explicit: "/x") == ["/x"])
        #expect(paths(environment) == ["/a"])
        #expect(paths(environment, system: true) == ["/a"])
    }

    @Test func theUsersThenTheSystems() {
        #expect(
            paths(["XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]) == [
                "/run/user/1/dld/dld.sock", "/h/.local/state/dld/dld.sock", "/run/dld/dld.sock",
            ])
        #expect(paths(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == ["/s/dld/dld.sock", "/run/dld/dld.sock"])
        #expect(
            paths(["STATE_DIRECTORY": "/d:/e", "DLD_SOCKET": "", "XDG_RUNTIME_DIR": "r"]) == [
                "/d/dld.sock", "/run/dld/dld.sock",
            ])
        #expect(paths([:]) == ["/run/dld/dld.sock"])
        #expect(paths(["XDG_RUNTIME_DIR": "/r"], system: true) == ["/run/dld/dld.sock"])
    }
}

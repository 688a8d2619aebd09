import Glibc
import TestSupport
import Testing

@testable import dlctl

@Suite struct DaemonAccessTests {
    private let folder: TemporaryFolder
    private let remarks = Recorder<String>()

    init() throws { folder = try TemporaryFolder() }

    private func access(
        _ socket: String? = nil, mayStart: Bool = true, program: String = "dld", variables: [String: String] = [:]
    ) -> DaemonAccess {
        DaemonAccess(
            socket: socket, mayStart: mayStart,
            environment: ["HOME": folder.path, "PATH": "/nowhere"].merging(variables) { $1 },
            remark: { [remarks] in remarks.add($0) }, program: program)
    }

    private func outage(_ attempts: Int, _ waited: Duration) -> Outage { Outage(attempts: attempts, waited: waited) }

    /// A named path may belong to another state folder, so dlctl starts no daemon there. With --no-start it starts none
    /// either.
    @Test(arguments: [true, false]) func anotherDaemonIsWaitedForWithAnEnd(isNamed: Bool) async throws {
        let place = isNamed ? folder.file("s") : folder.path + "/.local/state/dld/dld.sock"
        let reach = isNamed ? access(place) : access(mayStart: false)
        #expect(try await reach.reconnect(to: place, outage(1, .milliseconds(250))) == nil)
        #expect(try await reach.reconnect(to: place, outage(2, .seconds(59))) == nil)
        #expect(remarks.all == ["the daemon at \(place) is gone; waiting 60 s for it"])
        let failure = await #expect(throws: CommandFailure.self) {
            try await reach.reconnect(to: place, outage(9, .seconds(60)))
        }
        #expect(failure?.status == .noDaemon)
        #expect(failure?.message?.contains("\(place) did not come back within 60 s") == true)
        #expect(failure?.message?.contains("the socket does not exist") == true)
    }

    /// dlctl first waits a few seconds for a service manager.
    @Test func onesOwnIsStarted() async throws {
        let place = folder.path + "/.local/state/dld/dld.sock"
        #expect(try await access().reconnect(to: place, outage(3, .milliseconds(1750))) == nil)
        #expect(remarks.all.isEmpty)
        let reach = access(program: "absent-dld")
        // A daemon that stopped has removed its socket. A daemon that died has left it.
        #expect(try await reach.reconnect(to: place, outage(4, .milliseconds(3750))) == nil)
        for name in ["/.local", "/.local/state", "/.local/state/dld"] { #expect(mkdir(folder.path + name, 0o700) == 0) }
        try Files.write(place, "")
        let failure = await #expect(throws: CommandFailure.self) {
            try await reach.reconnect(to: place, outage(4, .milliseconds(3750)))
        }
        #expect(remarks.all == ["starting dld"])
        #expect(failure?.message?.contains("neither next to dlctl nor in PATH") == true)
    }

    /// The user's own daemon does not have the tasks of the system daemon.
    @Test func theSystemsIsNotReplacedByOnesOwn() async throws {
        #expect(try await access().reconnect(to: "/run/dld/dld.sock", outage(5, .seconds(9))) == nil)
        #expect(!remarks.all.contains("starting dld"))
    }

    @Test func aSocketThatIsTooLongNamesWhatSaidSo() async throws {
        let long = folder.path + "/" + String(repeating: "x", count: 80)
        let failure = await #expect(throws: CommandFailure.self) { try await access(long).connect() }
        #expect(
            failure?.message?.contains("--socket has \(long.utf8.count) bytes") == true, "\(failure?.message ?? "")")
        let named = access(variables: ["DLD_SOCKET": long])
        let other = await #expect(throws: CommandFailure.self) { try await named.connect() }
        #expect(other?.message?.contains("DLD_SOCKET has \(long.utf8.count) bytes") == true, "\(other?.message ?? "")")
    }

    /// A new daemon with the usual state folder would have none of its tasks. A daemon that used the usual folder may
    /// be started again.
    @Test(arguments: [false, true]) func theDaemonOfAnotherStateFolderIsNotReplaced(isOfUsual: Bool) async throws {
        let place = folder.file("s")
        #expect(mknod(place, S_IFSOCK | 0o600, 0) == 0)
        for name in ["/.local", "/.local/state", "/.local/state/dld"] { #expect(mkdir(folder.path + name, 0o700) == 0) }
        try Files.write(folder.path + "/.local/state/dld/lock", "17\nopen\n\(isOfUsual ? place : "/other/s")\n")
        let failure = await #expect(throws: CommandFailure.self) {
            try await access(place, program: "absent-dld").connect()
        }
        #expect(failure?.status == .noDaemon && remarks.all.isEmpty == !isOfUsual)
        #expect(failure?.message?.contains("--state-dir FOLDER") == !isOfUsual, "\(failure?.message ?? "")")
    }

    /// A private daemon in the place of the system daemon would keep everyone else out.
    @Test(
        .enabled(if: geteuid() == 0, "only root gives folders away"),
        arguments: [
            Folder(owner: 0, group: 0, mode: 0o750, starts: true),
            Folder(owner: 0, group: 65_534, mode: 0o700, starts: true),
            Folder(owner: 0, group: 65_534, mode: 0o750, starts: false),
            Folder(owner: 65_534, group: 0, mode: 0o755, starts: false),
            Folder(owner: 65_534, group: 0, mode: 0o1777, starts: true),
        ])
    func aDaemonIsStartedInOnesOwnFolderOnly(_ sample: Folder) async throws {
        let place = folder.file("s")
        try #require(chown(folder.path, sample.owner, sample.group) == 0 && chmod(folder.path, sample.mode) == 0)
        defer { _ = chown(folder.path, 0, 0) }
        let failure = await #expect(throws: CommandFailure.self) {
            try await access(place, program: "absent-dld").connect()
        }
        #expect(failure?.status == .noDaemon)
        let state = folder.path + "/.local/state/dld"
        #expect(remarks.all == (sample.starts ? ["starting dld at \(place), with the state folder \(state)"] : []))
        #expect(failure?.message?.contains("none is started there") == !sample.starts, "\(failure?.message ?? "")")
    }

    struct Folder: Sendable {
        var owner: uid_t
        var group: gid_t
        var mode: mode_t
        var starts: Bool
    }

    /// Another user could read passwords and cookies: nothing is sent, unless that is the system daemon.
    @Test(
        .enabled(if: geteuid() == 0, "only root becomes another user"),
        .enabled(if: Requirements.has("python3", "setpriv")))
    func nothingIsSentToAnotherUser() async throws {
        try #require(chmod(folder.path, 0o777) == 0)
        let place = folder.file("s")
        let script = """
            import socket, sys
            server = socket.socket(socket.AF_UNIX)
            server.bind(sys.argv[1])
            server.listen()
            print("ready", flush=True)
            while True:
                client, _ = server.accept()
                print(len(client.recv(1)), flush=True)
            """
        let output = folder.file("output")
        let other = try TestSupport.Program(
            ["setpriv", "--reuid", "65534", "--clear-groups", "python3", "-c", script, place], output: output)
        defer { other.signal(SIGKILL) }
        func isSaid(_ text: String) async -> Bool {
            await eventually(within: 30) { (try? Files.text(output)) == text }
        }
        #expect(await isSaid("ready\n"))
        let failure = await #expect(throws: CommandFailure.self) { try await access(place).connect() }
        #expect(failure?.status == .noDaemon)
        #expect(
            failure?.message?.contains("runs as user 65534") == true && failure?.message?.contains("--system") == true,
            "\(failure?.message ?? "")")
        #expect(await isSaid("ready\n0\n"))
        var trusted = access(place)
        trusted.system = true
        try await trusted.connect().close()
    }

    /// The folder of the system daemon may be missing while it is stopped.
    @Test func noneIsStartedAtTheSystemsSocket() async throws {
        let failure = await #expect(throws: CommandFailure.self) {
            try await access("/var/lib/dld/dld.sock", program: "absent-dld").connect()
        }
        #expect(failure?.message?.contains("it is the system daemon's") == true, "\(failure?.message ?? "")")
        #expect(remarks.all.isEmpty)
    }

    @Test func anOutageGrows() {
        #expect((0..<7).map { outage($0, .zero).delay } == [0.25, 0.5, 1, 2, 4, 5, 5].map { Duration.seconds($0) })
    }
}

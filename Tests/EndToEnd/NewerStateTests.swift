import TestSupport
import Testing

extension EndToEnd.Surviving {
    /// A dld meets the state folder of a newer one.
    @Suite(.enabled(if: Requirements.has("python3"), "python3 takes the place of systemd and of the newer dld"))
    struct NewerState {
        /// A newer dld stopped, or was killed after its first commit.
        @Test(.timeLimit(.minutes(1)), arguments: [false, true])
        func itsQueueIsRefusedAndNotTouched(wasKilled: Bool) async throws {
            let house = try UserHouse()
            #expect(try await house.dlctl(nil, ["start"]).status == 0)
            let adding = ["add", "--paused", "-o", house.folder.file("x"), "http://127.0.0.1:9/x"]
            #expect(try await house.dlctl(nil, adding).status == 0)
            #expect(try await house.dlctl(nil, ["stop"]).status == 0)
            let newer = """
                import os, sqlite3, sys
                database = sqlite3.connect(sys.argv[1])
                database.execute("PRAGMA user_version = 9999")
                if sys.argv[2] == "killed": os._exit(0)
                """
            let database = house.state + "/dld.sqlite"
            try await Program.require(["python3", "-c", newer, database, wasKilled ? "killed" : "stopped"])
            #expect(Files.exists(database + "-wal") == wasKilled)
            let before = try Files.state(of: house.state)

            let socket = house.folder.file("systemds")
            let daemon = try Program(
                ["python3", "-c", Self.launcher, socket, try Binaries.path("dld")],
                environment: house.environment(nil), output: house.folder.file("log"))
            #expect(await eventually(within: 30) { socketInode(socket) != nil })
            let (status, output) = try await house.dlctl(nil, ["--socket", socket, "--no-start", "list"])
            #expect(status == 4, "\(output)")
            #expect(output.contains("refused (state.newer): \(database) was written by a newer dld"), "\(output)")
            #expect(output.contains("Install that version or a newer one"), "\(output)")
            #expect(try await daemon.waitForEnd(within: 30) == 78, "\(house.log)")
            #expect(house.log.contains("state.newer"), "\(house.log)")

            let alone = try await Program.run([try Binaries.path("dld")], environment: house.environment(nil))
            #expect(alone.status == 78 && alone.output.contains("state.newer"), "\(alone.output)")
            #expect(try Files.state(of: house.state) == before)
        }

        /// Like systemd, it starts the daemon when a client waits (sd_listen_fds(3)).
        private static let launcher = """
            import os, select, socket, sys
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1] + ".new")
            listener.listen()
            os.rename(sys.argv[1] + ".new", sys.argv[1])
            select.select([listener], [], [])
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.execv(sys.argv[2], sys.argv[2:])
            """
    }
}

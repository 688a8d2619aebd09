import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// The daemon is found from everywhere, whatever happened to its sockets.
    struct Reachable {
        /// Tells whether this daemon finally answers at the socket.
        private func comesToAnswer(_ daemon: Program, at socket: String) async -> Bool {
            await eventually(within: 20) {
                let info = try? await RPCProbe(socket).call("daemon.info", within: 5)
                return info?["pid"]?.integerValue == Int64(daemon.pid)
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false], [true, false])
        func withAndWithoutARuntimeFolder(isStartedWith: Bool, isCalledWith: Bool) async throws {
            let house = try UserHouse()
            let daemon = try await house.start(isStartedWith ? house.runtime : nil)
            #expect(try await house.reaches(daemon.pid, isCalledWith ? house.runtime : nil), "\(house.log)")
            let (_, output) = try await house.dlctl(nil, ["info", "--no-start", "--json"])
            let sockets = isStartedWith ? [house.runtimeSocket, house.stateSocket] : [house.stateSocket]
            #expect(try json(output)["sockets"] == .array(sockets.map { .string($0) }))
            #expect(try json(output)["socket"] == .string(sockets[0]))
            let ready = house.log.split(separator: "\n").first { $0.contains("ready ") } ?? ""
            #expect(sockets.allSatisfy(ready.contains), "\(ready)")
        }

        /// Deleted, moved away, or replaced by what a crashed daemon left there.
        @Test(.timeLimit(.minutes(1)), arguments: ["rm", "mv", "replace"], ["runtime", "state"])
        func aSocketWhoseNameIsGoneIsMadeAnew(how: String, which: String) async throws {
            let house = try UserHouse()
            let daemon = try await house.start(house.runtime)
            let socket = which == "runtime" ? house.runtimeSocket : house.stateSocket
            let old = socketInode(socket)
            switch how {
            case "rm": #expect(unlink(socket) == 0)
            case "mv": #expect(rename(socket, socket + ".old") == 0)
            default:
                let other = strangeSocket(house.folder.file("s"))
                #expect(rename(house.folder.file("s"), socket) == 0)
                close(other)
            }
            #expect(await comesToAnswer(daemon, at: socket), "\(house.log)")
            #expect(socketInode(socket) != old || how != "mv")
            #expect(try await house.reaches(daemon.pid, nil))
        }

        @Test(.timeLimit(.minutes(1)))
        func aRuntimeFolderThatIsWipedIsNoLoss() async throws {
            let house = try UserHouse()
            let daemon = try await house.start(house.runtime)
            #expect(rename(house.runtime, house.runtime + ".old") == 0)
            Files.removeTree(house.runtime + ".old")
            #expect(try await house.reaches(daemon.pid, house.runtime))
            #expect(await comesToAnswer(daemon, at: house.runtimeSocket), "\(house.log)")
            var status = stat()
            #expect(lstat(house.runtime + "/dld", &status) == 0 && status.st_mode & 0o777 == 0o700)
        }

        /// Like logind at a login after a logout: another file system is mounted over the folder, then removed.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.mayAdministrate))
        func aRuntimeFolderThatIsMountedOverGetsASocket() async throws {
            let house = try UserHouse()
            let daemon = try await house.start(house.runtime)
            #expect(mount("tmpfs", house.runtime, "tmpfs", 0, "mode=0700") == 0)
            defer { umount2(house.runtime, Int32(MNT_DETACH)) }
            #expect(await comesToAnswer(daemon, at: house.runtimeSocket), "\(house.log)")
            umount2(house.runtime, Int32(MNT_DETACH))
            #expect(await comesToAnswer(daemon, at: house.runtimeSocket), "\(house.log)")
            #expect(try await house.reaches(daemon.pid, house.runtime))
        }

        @Test(.timeLimit(.minutes(1)))
        func aSecondStartSaysWhereTheFirstListens() async throws {
            let house = try UserHouse()
            let daemon = try await house.start(house.runtime)
            let second = try await Program.run([try Binaries.path("dld")], environment: house.environment(nil))
            #expect(second.status == 1)
            #expect(second.output.contains("pid \(daemon.pid)") && second.output.contains(house.runtimeSocket))
            #expect(second.output.contains(house.stateSocket), "\(second.output)")
            #expect(try await house.reaches(daemon.pid, nil))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot))
        func aRuntimeFolderOfSomebodyElseIsPassedOver() async throws {
            let house = try UserHouse()
            #expect(chown(house.runtime, 54_321, 54_321) == 0)
            let daemon = try await house.start(house.runtime)
            #expect(socketInode(house.runtimeSocket) == nil && socketInode(house.stateSocket) != nil)
            #expect(house.log.contains("belongs to user 54321"), "\(house.log)")
            let (status, output) = try await house.dlctl(house.runtime, ["info", "--no-start"])
            #expect(status == 0 && output.contains("belongs to another user") && output.contains("\(daemon.pid), uid"))
        }

        @Test(.timeLimit(.minutes(1)))
        func aRuntimeFolderThatIsTooLongIsPassedOver() async throws {
            let house = try UserHouse(
                runtime: String(repeating: "r", count: 70) + "/" + String(repeating: "r", count: 30))
            let daemon = try await house.start(house.runtime)
            #expect(house.log.contains("over the limit of 107, and is ignored"), "\(house.log)")
            let (status, output) = try await house.dlctl(house.runtime, ["info", "--no-start"])
            #expect(status == 0 && output.contains("is too long for a socket") && output.contains("\(daemon.pid), uid"))
        }

        /// systemd's socket, passed as for sd_listen_fds(3). python3 takes the place of systemd.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("python3")))
        func aSocketOfSystemdIsNamedAndReplaced() async throws {
            let house = try UserHouse()
            let socket = house.folder.file("systemds")
            let launcher = """
                import os, socket, sys
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(sys.argv[1])
                listener.listen()
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
                os.execv(sys.argv[2], sys.argv[2:])
                """
            let daemon = try Program(
                ["python3", "-c", launcher, socket, try Binaries.path("dld")],
                environment: house.environment(house.runtime),
                output: house.folder.file("log"))
            #expect(await eventually(within: 30) { house.log.contains("ready ") || !daemon.isRunning })
            let info = try await RPCProbe(socket).call("daemon.info")
            #expect(info["socket"] == .string(socket), "\(house.log)")
            #expect(info["sockets"] == [.string(socket), .string(house.stateSocket)])
            #expect(unlink(socket) == 0)
            #expect(try await house.reaches(daemon.pid, nil))
            #expect(await comesToAnswer(daemon, at: socket), "\(house.log)")
            #expect(
                await eventually(within: 30) { house.log.contains("until dld.socket is restarted") }, "\(house.log)")
        }

        /// The path of a state folder may be longer than a socket's address.
        @Test(.timeLimit(.minutes(1)))
        func aLongStateFolderHasItsSocketToo() async throws {
            let house = try UserHouse(
                home: Array(repeating: String(repeating: "h", count: 60), count: 3).joined(separator: "/"))
            #expect(house.stateSocket.utf8.count > 200)
            let daemon = try await house.start(nil)
            #expect(try await house.reaches(daemon.pid, nil), "\(house.log)")
            #expect(unlink(house.stateSocket) == 0)
            let isBack = await eventually(within: 20) { (try? await house.reaches(daemon.pid, house.runtime)) == true }
            #expect(isBack, "\(house.log)")
        }

        @Test(.timeLimit(.minutes(1)))
        func startAndStop() async throws {
            let house = try UserHouse()
            let nothing = try await house.dlctl(nil, ["stop"])
            #expect(nothing.status == 0 && nothing.output.contains("no daemon is running"))
            let started = try await house.dlctl(house.runtime, ["start"])
            #expect(started.status == 0 && started.output.contains(house.stateSocket), "\(started.output)")
            var status = stat()
            #expect(lstat(house.state, &status) == 0 && status.st_mode & 0o777 == 0o700)
            let again = try await house.dlctl(nil, ["start", "--json"])
            let pid = try #require(try json(again.output)["pid"]?.integerValue)
            #expect(started.output.contains("process \(pid) "))
            let stopped = try await house.dlctl(nil, ["stop"])
            #expect(stopped.status == 0 && stopped.output.contains("stopped (process \(pid))"), "\(stopped.output)")
            #expect(try await house.dlctl(nil, ["info", "--no-start"]).status == 3)
            #expect(socketInode(house.stateSocket) == nil && socketInode(house.runtimeSocket) == nil)
        }

        private func json(_ text: String) throws -> JSONValue {
            try ForeignJSON.value(text.utf8)
        }

        /// Bound, but not listening.
        private func strangeSocket(_ path: String) -> Int32 {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(status == 0)
            return descriptor
        }
    }
}

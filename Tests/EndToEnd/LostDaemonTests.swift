import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Surviving {
    /// What happens to clients whose daemon dies, and to a daemon whose state folder goes.
    struct LostDaemon {
        private static let followers: [[String]] = [["add", "-w"], ["wait"], ["watch"], ["watch", "--json"]]

        /// Nothing else restarts it.
        @Test(.timeLimit(.minutes(2)), arguments: followers)
        func whoFollowsTasksStartsItAnew(_ command: [String]) async throws {
            let house = try UserHouse()
            let origin = try MisbehavingOrigin()
            let resource = Resource(Content(seed: 5, size: 1 << 20), etag: "\"1\"")
            origin.serve("/file", .good(resource, rate: 100_000), .good(resource))
            let adding = ["-o", house.folder.file("file"), origin.url("/file")]
            #expect(try await house.dlctl(nil, ["start"]).status == 0)
            let first = try #require(house.holder)
            if command[0] != "add" { #expect(try await house.dlctl(nil, ["add"] + adding).status == 0) }
            let output = house.folder.file("output")
            let follower = try Program(
                [try Binaries.path("dlctl")] + command + (command[0] == "add" ? adding : ["1"]),
                environment: house.environment(nil), output: output)
            let isFollowing = await eventually(within: 30) {
                guard let text = try? Files.text(output) else { return false }
                return text.contains("1 file: running") || text.contains("task.progress") || !follower.isRunning
            }
            #expect(isFollowing)
            kill(first, SIGKILL)
            let status = try await follower.waitForEnd(within: 60)
            let text = try Files.text(output)
            #expect(status == 0, "\(text)")
            #expect(text.contains("starting dld") || command.contains("--json"), "\(text)")
            #expect(resource.content.matches(house.folder.file("file")))
            if command.contains("--json") { try expectEveryEvent(text) }
            #expect(house.holder != first)
            #expect(try await house.dlctl(nil, ["stop"]).status == 0)
        }

        /// No number is missing or occurs twice.
        private func expectEveryEvent(_ text: String) throws {
            let events = try text.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
                try ForeignJSON.value($0.utf8)
            }
            let numbers = events.compactMap { $0["sequence"]?.integerValue }
            #expect(numbers.count > 2 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(text)")
            #expect(events.last?["type"] == "task.completed")
        }

        enum Fate: CaseIterable { case moved, removed, replaced, served }

        /// Clients would otherwise talk to a daemon whose queue is elsewhere.
        @Test(.timeLimit(.minutes(2)), arguments: Fate.allCases)
        func aDaemonWithoutItsStateFolderEnds(_ fate: Fate) async throws {
            let house = try UserHouse()
            let daemon = try await house.start(house.runtime)
            let away = house.home + "/away"
            #expect(rename(house.state, away) == 0)
            var other: Program?
            switch fate {
            case .moved: break
            case .removed: Files.removeTree(away)
            case .replaced: #expect(mkdir(house.state, 0o700) == 0)
            case .served:
                #expect(mkdir(house.state, 0o700) == 0)
                other = try Program([try Binaries.path("dld")], environment: house.environment(nil))
            }
            #expect(try await daemon.waitForEnd(within: 30) == 1, "\(house.log)")
            let errors = house.log.split(separator: "\n").filter {
                $0.contains("no longer the database that this dld opened")
            }
            #expect(errors.count == 1 && errors[0].contains(house.state + "/dld.sqlite"), "\(house.log)")
            #expect(socketInode(house.runtimeSocket) == nil)
            if let other {
                let isServing = await eventually(within: 30) { (try? await house.reaches(other.pid, nil)) == true }
                #expect(isServing)
            } else {
                #expect(socketInode(house.stateSocket) == nil)
            }
            // The next client is served from the folder that is there now.
            let next = try await house.dlctl(
                house.runtime, ["add", "--paused", "-o", house.folder.file("x"), "http://127.0.0.1:9/x"])
            #expect(next.status == 0, "\(next.output)")
            #expect(Files.status(house.state + "/dld.sqlite") != nil)
            #expect(try await house.dlctl(house.runtime, ["stop"]).status == 0)
        }

        /// What it has told clients is in the database when it has ended.
        @Test(.timeLimit(.minutes(2)), arguments: ["dld.sqlite-wal", "lock"])
        func aDaemonWithoutAFileOfItsStateEnds(name: String) async throws {
            let house = try UserHouse()
            let adding = ["add", "--paused", "-o", house.folder.file("x"), "http://127.0.0.1:9/x"]
            let daemon = try await house.start(house.runtime)
            #expect(try await house.dlctl(house.runtime, adding).status == 0)
            #expect(unlink(house.state + "/" + name) == 0)
            #expect(try await daemon.waitForEnd(within: 30) == 1, "\(house.log)")
            #expect(house.log.contains("/\(name) was removed or replaced"), "\(house.log)")
            let next = try await house.dlctl(house.runtime, ["list", "--json"])
            #expect(next.status == 0 && next.output.contains("\"id\":1"), "\(next.output)")
            #expect(try await house.dlctl(house.runtime, ["stop"]).status == 0)
        }
    }

    /// What separates a client from its daemon is named.
    @Suite(.enabled(if: Requirements.isRoot, "other users need root")) struct KeptOut {
        private static let stranger: UInt32 = 54_321

        /// No second daemon replaces one that this user may not use.
        @Test(.timeLimit(.minutes(1)), arguments: ["folder", "socket"])
        func aSocketOfSomebodyElseIsReported(_ barrier: String) async throws {
            let house = try UserHouse()
            let daemon = try await house.start(nil)
            var place = house.home + "/.local has the mode 0700"
            if barrier == "socket" {
                for folder in [house.home + "/.local", house.home + "/.local/state", house.state] {
                    chmod(folder, 0o755)
                }
                place = "it has the mode 0600"
            }
            for command in [["list"], ["start"], ["stop"]] {
                let (status, output) = try await house.program("dlctl", as: Self.stranger, command)
                #expect(status == 3 && !output.contains("starting dld"), "\(output)")
                #expect(
                    output.contains("No connection to \(house.stateSocket): user 54321 may not connect"), "\(output)")
                #expect(output.contains("\(place) and admits user root (0)"), "\(output)")
            }
            #expect(daemon.isRunning)
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["0000", "0500"], ["dld", "dlctl"])
        func aStateFolderThatIsClosedIsNamed(_ mode: String, _ program: String) async throws {
            let house = try UserHouse()
            for folder in ["", "/.local", "/.local/state", "/.local/state/dld"] {
                if !folder.isEmpty { #expect(mkdir(house.home + folder, 0o700) == 0) }
                #expect(chown(house.home + folder, Self.stranger, Self.stranger) == 0)
            }
            #expect(chmod(house.state, mode_t(mode, radix: 8) ?? 0) == 0)
            let arguments = program == "dld" ? [] : ["list"]
            let (status, output) = try await house.program(program, as: Self.stranger, arguments)
            #expect(status == (program == "dld" ? 1 : 3), "\(output)")
            #expect(output.contains(house.state) && output.contains("the mode \(mode)"), "\(output)")
            #expect(output.contains("un chmod u+rwx on"), "\(output)")
            #expect(!output.contains("cannot start /"), "\(output)")
        }

        @Test(.timeLimit(.minutes(1))) func aFolderAboveItThatIsClosedIsNamed() async throws {
            let house = try UserHouse()
            #expect(mkdir(house.home + "/.local", 0o000) == 0)
            for folder in ["", "/.local"] { #expect(chown(house.home + folder, Self.stranger, Self.stranger) == 0) }
            let (status, output) = try await house.program("dld", as: Self.stranger, [])
            #expect(status == 1)
            #expect(output.contains("\(house.home)/.local above the state folder is closed to user 54321"), "\(output)")
        }
    }
}

extension EndToEnd {
    /// Clients wait as long as they say before they give up a daemon that hangs or was stopped. These tests do nothing but
    /// wait, so they run side by side.
    struct PatientClients {
        /// A user who stops a daemon does not want it restarted because a client still waits.
        @Test(.timeLimit(.minutes(3))) func aDaemonThatIsStoppedStaysStopped() async throws {
            let house = try UserHouse()
            let origin = try MisbehavingOrigin()
            origin.serve("/file", .good(Resource(Content(seed: 5, size: 1 << 20)), rate: 1000))
            let adding = ["add", "-o", house.folder.file("file"), origin.url("/file")]
            #expect(try await house.dlctl(nil, adding).status == 0)
            let first = try #require(house.holder)
            let output = house.folder.file("output")
            let follower = try Program(
                [try Binaries.path("dlctl"), "wait", "1"], environment: house.environment(nil), output: output)
            let isFollowing = await eventually(within: 30) {
                guard let text = try? Files.text(output) else { return false }
                return text.contains("1 file: running") || !follower.isRunning
            }
            #expect(isFollowing)
            #expect(try await house.dlctl(nil, ["stop"]).status == 0)
            #expect(try await follower.waitForEnd(within: 120) == 3)
            let text = try Files.text(output)
            #expect(text.contains("waiting 60 s for it") && text.contains("dlctl start"), "\(text)")
            #expect(house.holder == first && !text.contains("starting dld"), "\(text)")
        }

        /// The daemon accepts connections and answers none.
        @Test(.timeLimit(.minutes(2))) func aDaemonThatHangsIsNamed() async throws {
            let house = try UserHouse()
            let daemon = try await house.start(nil)
            daemon.signal(SIGSTOP)
            defer { daemon.signal(SIGCONT) }
            try await withThrowingTaskGroup(of: (status: Int32, output: String).self) { group in
                for command in [["list"], ["stop"], ["wait", "1"], ["watch"], ["events", "--follow"]] {
                    group.addTask { try await house.dlctl(nil, command) }
                }
                for try await (status, output) in group {
                    #expect(status == 3, "\(output)")
                    #expect(output.contains("The daemon at \(house.stateSocket) accepts connections"), "\(output)")
                    #expect(output.contains("for 30 s"), "\(output)")
                }
            }
            daemon.signal(SIGCONT)
            let stopped = try await house.dlctl(nil, ["stop"])
            #expect(stopped.status == 0 && stopped.output.contains("until process \(daemon.pid) "), "\(stopped.output)")
        }

        /// The daemon hangs while clients follow, and sends nothing more.
        @Test(.timeLimit(.minutes(3))) func aDaemonThatHangsLaterIsNamedToo() async throws {
            let house = try UserHouse()
            let daemon = try await house.start(nil)
            defer { daemon.signal(SIGCONT) }
            let origin = try MisbehavingOrigin()
            origin.serve("/file", .good(Resource(Content(seed: 5, size: 1 << 20)), rate: 1000))
            let adding = ["add", "-o", house.folder.file("file"), origin.url("/file")]
            #expect(try await house.dlctl(nil, adding).status == 0)
            let output = house.folder.file("output")
            let followers = try [["wait", "1"], ["watch"], ["events", "--follow"]].map {
                try Program([try Binaries.path("dlctl")] + $0, environment: house.environment(nil), output: output)
            }
            let areFollowing = await eventually(within: 30) {
                let text = (try? Files.text(output)) ?? ""
                return text.ranges(of: "1 file: running").count >= 2 && text.contains("task.progress")
            }
            #expect(areFollowing)
            daemon.signal(SIGSTOP)
            for follower in followers { #expect(try await follower.waitForEnd(within: 120) == 3) }
            let text = try Files.text(output)
            #expect(text.ranges(of: "accepts connections but has not answered").count == followers.count, "\(text)")
        }
    }
}

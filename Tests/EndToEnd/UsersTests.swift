import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// Promise 6, on one system daemon.
    @Suite(.enabled(if: Requirements.isRoot, "a system daemon and other users need root"))
    struct Users {
        private static let anna = IsolationHouse.anna
        private static let bert = IsolationHouse.bert

        /// Two of the house's users, and root.
        private struct House {
            let shared: IsolationHouse
            let root: RPCProbe
            let anna: RPCProbe
            let bert: RPCProbe

            var daemon: DaemonProcess { shared.daemon }
            var origin: MisbehavingOrigin { shared.origin }

            init(hasOpenat2: Bool = true) async throws {
                shared = try await IsolationHouse(hasOpenat2: hasOpenat2)
                root = try await shared.probe(nil)
                anna = try await shared.probe(Users.anna)
                bert = try await shared.probe(Users.bert)
            }

            func home(_ uid: UInt32) -> String { shared.home(uid) }

            func add(_ probe: RPCProbe, _ uid: UInt32, _ name: String, _ more: [String: JSONValue] = [:]) async throws
                -> Int64
            {
                try await probe.add(origin.url("/file"), to: home(uid) + "/" + name, more)
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func theSystemDaemonSendsOnlyTheOwnersFiles(hasOpenat2: Bool) async throws {
            let house = try await House(hasOpenat2: hasOpenat2)
            let server = try UploadServer(PlainRules())
            func spec(_ path: String) -> JSONValue {
                [
                    "kind": "upload", "method": "PUT", "url": .string(server.url("/f")),
                    "source": ["path": .string(path)],
                ]
            }
            // The folder is created when its owner first comes.
            _ = try await house.add(house.anna, Self.anna, "first")
            _ = try await house.add(house.bert, Self.bert, "first")
            try Files.write(house.home(Self.anna) + "/hers", "hers")
            try Files.write(house.home(Self.bert) + "/his", "his")
            symlink(house.home(Self.anna) + "/hers", house.home(Self.bert) + "/link")
            for path in ["/etc/passwd", house.home(Self.anna) + "/hers", house.home(Self.bert) + "/link"] {
                do {
                    let ids = try await house.bert.add([spec(path)])
                    Issue.record("\(path) was added as \(ids)")
                } catch let failure as RPCFailure {
                    #expect(failure.code == "permission.denied", "\(path): \(failure)")
                }
            }
            let id = try await house.bert.add([spec(house.home(Self.bert) + "/his")])[0]
            try await house.bert.wait(for: id, "completed")
            #expect(server.files["/f"]?.bytes == Array("his".utf8))
            await #expect(throws: RPCFailure.self) {
                try await house.anna.call("task.body", ["id": .integer(id)])
            }
        }

        /// The daemon reads the file through its own descriptor, whose name nobody sees.
        @Test(.timeLimit(.minutes(1)))
        func aLocalFileKeepsItsNameAndItsURL() async throws {
            let house = try await House()
            _ = try await house.add(house.bert, Self.bert, "first")
            let url = "file://" + house.home(Self.bert) + "/notes.txt"
            try Files.write(house.home(Self.bert) + "/notes.txt", "his")
            let copies: JSONValue = ["directory": .string(house.home(Self.bert) + "/copies")]
            let id = try await house.bert.add([["url": .string(url), "destination": copies]])[0]
            try await house.bert.wait(for: id, "completed")
            #expect(try Files.read(house.home(Self.bert) + "/copies/notes.txt") == Array("his".utf8))
            #expect(try await house.bert.task(id)["response"]?["url"]?.stringValue == url)
        }

        @Test(.timeLimit(.minutes(1)))
        func neitherSeesNorTouchesTheOthersTasks() async throws {
            let house = try await House()
            let hers = try await house.add(house.anna, Self.anna, "hers", ["startPaused": true])
            let his = try await house.add(house.bert, Self.bert, "his", ["startPaused": true])

            let listed = try await house.bert.call("task.list")["tasks"]?.arrayValue
            #expect(listed?.compactMap { $0["id"]?.integerValue } == [his])
            await #expect(throws: RPCFailure.self) { try await house.bert.task(hers) }
            for method in ["pause", "resume", "cancel", "retry", "remove"] {
                let result = try await house.bert.call("task.\(method)", ["ids": [.integer(hers)]])
                #expect(result["changed"]?.arrayValue?.isEmpty == true)
                #expect(result["skipped"]?.arrayValue?.first?["code"] == "task.not_found")
            }
            for (method, parameters) in [
                ("task.update", ["id": .integer(hers), "priority": 1]), ("task.resumeData", ["id": .integer(hers)]),
            ] as [(String, JSONValue)] {
                await #expect(throws: RPCFailure.self) { try await house.bert.call(method, parameters) }
            }
            for owner in [JSONValue.integer(Int64(Self.anna)), "*"] {
                await #expect(throws: RPCFailure.self) { try await house.bert.call("task.list", ["owner": owner]) }
                await #expect(throws: RPCFailure.self) {
                    try await house.bert.call("events.subscribe", ["owner": owner])
                }
            }
            try await house.bert.call("task.cancel", ["all": true])
            #expect(try await house.anna.state(hers) == "paused")
            #expect(try await house.bert.state(his) == "cancelled")

            let all = try await house.root.call("task.list", ["owner": "*"])["tasks"]?.arrayValue
            #expect(Set(all?.compactMap { $0["id"]?.integerValue } ?? []) == [hers, his])
        }

        @Test(.timeLimit(.minutes(1)))
        func eventsReachTheirOwnerAndRootAlone() async throws {
            let house = try await House()
            let nosy = try await house.daemon.probe(uid: Self.bert)
            try await nosy.call("events.subscribe", ["after": "start"])
            let root = try await house.daemon.probe()
            try await root.call("events.subscribe", ["after": "start", "owner": "*"])

            let hers = try await house.add(house.anna, Self.anna, "hers")
            try await house.anna.wait(for: hers, "completed")
            let his = try await house.add(house.bert, Self.bert, "his")

            let seen = try await nosy.events(until: "task.completed")
            #expect(seen.compactMap { $0["task"]?.integerValue }.allSatisfy { $0 == his })
            let seenByRoot = try await root.events(until: "task.completed")
            #expect(seenByRoot.contains { $0["task"]?.integerValue == hers })
            let stored = try await house.bert.storedEvents()
            #expect(stored.compactMap { $0["task"]?.integerValue }.allSatisfy { $0 == his })
        }

        @Test(.timeLimit(.minutes(1)))
        func theirSessionsAreTheirOwn() async throws {
            let house = try await House()
            try await house.anna.call("session.open", ["id": "photos"])
            await #expect(throws: RPCFailure.self) { try await house.bert.call("session.get", ["id": "photos"]) }
            let sessions = try await house.bert.call("session.list")["sessions"]?.arrayValue ?? []
            #expect(!sessions.contains { $0["id"] == "photos" })
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func theDeliveredFileIsItsOwners(hasOpenat2: Bool) async throws {
            let house = try await House(hasOpenat2: hasOpenat2)
            let hers = try await house.add(house.anna, Self.anna, "sub/hers")
            try await house.anna.wait(for: hers, "completed")
            let path = house.home(Self.anna) + "/sub/hers"
            #expect(try await readable(path, by: Self.anna, house))
            #expect(try await !readable(path, by: Self.bert, house))
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func pathsOutsideTheOwnFolderAreRefused(hasOpenat2: Bool) async throws {
            let house = try await House(hasOpenat2: hasOpenat2)
            // The first tasks create the folders.
            try await house.anna.wait(for: try await house.add(house.anna, Self.anna, "a"), "completed")
            try await house.bert.wait(for: try await house.add(house.bert, Self.bert, "b"), "completed")
            let home = house.home(Self.bert)
            symlink(house.home(Self.anna), home + "/link")
            symlink(house.home(Self.anna) + "/a", home + "/file")
            symlink("/etc", home + "/etc")

            let outside = [
                house.home(Self.anna) + "/x", home + "/../\(Self.anna)/x", home + "/link/x", home + "/etc/x", "/tmp/x",
                house.daemon.stateFolder + "/dld.sqlite",
            ]
            for path in outside {
                #expect(
                    await refusal { try await house.bert.add(house.origin.url("/f"), to: path) } == "permission.denied")
            }
            let readings = [house.home(Self.anna) + "/a", home + "/file", home + "/etc/passwd", "/etc/shadow"]
            for path in readings {
                #expect(
                    await refusal { try await house.bert.add("file://" + path, to: home + "/copy") }
                        == "permission.denied")
                #expect(
                    await refusal {
                        try await house.bert.add(house.origin.url("/f"), to: home + "/copy", ["caFile": .string(path)])
                    } == "permission.denied")
                #expect(
                    await refusal {
                        try await house.bert.add(house.origin.url("/f"), to: home + "/copy", ["netrc": .string(path)])
                    } == "permission.denied")
            }
            #expect(!Files.names(in: home).contains("copy"))
            #expect(Files.names(in: house.home(Self.anna)) == ["a"])
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func aLinkPutThereAfterwardsIsNotFollowed(hasOpenat2: Bool) async throws {
            let house = try await House(hasOpenat2: hasOpenat2)
            let id = try await house.add(house.bert, Self.bert, "sub/file", ["startPaused": true])
            let home = house.home(Self.bert)
            rmdir(home + "/sub")
            let trap = try TemporaryFolder()
            symlink(trap.path, home + "/sub")
            try await house.bert.control("resume", id)
            try await house.bert.wait(for: id, "failed", "waiting")
            #expect(Files.names(in: trap.path).isEmpty)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [true, false])
        func theLogSaysHowFoldersAreOpened(hasOpenat2: Bool) async throws {
            let house = try await House(hasOpenat2: hasOpenat2)
            #expect(house.daemon.log.contains("by=walk") == !hasOpenat2)
            #expect(house.daemon.log.contains("by=openat2") == hasOpenat2)
        }

        @Test(.timeLimit(.minutes(1)))
        func theirFoldersAreThereWhenTheyFirstAsk() async throws {
            let house = try await House()
            let info = try await house.anna.call("daemon.info")
            #expect(info["userDirectory"]?.stringValue == house.home(Self.anna))
            #expect(Files.exists(house.home(Self.anna)))
            let id = try await house.anna.add([["url": .string(house.origin.url("/named"))]])[0]
            try await house.anna.wait(for: id, "completed")
            #expect(Files.names(in: house.home(Self.anna)) == ["named"])
        }

        @Test(.timeLimit(.minutes(1)))
        func othersMayNotStopTheDaemonsSettings() async throws {
            let house = try await House()
            #expect(
                await refusal { try await house.bert.call("settings.set", ["maximumConcurrentTasks": 1]) }
                    == "permission.denied")
            try await house.root.call("settings.set", ["maximumConcurrentTasks": 7])
        }

        /// Each queued task says which slots it waits for. Another user's task waits for none of them.
        @Test(.timeLimit(.minutes(1)))
        func oneUsersSlowTasksKeepNobodyWaiting() async throws {
            let house = try await House()
            let other = try MisbehavingOrigin()
            let slow = Behaviour.stalling(.version(1, size: 4 << 20), after: 1 << 20)
            for origin in [house.origin, other] { origin.serveEverything(slow) }
            house.origin.serve("/quick", .good(.version(2, size: 1000)))
            try await house.root.call(
                "settings.set", ["maximumConcurrentTasks": 6, "maximumConcurrentTasksPerHost": 4])
            try await house.anna.call(
                "session.open", ["id": "narrow", "configuration": ["maximumConcurrentTasks": 1]])
            func add(_ origin: MisbehavingOrigin, _ count: Int, _ name: String, session: String? = nil) async throws
                -> [Int64]
            {
                try await house.anna.add(
                    (0..<count).map { number in
                        [
                            "url": .string(origin.url("/\(name)\(number)")),
                            "destination": ["path": .string(house.home(Self.anna) + "/\(name)\(number)")],
                        ]
                    }, session: session)
            }
            func wait(_ id: Int64, for reason: String) async throws {
                let isTold = try await eventually { try await house.anna.task(id)["reason"]?.stringValue == reason }
                #expect(isTold, "\(reason)")
            }
            let narrow = try await add(other, 2, "narrow", session: "narrow")
            try await wait(narrow[1], for: "session")
            try await wait(try await add(house.origin, 5, "host")[4], for: "hostSlots")
            try await wait(try await add(other, 3, "any")[2], for: "slots")
            let quick = try await house.bert.add(
                house.origin.url("/quick"), to: house.home(Self.bert) + "/quick", ["priority": "low"])
            try await house.bert.wait(for: quick, "completed")
            try await house.root.call("settings.set", ["maximumConcurrentTasksPerUser": 2])
            let more = try await add(other, 1, "more")[0]
            try await wait(more, for: "user")
            #expect(try await house.anna.task(more)["explanation"]?.stringValue?.contains("PerUser") == true)
        }

        /// The code of a call's refusal; nil if the call succeeds.
        private func refusal<T>(_ body: () async throws -> T) async -> String? {
            do {
                _ = try await body()
                return nil
            } catch {
                return (error as? RPCFailure)?.code ?? "\(error)"
            }
        }

        private func readable(_ path: String, by uid: UInt32, _ house: House) async throws -> Bool {
            try await Program.run([
                "setpriv", "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", "cat", path,
            ]).status == 0
        }
    }
}

import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Serving {
    struct Control {
        private static let size = 8 << 20
        private let resource = Resource.version(1, size: Control.size)

        @Test(.timeLimit(.minutes(1)))
        func pauseStopsTrafficAndResumeGoesOnThere() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            #expect(try await scene.probe.control("pause", id))
            let paused = try await scene.probe.wait(for: id, "paused")
            #expect(await eventually { scene.origin.requests("/file").count == 1 })
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            let requests = scene.origin.requests("/file")
            #expect(requests.count == 2)
            #expect(Int64(requests[1].rangeStart ?? 0) >= paused["bytesReceived"]?.integerValue ?? .max)
        }

        @Test(.timeLimit(.minutes(1)))
        func pausedTasksStayPausedAcrossAKill() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let id = try await scene.add("/file", to: "file", ["startPaused": true])
            scene = try await scene.restarted()
            #expect(try await scene.probe.state(id) == "paused")
            #expect(scene.origin.requests().isEmpty)
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.wait(for: id, "completed")
        }

        @Test(.timeLimit(.minutes(1)))
        func cancelCanKeepThePartAndRetryGoesOn() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            #expect(try await scene.probe.control("cancel", id, ["keepPartial": true]))
            #expect(try await scene.probe.state(id) == "cancelled")
            #expect(scene.names.count == 1)
            #expect(try await scene.probe.control("retry", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) > 0)
        }

        /// The task owns the file that it delivered, not the file that has the name now.
        @Test(.timeLimit(.minutes(1)))
        func removingAFileLeavesWhatIsAnother() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            var ids: [Int64] = []
            for name in ["replaced", "linked", "folder", "gone"] {
                let id = try await scene.add("/file", to: name)
                try await scene.probe.wait(for: id, "completed")
                unlink(scene.file(name))
                ids.append(id)
            }
            try Files.write(scene.file("replaced"), "mine")
            #expect(symlink("replaced", scene.file("linked")) == 0)
            #expect(mkdir(scene.file("folder"), 0o755) == 0)
            for id in ids { #expect(try await scene.probe.control("remove", id, ["deleteFile": true])) }
            #expect(Set(scene.names) == ["replaced", "linked", "folder"])
            #expect(try Files.text(scene.file("replaced")) == "mine")
            #expect(await eventually { scene.daemon.log.ranges(of: "a file stays").count == 3 })
        }

        private func removed(_ scene: Scene, _ id: Int64) async throws -> JSONValue? {
            let answer = try await scene.probe.call("task.remove", ["ids": [.integer(id)], "deleteFile": true])
            #expect(answer["changed"] == [.integer(id)])
            return answer["files"]?.arrayValue?.first
        }

        /// Another task has delivered a file of the same length under the same name. Small files come from memory,
        /// large ones from a part file.
        @Test(.timeLimit(.minutes(1)), arguments: [1000, 300_000])
        func removingAFileLeavesWhatAnotherTaskDelivered(_ size: Int) async throws {
            let scene = try await Scene()
            let contents = [Content(seed: 1, size: size), Content(seed: 2, size: size)]
            scene.origin.serve("/0", .good(Resource(contents[0], etag: "\"0\"")))
            scene.origin.serve("/1", .good(Resource(contents[1], etag: "\"1\"")))
            var ids: [Int64] = []
            for path in ["/0", "/1"] {
                ids.append(try await scene.add(path, to: "file", ["conflictPolicy": "overwrite"]))
                try await scene.probe.wait(for: try #require(ids.last), "completed")
            }
            let first = try await removed(scene, ids[0])
            #expect(first?["id"] == .integer(ids[0]) && first?["fate"] == "kept")
            #expect(first?["reason"]?.stringValue?.contains("another file") == true, "\(String(describing: first))")
            #expect(contents[1].matches(scene.file()))
            #expect(try await removed(scene, ids[1]) == ["id": .integer(ids[1]), "fate": "deleted"])
            #expect(scene.names == [])
        }

        /// Edited in place: the same file with the same length and modification time.
        @Test(.timeLimit(.minutes(1)), arguments: [1000, 300_000])
        func removingAFileLeavesWhatItsUserEdited(_ size: Int) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: size)))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let before = try #require(Files.status(scene.file()))
            let file = open(scene.file(), O_WRONLY)
            #expect(pwrite(file, "mine", 4, 17) == 4)
            var times = [before.st_atim, before.st_mtim]
            #expect(futimens(file, &times) == 0 && close(file) == 0)
            #expect(try await removed(scene, id)?["fate"] == "kept")
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileThatIsGoneIsSaidToBeAbsent() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            unlink(scene.file())
            #expect(try await removed(scene, id)?["fate"] == "absent")
        }

        /// What is known of a file outlives the daemon that delivered it.
        @Test(.timeLimit(.minutes(1)), arguments: [1000, 300_000])
        func aFileIsKnownAgainByTheNextDaemon(_ size: Int) async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: size)))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            scene = try await scene.restarted()
            #expect(try await removed(scene, id)?["fate"] == "deleted")
            #expect(scene.names == [])
        }

        @Test(.timeLimit(.minutes(1)))
        func resumingDoesNotBeginBeforeItsTime() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            let begin = Timestamp.now().advanced(by: 3600).description
            let id = try await scene.add("/file", to: "file", ["startPaused": true, "earliestBeginAt": .string(begin)])
            #expect(try await scene.probe.control("resume", id))
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting")
            #expect(task["reason"] == "schedule")
            #expect(task["nextAttemptAt"] == task["earliestBeginAt"])
            #expect(try await scene.probe.control("retry", id), "now, whatever it waits for")
            try await scene.probe.wait(for: id, "completed")
        }

        @Test(.timeLimit(.minutes(1)))
        func removeForgetsTheTaskAndOnRequestItsFile() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            let kept = try await scene.add("/file", to: "kept")
            let deleted = try await scene.add("/file", to: "deleted")
            try await scene.probe.wait(for: kept, "completed")
            try await scene.probe.wait(for: deleted, "completed")
            #expect(try await scene.probe.control("remove", kept))
            #expect(try await scene.probe.control("remove", deleted, ["deleteFile": true]))
            #expect(await eventually { scene.names == ["kept"] })
            await #expect(throws: RPCFailure.self) { try await scene.probe.task(kept) }
            let again = try await scene.add("/file", to: "again")
            #expect(again > deleted)
        }

        /// A task that was removed before the daemon died has its event and is gone. Everything else is still there.
        @Test(.timeLimit(.minutes(2)))
        func removingManyGoesOnAfterAKill() async throws {
            var scene = try await Scene()
            let ids = try await scene.probe.add(
                (0..<3000).map { number in
                    [
                        "url": .string(scene.origin.url("/\(number)")), "startPaused": true,
                        "destination": ["path": .string(scene.file("\(number)"))],
                    ]
                })
            let everything: [String: JSONValue] = ["all": true]
            _ = try await scene.probe.call("task.cancel", .object(everything))
            let head = try await scene.probe.call("daemon.stats")["head"] ?? .null
            let follower = try await scene.daemon.probe()
            _ = try await follower.call("events.subscribe", ["types": ["task.removed"]])
            try await scene.probe.send(line: [
                "jsonrpc": "2.0", "id": 1, "method": "task.remove", "params": .object(everything),
            ])
            _ = try await follower.nextEvent()
            scene = try await scene.restarted()
            let removed = try await removals(scene, after: head)
            let left = try await scene.probe.call("daemon.stats")["tasks"]?["cancelled"]?.integerValue ?? 0
            #expect(!removed.isEmpty)
            #expect(removed.count + Int(left) == 3000)
            _ = try await scene.probe.call("task.remove", .object(everything))
            #expect(try await removals(scene, after: head).sorted() == ids.sorted())
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
        }

        private func removals(_ scene: Scene, after head: JSONValue) async throws -> [Int64] {
            try await scene.probe.storedEvents(after: head, ["types": ["task.removed"]])
                .compactMap { $0["task"]?.integerValue }
        }

        @Test(.timeLimit(.minutes(1)))
        func aNewAddressKeepsTheBytesOnlyOfTheSameVersion() async throws {
            let scene = try await Scene()
            let other = Resource.version(2, size: Self.size)
            scene.origin.serve("/old", .stalling(resource, at: 6 << 20, rate: 4 << 20))
            scene.origin.serve("/same", .good(resource))
            scene.origin.serve("/other", .good(other))
            for (path, expected) in [("/same", resource), ("/other", other)] {
                let name = String(path.dropFirst())
                let id = try await scene.add("/old", to: name)
                try await scene.probe.wait(for: id, bytes: 2 << 20)
                try await scene.probe.call(
                    "task.update", ["id": .integer(id), "url": .string(scene.origin.url(path))])
                try await scene.probe.wait(for: id, "completed")
                #expect(expected.content.matches(scene.file(name)))
            }
            #expect((scene.origin.requests("/same").first?.rangeStart ?? 0) > 0)
        }

        @Test(.timeLimit(.minutes(1)))
        func aClientTokenMakesAddingIdempotent() async throws {
            var scene = try await Scene()
            let spec: [String: JSONValue] = ["clientToken": "once", "startPaused": true]
            let first = try await scene.add("/file", to: "file", spec)
            #expect(try await scene.add("/file", to: "file", spec) == first)
            scene = try await scene.restarted()
            #expect(try await scene.add("/file", to: "file", spec) == first)
        }

        /// A client that missed the first answer may ask late: the file that the task named may be gone, and its
        /// session ended.
        @Test(.timeLimit(.minutes(1)))
        func aTokenIsAnsweredWhateverBecameOfItsTask() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 1000)))
            scene.origin.serve("/upload", .status(201))
            let folder = try scene.folder.folder("gone")
            try Files.write(scene.folder.file("source"), [1, 2, 3])
            func spec(_ token: String, _ more: [String: JSONValue]) -> JSONValue {
                .object(["clientToken": .string(token)].merging(more) { $1 })
            }
            let download = spec(
                "download",
                ["url": .string(scene.origin.url("/file")), "destination": ["path": .string(folder + "/file")]])
            let upload = spec(
                "upload",
                [
                    "kind": "upload", "url": .string(scene.origin.url("/upload")), "uploadProtocol": "put",
                    "source": ["path": .string(scene.folder.file("source"))],
                ])
            try await scene.probe.call("session.open", ["id": "s"])
            let ids = try await scene.probe.add([download, upload], session: "s")
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            Files.removeTree(folder)
            Files.removeTree(scene.folder.file("source"))
            // A new task is checked, and named by its position in the call.
            await #expect {
                try await scene.probe.add([download, upload, spec("new", ["url": "x:"])], session: "s")
            } throws: { error in
                (error as? RPCFailure)?.description.contains("tasks[2].url") == true
            }
            let more = spec("more", ["url": .string(scene.origin.url("/file")), "startPaused": true])
            let added = try await scene.probe.add([upload, more, download], session: "s")
            #expect(added[0] == ids[1] && added[2] == ids[0] && !ids.contains(added[1]))
            try await scene.probe.call("session.invalidate", ["id": "s"])
            #expect(try await scene.probe.add([upload, download], session: "s") == [ids[1], ids[0]])
            #expect(Files.names(in: folder).isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func higherPrioritiesStartFirst() async throws {
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["maximumConcurrentTasks": 1])
            let isAdded = Guarded(false)
            scene.origin.serve("/slow", .pausing(.version(1, size: 1 << 20), after: 1000, until: isAdded))
            scene.origin.serveEverything(.good(.version(2, size: 100)))
            _ = try await scene.add("/slow", to: "slow", ["priority": 1])
            var ids: [Int64] = []
            for (name, priority) in [("low", "low"), ("normal", "normal"), ("high", "high")] {
                ids.append(try await scene.add("/\(name)", to: name, ["priority": .string(priority)]))
            }
            isAdded.withLock { $0 = true }
            for id in ids { try await scene.probe.wait(for: id, "completed") }
            #expect(scene.origin.requests().map(\.request.path) == ["/slow", "/high", "/normal", "/low"])
        }
    }
}

import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    @Suite(.enabled(if: Requirements.mayAdministrate, "mounts and network namespaces need root"))
    struct WaitingForTheMachine {
        @Test(.timeLimit(.minutes(2)), arguments: [true, false])
        func aFullDiskIsWaitedForAndNothingIsFetchedTwice(lengthKnown: Bool) async throws {
            let scene = try await Scene()
            let disk = try SmallDisk(size: "10m")
            try disk.fill("ballast", bytes: 6 << 20)
            let resource = Resource.version(1, size: 8 << 20)
            scene.origin.serve(
                "/file", lengthKnown ? .good(resource) : .chunked(resource, isEnded: true), .good(resource))
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.5])
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/file")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk")
            #expect(task.errorCode == "disk.full")
            let message = task["error", "message"]?.stringValue ?? ""
            #expect(message.contains("\(disk.path) has ") && message.contains(" are needed"), "\(message)")
            #expect(task["error", "details", "free"]?.integerValue != nil)
            let taken = scene.origin.bytesSent("/file")
            unlink(disk.path + "/ballast")
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(disk.path + "/file"))
            if !lengthKnown { #expect(taken > 1 << 20) }
            // Socket buffers and the write that failed.
            #expect(scene.origin.bytesSent("/file") <= Int64(resource.content.size + 8 << 20))
            if !lengthKnown { #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) > 1 << 20) }
        }

        @Test(.timeLimit(.minutes(2)))
        func aDiskWithoutInodesIsWaitedForAndNothingIsFetchedMeanwhile() async throws {
            let scene = try await Scene()
            let disk = try SmallDisk(size: "10m", inodes: 2)
            try Files.write(disk.path + "/last", "")
            scene.origin.serve("/file", .good(.version(1, size: 300_000)))
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.1])
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/file")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk" && task.errorCode == "disk.full")
            let asked = scene.origin.requests("/file").count
            for _ in 0..<300 { #expect(try await scene.probe.state(id) == "waiting") }
            #expect(scene.origin.requests("/file").count == asked)
            unlink(disk.path + "/last")
            try await scene.probe.wait(for: id, "completed")
        }

        /// What the disk reports in advance is not always what it then does. Nobody knows when the problem is over, so
        /// the task is tried again like any other, and shows when.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.has("gcc"), "a preloaded library is C"))
        func aDiskThatRefusesWhatItHasRoomForIsNotTriedWithoutEnd() async throws {
            let folder = try TemporaryFolder()
            let library = try await Program.preloadable("refusing", in: folder)
            let scene = try await Scene(environment: ["LD_PRELOAD": library])
            scene.origin.serve("/file", .good(.version(1, size: 4 << 20)))
            let task = try await waitsForAnAttempt(scene, scene.file())
            #expect(task.errorCode == "disk.full")
            #expect(scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileSystemThatTakesNoFileIsNotTriedAgain() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 4 << 20)))
            let id = try await scene.probe.add(scene.origin.url("/file"), to: "/proc/dld-takes-no-file")
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "destination.bad_path")
            #expect(task["error", "message"]?.stringValue?.contains("choose another destination") == true, "\(task)")
            #expect(scene.origin.requests("/file").count == 1)
        }

        /// Adds a download that its disk refuses, and returns after several checks of the disks.
        private func waitsForAnAttempt(_ scene: Scene, _ path: String) async throws -> JSONValue {
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.1])
            let id = try await scene.probe.add(
                scene.origin.url("/file"), to: path, ["retry": ["firstDelay": 86_400, "longestDelay": 86_400]])
            try await scene.probe.wait(for: id, "waiting")
            // Another task waits for room, and continues when a check of the disks finds some.
            try await scene.probe.call("settings.set", ["minimumFreeSpace": .integer(1 << 50)])
            scene.origin.serve("/other", .good(.version(1, size: 1000)))
            let other = try await scene.probe.add(scene.origin.url("/other"), to: scene.file("other"))
            #expect(try await scene.probe.wait(for: other, "waiting")["reason"] == "disk")
            try await scene.probe.call("settings.set", ["minimumFreeSpace": 0])
            #expect(
                try await eventually {
                    try await scene.probe.storedEvents(["tasks": [.integer(other)], "types": ["task.started"]]).count
                        > 1
                })
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting" && task["reason"] == "retry" && task["attempts"] == 1, "\(task)")
            #expect(task["nextAttemptAt"]?.stringValue != nil, "\(task)")
            return task
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileSizeLimitIsNamed() async throws {
            let limited = try await DaemonProcess.started(wrapper: ["prlimit", "--fsize=33554432:33554432"])
            let (origin, folder) = (try MisbehavingOrigin(), try TemporaryFolder())
            origin.serve("/long", .good(.version(1, size: 40 << 20)))
            origin.serve("/unknown", .chunked(.version(1, size: 40 << 20), isEnded: true))
            let probe = try await limited.probe()
            for path in ["/long", "/unknown"] {
                let id = try await probe.add(origin.url(path), to: folder.file("file"))
                let task = try await probe.wait(for: id, "failed")
                #expect(task.errorCode == "destination.not_writable", "\(task)")
                #expect(task["error", "message"]?.stringValue?.contains("ulimit -f") == true, "\(task)")
            }
            #expect(limited.isRunning)
        }

        /// The reserve for the state is not the problem then.
        @Test(.timeLimit(.minutes(1)))
        func aFileSizeLimitBelowTheReserveIsNamed() async throws {
            let limited = try await DaemonProcess.started(wrapper: ["prlimit", "--fsize=4194304:4194304"])
            let folder = try TemporaryFolder()
            let probe = try await limited.probe()
            let refusal = try await #require(throws: RPCFailure.self) {
                _ = try await probe.add("http://127.0.0.1:9/file", to: folder.file("file"))
            }
            #expect(refusal.code == "limit.reached" && refusal.message.contains("ulimit -f"), "\(refusal)")
        }

        @Test(.timeLimit(.minutes(1)))
        func aFullStateFolderRefusesAddsAndRecoversAlone() async throws {
            let disk = try SmallDisk(size: "48m")
            let daemon = try await DaemonProcess.started(stateFolder: disk.path + "/state")
            let origin = try MisbehavingOrigin()
            origin.serveEverything(.good(.version(1, size: 1000)))
            let folder = try TemporaryFolder()
            let probe = try await daemon.probe()
            let before = try await probe.add(origin.url("/a"), to: folder.file("a"), ["startPaused": true])
            try fillUp(disk)

            var refused: String?
            // Every add needs a little more. The last kilobytes and the reserve must not accept adds forever.
            for batch in 0..<500 where refused == nil {
                let specs = (0..<200).map { number -> JSONValue in
                    [
                        "url": .string(origin.url("/x")), "startPaused": true,
                        "description": .string(String(repeating: "d", count: 200)),
                        "destination": ["path": .string(folder.file("\(batch)-\(number)"))],
                    ]
                }
                do {
                    _ = try await probe.add(specs)
                } catch let failure as RPCFailure {
                    refused = failure.code
                }
            }
            #expect(refused == "disk.full")
            #expect(try await probe.state(before) == "paused")
            // Reported once when it begins, however often it occurs, and once when it is over.
            #expect(daemon.log.ranges(of: "the state folder is full").count == 1, "\(daemon.log.suffix(2000))")
            #expect(!daemon.log.contains("the state folder has room again"))
            unlink(disk.path + "/ballast")
            var last = ""
            let recovered = await eventually(within: 30, every: 0.2) {
                do {
                    _ = try await probe.add(origin.url("/b"), to: folder.file("b"))
                    return true
                } catch {
                    last = "\(error)"
                    return false
                }
            }
            #expect(recovered, "\(last) \(daemon.log.suffix(2000))")
            #expect(daemon.log.ranges(of: "the state folder has room again").count == 1)
            try await probe.control("resume", before)
            try await probe.wait(for: before, "completed")
        }

        /// On btrfs, every page that is written again needs room, including those of mapped files, which get SIGBUS.
        @Test(
            .timeLimit(.minutes(2)),
            .enabled(if: CrashableDisk.isPossible(.btrfs), "mounts need root, and mkfs.btrfs"))
        func aFullDiskThatCopiesOnWriteEndsNoDaemon() async throws {
            let disk = try await CrashableDisk.make(.btrfs, megabytes: 256)
            let daemon = try await DaemonProcess.started(stateFolder: disk.path + "/state")
            let pid = daemon.pid
            let origin = try MisbehavingOrigin()
            let resource = Resource.version(1, size: 48 << 20)
            origin.serve("/file", .good(resource))
            let probe = try await daemon.probe()
            let file = disk.path + "/file"
            let id = try await probe.add(origin.url("/file"), to: file, ["rateLimit": 8_000_000])
            try await probe.wait(for: id, bytes: 4 << 20)
            // Received bytes claim their offset, questions read the index of the log, and commits write it.
            try disk.fillUp("ballast")
            let isTold = await eventually {
                guard let task = try? await probe.task(id) else { return false }
                if task["state"] != "running" || task["bytesReceived"]?.integerValue ?? 0 > 16 << 20 { return true }
                // The attempt is over, and its end waits for room in the store.
                return task["rate"] == 0 && daemon.log.contains("the state folder is full")
            }
            #expect(isTold, "\(daemon.log.suffix(2000))")
            unlink(disk.path + "/ballast")
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(file))
            #expect(daemon.isRunning && daemon.pid == pid, "\(daemon.log.suffix(2000))")
        }

        /// Takes almost all of the space.
        private func fillUp(_ disk: SmallDisk) throws {
            var room = statvfs()
            guard statvfs(disk.path, &room) == 0 else { throw SupportError("statvfs: errno \(errno)") }
            try disk.fill("ballast", bytes: max(0, Int(room.f_bavail * room.f_frsize) - (1 << 20)))
        }

        @Test(.timeLimit(.minutes(1)))
        func anUnpluggedTargetIsWaitedForAndNotRecreated() async throws {
            let scene = try await Scene()
            let disk = try SmallDisk(size: "10m")
            let target = try scene.folder.folder("target")
            try await Program.require(["mount", "--bind", disk.path, target])
            defer { umount2(target, Int32(MNT_DETACH)) }
            let resource = Resource.version(1, size: 1 << 20)
            scene.origin.serve("/file", .good(resource))
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.5])
            let id = try await scene.probe.add(
                scene.origin.url("/file"), to: target + "/sub/file", ["startPaused": true])
            try await Program.require(["umount", target])
            try await scene.probe.control("resume", id)
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk")
            #expect(Files.names(in: target).isEmpty)
            try await Program.require(["mount", "--bind", disk.path, target])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(disk.path + "/sub/file"))
        }

        @Test(.timeLimit(.minutes(2)))
        func aLinkThatGoesDownAndUpCostsNothingButTime() async throws {
            let network = try await NetworkNamespace()
            let origin = try MisbehavingOrigin(host: network.hostAddress)
            let folder = try TemporaryFolder()
            let daemon = try await DaemonProcess.started(wrapper: network.wrapper)
            let probe = try await daemon.probe()
            let resource = Resource.version(1, size: 16 << 20)
            origin.serve("/file", .stalling(resource, at: 12 << 20, rate: 4 << 20), .good(resource))
            let id = try await probe.add(origin.url("/file"), to: folder.file("file"))
            try await probe.wait(for: id, bytes: 4 << 20)
            try await network.setLink(up: false)
            let task = try await probe.wait(for: id, "waiting")
            #expect(task["reason"] == "network")
            try await network.setLink(up: true)
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(folder.file("file")))
            #expect((origin.requests("/file").last?.rangeStart ?? 0) >= 4 << 20)
            #expect(origin.bytesSent("/file") <= Int64(resource.content.size + 8 << 20))
        }

        @Test(.timeLimit(.minutes(1)))
        func withoutAnyNetworkTheLoopbackStillWorks() async throws {
            let network = try await NetworkNamespace()
            try await network.setLink(up: false)
            let folder = try TemporaryFolder()
            let daemon = try await DaemonProcess.started(wrapper: network.wrapper)
            let probe = try await daemon.probe()
            let away = try await probe.add("http://192.0.2.1/file", to: folder.file("away"))
            let task = try await probe.wait(for: away, "waiting")
            #expect(task["reason"] == "network")
            let here = try await probe.add("http://127.0.0.1:9/file", to: folder.file("here"), Scene.quickRetry)
            #expect(try await probe.wait(for: here, "waiting").errorCode == "network.connect")
        }
    }
}

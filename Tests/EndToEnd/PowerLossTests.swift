import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Surviving {
    /// Promises 1 to 4 when the machine loses power: the state folder and the destination are on one disk that is cut
    /// off.
    @Suite(.enabled(if: CrashableDisk.isPossible, "loop mounts need root"))
    struct PowerLoss {
        private static let size = 48 << 20
        private static let rate = 12 << 20

        @Test(.timeLimit(.minutes(3)))
        func whatWasAnsweredIsThereAndTheFileIsWhole() async throws {
            let disk = try await CrashableDisk.make(megabytes: 256)
            let origin = try MisbehavingOrigin()
            let resource = Resource.version(1, size: Self.size)
            // More than is awaited before a cut, but never everything.
            let given = Guarded(Self.size / 8 * 3)
            origin.serve(
                "/file", .choose { _ in .stalling(resource, at: given.withLock { $0 }, rate: Self.rate) })
            let daemon = try await DaemonProcess.started(stateFolder: disk.path + "/state")
            var probe = try await daemon.probe()
            let id = try await probe.add(origin.url("/file"), to: disk.path + "/out/file", Scene.quickRetry)
            var acknowledged = [id]
            for cut in 1...3 {
                try await probe.wait(for: id, bytes: Self.size / 4 * cut)
                acknowledged += try await probe.add(
                    (0..<20).map { number in
                        [
                            "url": .string(origin.url("/never")), "startPaused": true,
                            "destination": ["path": .string("\(disk.path)/out/\(cut)-\(number)")],
                        ]
                    })
                try disk.cutPower()
                try await daemon.kill()
                given.withLock { $0 = cut < 3 ? $0 + Self.size / 4 : Self.size }
                try await disk.unmount()
                try await disk.mount()
                try await daemon.start()
                probe = try await daemon.probe()
                for known in acknowledged { _ = try await probe.task(known) }
            }
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(disk.path + "/out/file"))
            #expect(Files.names(in: disk.path + "/out") == ["file"])
            // For each cut, two seconds' worth and what was in flight.
            let allowance = 3 * (3 * Self.rate + (8 << 20))
            #expect(origin.bytesSent("/file") <= Int64(Self.size + allowance))
            #expect(origin.requests("/file").dropFirst().contains { ($0.rangeStart ?? 0) > 0 })
            let numbers = try await probe.storedEvents().compactMap { $0["sequence"]?.integerValue }
            #expect(numbers == Array(1...Int64(numbers.count)))
        }

        /// With part files, and from memory.
        @Test(.timeLimit(.minutes(2)), arguments: [300_000, 3_000])
        func aDeliveredFileThatWasAnnouncedIsOnTheDisk(size: Int) async throws {
            let disk = try await CrashableDisk.make(megabytes: 128)
            let origin = try MisbehavingOrigin()
            let resource = Resource.version(1, size: size)
            origin.serveEverything(.good(resource))
            let daemon = try await DaemonProcess.started(stateFolder: disk.path + "/state")
            let probe = try await daemon.probe()
            try await probe.call("events.subscribe", ["after": "start", "types": ["task.completed"]])
            _ = try await probe.add(
                (0..<30).map { number in
                    [
                        "url": .string(origin.url("/\(number)")),
                        "destination": ["path": .string("\(disk.path)/out/\(number)")],
                    ]
                })
            var announced: [String] = []
            while announced.count < 10 {
                announced.append(try #require(try await probe.nextEvent()["file"]?.stringValue))
            }
            try disk.cutPower()
            try await daemon.kill()
            try await disk.unmount()
            try await disk.mount()
            for file in announced { #expect(resource.content.matches(file)) }
            for name in Files.names(in: disk.path + "/out") where !name.hasPrefix(".") {
                #expect(resource.content.matches("\(disk.path)/out/\(name)"))
            }
            try await daemon.start()
            let again = try await daemon.probe()
            let done = try await eventually(within: 60, every: 0.1) {
                try await again.call("daemon.stats")["tasks", "completed"]?.integerValue == 30
            }
            #expect(done)
            #expect(Files.names(in: disk.path + "/out").count == 30)
            for name in Files.names(in: disk.path + "/out") {
                #expect(resource.content.matches("\(disk.path)/out/\(name)"))
            }
        }

        /// The store is on another disk and forgets the task permanently, so nobody would remove a file that came back.
        @Test(.timeLimit(.minutes(1)), arguments: ["cancel", "remove"])
        func aPartThatWasGivenUpDoesNotComeBack(_ end: String) async throws {
            let disk = try await CrashableDisk.make(megabytes: 64)
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(.version(1, size: 4 << 20), at: 1 << 20, rate: 8 << 20))
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/out/file")
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            if end == "remove" { #expect(try await scene.probe.control("cancel", id, ["keepPartial": true])) }
            try await Program.require(["sync", "--file-system", disk.path])
            #expect(Files.names(in: disk.path + "/out").count == 1)
            #expect(try await scene.probe.control(end, id))
            try disk.cutPower()
            try await scene.daemon.kill()
            try await disk.unmount()
            try await disk.mount()
            #expect(Files.names(in: disk.path + "/out") == [])
        }

        /// The task is forgotten, so nobody would delete a file that came back.
        @Test(.timeLimit(.minutes(1)))
        func aDeletedFileDoesNotComeBack() async throws {
            let disk = try await CrashableDisk.make(megabytes: 64)
            let scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 300_000)))
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/out/file")
            try await scene.probe.wait(for: id, "completed")
            try await Program.require(["sync", "--file-system", disk.path])
            #expect(try await scene.probe.control("remove", id, ["deleteFile": true]))
            try disk.cutPower()
            try await scene.daemon.kill()
            try await disk.unmount()
            try await disk.mount()
            #expect(Files.names(in: disk.path + "/out") == [])
        }

        /// The next attempt finds another file under its part file's name, cannot use it, and is the last one.
        @Test(.timeLimit(.minutes(1)))
        func aPartOfNoUseDoesNotComeBack() async throws {
            let disk = try await CrashableDisk.make(megabytes: 64)
            let scene = try await Scene()
            scene.origin.serve(
                "/file", .stalling(.version(1, size: 4 << 20), at: 1 << 20, rate: 8 << 20), .status(404))
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/out/file")
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            try await scene.daemon.kill()
            let part = disk.path + "/out/" + (try #require(Files.names(in: disk.path + "/out").first))
            try await Program.require(["cp", part, part + ".copy"])
            try await Program.require(["mv", part + ".copy", part])
            try await Program.require(["sync", "--file-system", disk.path])
            try await scene.daemon.start()
            let probe = try await scene.daemon.probe()
            _ = try await probe.wait(for: id, "failed")
            try disk.cutPower()
            try await scene.daemon.kill()
            try await disk.unmount()
            try await disk.mount()
            #expect(Files.names(in: disk.path + "/out") == [])
        }

        /// If a copy of the mount survived the cut, the dead file system continued to write to the image.
        @Test(.enabled(if: Requirements.has("unshare")), .timeLimit(.minutes(1)))
        func aDiskThatIsUnmountedIsMountedNowhereElse() async throws {
            let disk = try await CrashableDisk.make(megabytes: 64)
            // As in ip-netns(8).
            let other = try Program(["unshare", "--mount", "--propagation", "slave", "sleep", "60"])
            let seen = { try Files.text("/proc/\(other.pid)/mountinfo").contains(disk.path) }
            let sleeps = try await eventually { try Files.text("/proc/\(other.pid)/comm") == "sleep\n" }
            #expect(sleeps)
            #expect(try seen())
            try disk.cutPower()
            try await disk.unmount()
            #expect(try !seen())
        }
    }
}

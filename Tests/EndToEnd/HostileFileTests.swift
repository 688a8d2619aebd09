import Glibc
import TestSupport
import Testing
import Threading
import TransferModel

extension EndToEnd.Downloading {
    /// Somebody changes names next to ours while a transfer runs. Nothing is followed, opened or replaced that must not
    /// be, and the transfer ends with an explanation or continues when its folder is back.
    struct HostileFiles {
        private static let resource = Resource.version(1, size: 200_000)
        private static let half = 100_000

        /// Half of the body, and the rest after the gate opens; ranges at once.
        private static func halting(_ gate: Guarded<Bool>) -> Behaviour {
            .choose { request in
                guard request.range == nil else { return .good(resource) }
                return Behaviour { _, reply in
                    let bytes = resource.content.bytes
                    try reply.head(200, "OK", [("ETag", resource.etag ?? ""), ("Content-Length", "\(bytes.count)")])
                    try reply.body(bytes.prefix(half))
                    while !gate.withLock({ $0 }) { usleep(5000) }
                    try reply.body(bytes.dropFirst(half))
                }
            }
        }

        private static func part(in folder: String) -> String? {
            Files.names(in: folder).first { $0.hasSuffix(".dldpart") }.map { folder + "/" + $0 }
        }

        // MARK: - The final name

        /// What has the final name when the transfer is complete.
        enum Obstacle: String, CaseIterable {
            case link, danglingLink, fifo, socket, folder

            /// - Parameter victim: the target of a link.
            func put(_ path: String, victim: String) throws {
                let result: Int32
                switch self {
                case .link: result = symlink(victim, path)
                case .danglingLink: result = symlink(victim + "-absent", path)
                case .fifo: result = mkfifo(path, 0o644)
                case .socket: result = mknod(path, S_IFSOCK | 0o644, 0)
                case .folder: result = mkdir(path, 0o755)
                }
                guard result == 0 else { throw SupportError("\(self): errno \(errno)") }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func whatTakesTheNameDuringTheTransferIsNotFollowed() async throws {
            let scene = try await Scene()
            let gate = Guarded(false)
            scene.origin.serveEverything(Self.halting(gate))
            try await scene.probe.call(
                "settings.set", ["maximumConcurrentTasksPerHost": 32, "maximumConcurrentTasks": 32])
            let victim = scene.file("victim")
            try Files.write(victim, "untouched")
            var ids: [String: Int64] = [:]
            for obstacle in Obstacle.allCases {
                for policy in ["rename", "overwrite", "fail"] {
                    let name = "\(obstacle)-\(policy)"
                    try scene.folder.folder(name)
                    ids[name] = try await scene.add(
                        "/" + name, to: name + "/file", ["conflictPolicy": .string(policy), "connections": 1])
                }
            }
            for id in ids.values { try await scene.probe.wait(for: id, bytes: Self.half) }
            for obstacle in Obstacle.allCases {
                for policy in ["rename", "overwrite", "fail"] {
                    try obstacle.put(scene.file("\(obstacle)-\(policy)/file"), victim: victim)
                }
            }
            gate.withLock { $0 = true }
            for (name, id) in ids {
                let task = try await scene.probe.wait(for: id, "completed", "failed")
                let file = scene.file(name + "/file")
                if name.hasSuffix("rename") {
                    #expect(Self.resource.content.matches(file + " (1)"), "\(name): \(task)")
                    #expect(Files.status(file).map { $0.st_mode & S_IFMT != S_IFREG } == true, "\(name)")
                } else if name.hasSuffix("overwrite"), name != "folder-overwrite" {
                    #expect(Self.resource.content.matches(file), "\(name): \(task)")
                    #expect(Files.status(file).map { $0.st_mode & S_IFMT == S_IFREG } == true, "\(name)")
                } else {
                    let code = name == "folder-overwrite" ? "destination.bad_path" : "destination.exists"
                    #expect(task.errorCode == code, "\(name): \(task)")
                    #expect(Files.status(file).map { $0.st_mode & S_IFMT != S_IFREG } == true, "\(name)")
                }
            }
            #expect(try Files.text(victim) == "untouched")
            #expect(!Files.exists(victim + "-absent"))
        }

        // MARK: - The folder

        /// Nothing is delivered through a path that now leads elsewhere. A user's daemon then starts over where the
        /// path leads, as the user would. The system daemon follows no links (`UsersTests`).
        @Test(.timeLimit(.minutes(1)))
        func aFolderThatBecomesALinkGetsTheWholeFileOrNothing() async throws {
            let scene = try await Scene()
            let gate = Guarded(false)
            scene.origin.serve("/file", Self.halting(gate))
            let (folder, away) = (try scene.folder.folder("in"), scene.file("away"))
            let elsewhere = try scene.folder.folder("elsewhere")
            try Files.write(elsewhere + "/file", "untouched")
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.2])
            let id = try await scene.add("/file", to: "in/file")
            try await scene.probe.wait(for: id, bytes: Self.half)
            #expect(rename(folder, away) == 0 && symlink(elsewhere, folder) == 0)
            gate.withLock { $0 = true }
            try await scene.probe.wait(for: id, "completed")
            let waits = try await scene.probe.storedEvents([
                "tasks": [.integer(id)], "types": ["task.waiting"],
            ])
            #expect(waits.first?["reason"] == "retry" && waits.first?.errorCode == "disk.io", "\(waits)")
            #expect(Self.resource.content.matches(elsewhere + "/file (1)"))
            #expect(try Files.text(elsewhere + "/file") == "untouched")
            #expect(!Files.exists(away + "/file"))
        }

        // MARK: - The part file

        /// Meanwhile somebody puts another file, a link or a FIFO in the part file's place, or gives it another name.
        @Test(.timeLimit(.minutes(1)), arguments: ["file", "link", "fifo", "folder", "hard link", "longer"])
        func aPartThatIsNoLongerOursIsLeftAlone(trick: String) async throws {
            let scene = try await Scene()
            let gate = Guarded(false)
            scene.origin.serve("/file", Self.halting(gate))
            let folder = try scene.folder.folder("in")
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.2])
            let id = try await scene.add("/file", to: "in/file")
            try await scene.probe.wait(for: id, bytes: Self.half)
            try await scene.probe.control("pause", id)
            gate.withLock { $0 = true }
            let part = try #require(Self.part(in: folder))
            let victim = scene.file("victim")
            try Files.write(victim, "untouched")
            switch trick {
            case "file":
                #expect(rename(part, scene.file("stolen")) == 0)
                try Files.write(part, [UInt8](repeating: 0, count: Self.half))
            case "link": #expect(rename(part, scene.file("stolen")) == 0 && symlink(victim, part) == 0)
            case "fifo": #expect(unlink(part) == 0 && mkfifo(part, 0o644) == 0)
            case "folder": #expect(unlink(part) == 0 && mkdir(part, 0o755) == 0)
            case "hard link": #expect(link(part, scene.file("stolen")) == 0)
            default: #expect(truncate(part, 1 << 20) == 0)
            }
            try await scene.probe.control("resume", id)
            if trick == "folder" {
                // A folder is never removed: the task reports it, and continues when it is gone.
                let task = try await scene.probe.wait(for: id, "waiting")
                #expect(task["reason"] == "retry" && task.errorCode == "disk.io")
                #expect(rmdir(part) == 0)
            }
            try await scene.probe.wait(for: id, "completed")
            #expect(Self.resource.content.matches(folder + "/file"))
            #expect(try Files.text(victim) == "untouched")
        }

        // MARK: - Resume data

        /// Resume data that its owner has changed names only a part file of a download next to its destination, or is
        /// refused.
        @Test(.timeLimit(.minutes(1)))
        func changedResumeDataReachesNothingElse() async throws {
            let scene = try await Scene()
            let gate = Guarded(false)
            scene.origin.serve("/file", Self.halting(gate))
            let folder = try scene.folder.folder("in")
            let id = try await scene.add("/file", to: "in/file")
            try await scene.probe.wait(for: id, bytes: Self.half)
            let answer = try await scene.probe.call("task.resumeData", ["id": .integer(id)])
            gate.withLock { $0 = true }
            let blob = try #require(answer["resumeData"]?.stringValue)
            let text = String(decoding: Base64Text.decode(blob), as: UTF8.self)
            let part = try #require(Self.part(in: folder))
            let victim = scene.file("victim")
            try Files.write(victim, [UInt8](repeating: 0x76, count: 1 << 20))
            let inode = try #require(Files.status(victim)).st_ino
            let own = try #require(Files.status(part)).st_ino
            let changes: [(String, String)] = [
                (part, victim), (part, "/etc/passwd"), (part, scene.file(".x.s-1.dldpart")),
                (part, folder + "/../victim"),
                ("\"inode\":\(own)", "\"inode\":\(inode)"), ("\"total\":200000", "\"total\":5"),
                ("\"total\":200000", "\"total\":-1"), ("\"version\":1", "\"version\":7"), ("{", "["),
            ]
            for (old, new) in changes {
                let plain = text.replacing("\\/", with: "/")
                #expect(plain.contains(old))
                let changed = Base64Text.encode(Array(plain.replacing(old, with: new, maxReplacements: 1).utf8))
                do {
                    let id = try await scene.probe.add([["resumeData": .string(changed), "conflictPolicy": "rename"]])[
                        0]
                    let task = try await scene.probe.wait(for: id, "completed")
                    #expect(Self.resource.content.matches(task["file"]?.stringValue ?? ""), "\(new)")
                } catch let failure as RPCFailure {
                    #expect(["request.bad_field", "destination.bad_path", "permission.denied"].contains(failure.code))
                }
            }
            #expect(try Files.read(victim) == [UInt8](repeating: 0x76, count: 1 << 20))
            #expect(Files.exists(part))
        }

        // MARK: - Bombs

        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.mayAdministrate, "mounts need root"))
        func aBodyThatUnfoldsWithoutMeasureEndsAtTheDisksRoom() async throws {
            let scene = try await Scene()
            let disk = try SmallDisk(size: "16m")
            // Below the ratio that makes it a bomb.
            var plain = [UInt8](repeating: 0, count: 64 << 20)
            for place in stride(from: 0, to: plain.count, by: 512) { plain[place] = .random(in: 0...255) }
            let coded = try await Packing.pack(plain, "gzip")
            #expect(coded.count > plain.count / Int(Bounds.decodedRatio))
            let bomb = Resource(Content(bytes: coded), etag: "\"bomb\"")
            scene.origin.serve("/bomb", .coded(bomb, "gzip"))
            scene.origin.serve("/file", .good(Self.resource))
            let before = try scene.daemon.residentMemory()
            let id = try await scene.probe.add(scene.origin.url("/bomb"), to: disk.path + "/bomb")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task.errorCode == "disk.full" && task["reason"] == "disk")
            #expect(task["error", "details", "unfolded"]?.integerValue == 64 << 20)
            // The decoded bytes are removed, so others have the space.
            let other = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/file", Scene.quickRetry)
            try await scene.probe.wait(for: other, "completed")
            try await scene.probe.control("cancel", id)
            #expect(await eventually { Files.names(in: disk.path) == ["file"] }, "\(Files.names(in: disk.path))")
            #expect(try scene.daemon.peakMemory() - before < 32 << 20)
        }

        /// For a body without a length and without a validator, no rest could be requested.
        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.mayAdministrate, "mounts need root"),
            arguments: [false, true])
        func whatUnfoldsBeyondTheDiskWaitsForItsRoomAndIsNotFetchedAgain(isSmall: Bool) async throws {
            let scene = try await Scene()
            let disk = try SmallDisk(size: "32m")
            let size = isSmall ? 7 << 20 : 20 << 20
            try disk.fill("ballast", bytes: (isSmall ? 28 : 20) << 20)
            var plain = [UInt8](repeating: 0, count: size)
            if !isSmall { for place in plain.indices where place % 64 == 0 { plain[place] = .random(in: 0...255) } }
            let coded = Resource(Content(bytes: try await Packing.pack(plain, "gzip")), etag: nil)
            scene.origin.serve("/file", .coded(coded, "gzip"))
            try await scene.probe.call("settings.set", ["diskPollInterval": 0.1])
            let id = try await scene.probe.add(scene.origin.url("/file"), to: disk.path + "/file", Scene.quickRetry)
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "disk" && task.errorCode == "disk.full")
            #expect(task["error", "details", "unfolded"]?.integerValue == Int64(size))
            // Another attempt at once comes to the same result.
            try await scene.probe.control("retry", id)
            let again = try await scene.probe.wait(for: id, "waiting")
            #expect(again["reason"] == "disk")
            unlink(disk.path + "/ballast")
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.read(disk.path + "/file") == plain)
            #expect(scene.origin.requests("/file").count == 1)
        }
    }
}

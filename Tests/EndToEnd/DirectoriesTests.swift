import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Remembering {
    /// `directories` of a session.
    struct Directories {
        private static let large = 4 << 20

        private func typed(_ type: String, _ resource: Resource, cutAfter: Int? = nil) -> Behaviour {
            Behaviour { request, reply in
                let bytes = resource.content.bytes
                let start = request.header("Range").flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
                var headers = [
                    ("Content-Type", type), ("ETag", "\"v\""), ("Content-Length", "\(bytes.count - start)"),
                ]
                if start > 0 { headers.append(("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")) }
                try reply.head(start > 0 ? 206 : 200, "OK", headers)
                try reply.body(bytes[start..<(cutAfter ?? bytes.count)])
                if cutAfter != nil { try reply.beSilent() }
            }
        }

        /// A session whose videos go to one folder, and whose images of disks go to another.
        private func open(_ scene: Scene, videos: String? = nil) async throws -> (
            rest: String, videos: String, images: String
        ) {
            let folders = try (
                rest: scene.file("rest"), videos: videos ?? scene.file("new/videos"),
                images: scene.folder.folder("images")
            )
            let rules: JSONValue = [
                ["types": ["video/*"], "directory": .string(folders.videos)],
                ["names": ["*.iso"], "directory": .string(folders.images)],
            ]
            try await scene.probe.call(
                "session.open",
                ["id": "s", "configuration": ["directory": .string(folders.rest), "directories": rules]])
            return folders
        }

        private func add(_ scene: Scene, _ path: String, _ more: [String: JSONValue] = [:]) async throws -> Int64 {
            let spec: [String: JSONValue] = ["url": .string(scene.origin.url(path)), "connections": 1]
            let all = spec.merging(Scene.quickRetry) { $1 }.merging(more) { $1 }
            return try await scene.probe.add([.object(all)], session: "s")[0]
        }

        @Test(.timeLimit(.minutes(1)), arguments: [1000, large])
        func typeAndNameChooseTheFolder(size: Int) async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: size)
            scene.origin.serve("/film.iso", typed("video/mp4; codecs=x", resource))
            scene.origin.serve("/disk.ISO", typed("application/octet-stream", resource))
            scene.origin.serve("/page", typed("text/plain", resource))
            scene.origin.serve("/mine.iso", typed("video/mp4", resource))
            let folders = try await open(scene)
            for (path, folder, name, destination) in [
                ("/film.iso", folders.videos, "film.iso", nil), ("/disk.ISO", folders.images, "disk.ISO", nil),
                ("/page", folders.rest, "page", nil), ("/page", folders.images, "own.iso", ["filename": "own.iso"]),
                ("/mine.iso", scene.file("mine"), "mine.iso", ["directory": .string(scene.file("mine"))]),
            ] as [(String, String, String, JSONValue?)] {
                let id = try await add(scene, path, destination.map { ["destination": $0] } ?? [:])
                let task = try await scene.probe.wait(for: id, "completed")
                #expect(resource.content.matches("\(folder)/\(name)"), "\(task)")
                #expect(task["destination", "directory"] == .string(folder), "\(task)")
            }
            #expect(scene.origin.requests("/film.iso").count == 1)
            #expect(Files.names(in: folders.rest) == ["page"] && Files.names(in: folders.videos) == ["film.iso"])
        }

        /// The part file is resumed after `kill -9`, and moves to another file system.
        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.mayAdministrate, "mounts need root"),
            arguments: [false, true])
        func aPartIsResumedAndMovesToAnotherFileSystem(isKilled: Bool) async throws {
            let disk = try SmallDisk(size: "16m")
            var scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            scene.origin.serve(
                "/film", typed("video/mp4", resource, cutAfter: isKilled ? 3 << 20 : nil), typed("video/mp4", resource))
            let folders = try await open(scene, videos: disk.path)
            let id = try await add(scene, "/film", ["checksum": resource.content.checksum])
            if isKilled {
                try await scene.probe.wait(for: id, bytes: 2 << 20)
                scene = try await scene.restarted()
            }
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(disk.path + "/film"))
            #expect(Files.names(in: folders.rest).isEmpty && Files.names(in: disk.path) == ["film"])
        }

        /// A rule is set while the task runs. Another task has been told to stay where it is.
        @Test(.timeLimit(.minutes(1))) func aLaterRuleCountsForTasksThatNameNoFolder() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            let rest = scene.file("rest")
            try await scene.probe.call("session.open", ["id": "s", "configuration": ["directory": .string(rest)]])
            for path in ["/film", "/stays"] {
                scene.origin.serve(path, typed("video/mp4", resource, cutAfter: 3 << 20), typed("video/mp4", resource))
            }
            let (film, stays) = (try await add(scene, "/film"), try await add(scene, "/stays"))
            for id in [film, stays] { try await scene.probe.wait(for: id, bytes: 2 << 20) }
            try await scene.probe.call(
                "task.update", ["id": .integer(stays), "destination": ["directory": .string(rest)]])
            let folders = try await open(scene)
            for method in ["task.pause", "task.resume"] {
                try await scene.probe.call(method, ["ids": [.integer(film), .integer(stays)]])
            }
            for id in [film, stays] { try await scene.probe.wait(for: id, "completed") }
            #expect(resource.content.matches(folders.videos + "/film"))
            #expect(resource.content.matches(rest + "/stays"))
        }

        /// The part file keeps its bytes if another path names its folder.
        @Test(.timeLimit(.minutes(1)), arguments: ["link", "rest/", "rest/../rest"])
        func theSameFolderMayHaveAnotherPath(path: String) async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            let rest = scene.file("rest")
            try #require(mkdir(rest, 0o700) == 0 && symlink(rest, scene.file("link")) == 0)
            _ = try await open(scene, videos: scene.file(path))
            scene.origin.serve("/film", typed("video/mp4", resource))
            let film = try await add(scene, "/film")
            try await scene.probe.wait(for: film, "completed")
            #expect(resource.content.matches(rest + "/film") && scene.origin.requests("/film").count == 1)
            scene.origin.serve("/cut", typed("text/plain", resource, cutAfter: 3 << 20), typed("text/plain", resource))
            let cut = try await add(scene, "/cut")
            try await scene.probe.wait(for: cut, bytes: 2 << 20)
            try await scene.probe.call(
                "task.update", ["id": .integer(cut), "destination": ["directory": .string(scene.file(path))]])
            for method in ["task.pause", "task.resume"] { try await scene.probe.call(method, ["ids": [.integer(cut)]]) }
            try await scene.probe.wait(for: cut, "completed")
            #expect(resource.content.matches(rest + "/cut"))
            #expect(scene.origin.requests("/cut").last?.header("Range") != nil)
        }

        /// It may be on a disk that is unplugged.
        @Test(.timeLimit(.minutes(1))) func aMissingFolderIsWaitedFor() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            let folders = try await open(scene)
            try #require(rmdir(folders.videos) == 0)
            scene.origin.serve("/film", typed("video/mp4", resource))
            let film = try await add(scene, "/film")
            let waits = try await scene.probe.wait(for: film, "waiting")
            #expect(waits["reason"] == "disk" && Files.names(in: folders.videos).isEmpty, "\(waits)")
            try #require(mkdir(folders.videos, 0o700) == 0)
            try await scene.probe.wait(for: film, "completed")
            #expect(resource.content.matches(folders.videos + "/film") && scene.origin.requests("/film").count == 1)
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.mayAdministrate, "mounts need root"))
        func aFullDiskIsWaitedFor() async throws {
            let disk = try SmallDisk(size: "16m")
            try Files.write(disk.path + "/fill", [UInt8](repeating: 1, count: 14 << 20))
            let scene = try await Scene()
            let resource = Resource.version(1, size: Self.large)
            scene.origin.serve("/film", typed("video/mp4", resource))
            _ = try await open(scene, videos: disk.path)
            let id = try await add(scene, "/film", ["retry": ["attempts": 1]])
            let waits = try await scene.probe.wait(for: id, "waiting")
            #expect(waits["reason"] == "disk" && waits["error", "code"] == "disk.full", "\(waits)")
            try #require(unlink(disk.path + "/fill") == 0)
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(disk.path + "/film") && scene.origin.requests("/film").count == 1)
        }

        @Test(.timeLimit(.minutes(1))) func aRuleIsCheckedLikeADirectory() async throws {
            let scene = try await Scene()
            try Files.write(scene.file("taken"), "")
            for (directory, code) in [(scene.file("taken"), "destination.bad_path"), ("films", "request.bad_field")] {
                let failure = await #expect(throws: RPCFailure.self) {
                    try await scene.probe.call(
                        "session.open",
                        ["id": "s", "configuration": ["directories": [["directory": .string(directory)]]]])
                }
                #expect(
                    failure?.code == code && failure?.field == "configuration.directories[0].directory", "\(directory)")
            }
        }
    }
}

import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// When a destination changes, what exists of the file moves with it, until it is delivered.
    @Suite(.oneDaemon) struct MovedPart {
        private static let size = 4 << 20
        private static let cut = 3 << 20
        private let resource = Resource.version(1, size: MovedPart.size)

        /// Where the file may go: to another name, to another folder, and to another file system.
        enum Elsewhere: CaseIterable { case name, folder, fileSystem }

        private struct Goal {
            let folder: TemporaryFolder
            let name: String
            var file: String { folder.file(name) }
            var names: [String] { Files.names(in: folder.path) }
            var destination: JSONValue { ["path": .string(file)] }
        }

        private func goal(_ elsewhere: Elsewhere, _ scene: Scene) throws -> Goal {
            switch elsewhere {
            case .name: Goal(folder: scene.folder, name: "other")
            case .folder: Goal(folder: try TemporaryFolder(), name: "file")
            case .fileSystem: Goal(folder: try TemporaryFolder(in: "/dev/shm"), name: "file")
            }
        }

        /// A scene with a stalled download that has most of its file.
        private func held() async throws -> (scene: Scene, id: Int64) {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .stalling(resource, at: Self.cut), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: Self.cut)
            return (scene, id)
        }

        private func move(_ scene: Scene, _ id: Int64, _ destination: JSONValue) async throws {
            try await scene.probe.call("task.update", ["id": .integer(id), "destination": destination])
        }

        private func expectWhole(_ scene: Scene, _ id: Int64, at goal: Goal) async throws {
            let task = try await scene.probe.wait(for: id, "completed", "failed")
            #expect(task["state"] == "completed")
            #expect(task["file"] == .string(goal.file))
            #expect(resource.content.matches(goal.file))
            #expect(goal.names == [goal.name])
            if goal.folder !== scene.folder { #expect(scene.names.isEmpty) }
            #expect(scene.origin.requests("/file").last?.rangeStart == Self.cut)
            #expect(try await scene.restartCodes(id) == [])
        }

        @Test(.timeLimit(.minutes(1)), arguments: Elsewhere.allCases)
        func thePartOfAPausedDownloadMovesAtOnce(_ elsewhere: Elsewhere) async throws {
            let (scene, id) = try await held()
            let goal = try goal(elsewhere, scene)
            #expect(try await scene.probe.control("pause", id))
            let part = try #require(scene.names.first)
            try await move(scene, id, goal.destination)
            #expect(goal.names.count == 1)
            #expect(goal.names.first?.hasSuffix(".dldpart") == true)
            #expect(!Files.exists(scene.file(part)))
            #expect(try await scene.probe.control("resume", id))
            try await expectWhole(scene, id, at: goal)
        }

        @Test(.timeLimit(.minutes(1)), arguments: Elsewhere.allCases)
        func aRunningDownloadGoesOnElsewhere(_ elsewhere: Elsewhere) async throws {
            let (scene, id) = try await held()
            let goal = try goal(elsewhere, scene)
            try await move(scene, id, goal.destination)
            try await expectWhole(scene, id, at: goal)
        }

        @Test(.timeLimit(.minutes(1)), arguments: Elsewhere.allCases)
        func aCancelledDownloadThatKeptItsPartGoesOnElsewhere(_ elsewhere: Elsewhere) async throws {
            let (scene, id) = try await held()
            let goal = try goal(elsewhere, scene)
            #expect(try await scene.probe.control("cancel", id, ["keepPartial": true]))
            try await move(scene, id, goal.destination)
            #expect(try await scene.probe.control("retry", id))
            try await expectWhole(scene, id, at: goal)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFolderAloneKeepsTheNameAndANameTheFolder() async throws {
            let (scene, id) = try await held()
            let other = try TemporaryFolder()
            #expect(try await scene.probe.control("pause", id))
            try await move(scene, id, ["filename": "renamed"])
            try await move(scene, id, ["directory": .string(other.path)])
            #expect(try await scene.probe.control("resume", id))
            try await expectWhole(scene, id, at: Goal(folder: other, name: "renamed"))
        }

        /// There and back, and there again: nothing is left on the way.
        @Test(.timeLimit(.minutes(1)))
        func aPartFollowsAsOftenAsItIsAsked() async throws {
            let (scene, id) = try await held()
            let goal = try goal(.fileSystem, scene)
            #expect(try await scene.probe.control("pause", id))
            for destination in [goal.destination, ["path": .string(scene.file())], goal.destination] {
                try await move(scene, id, destination)
            }
            #expect(goal.names.count == 1)
            #expect(scene.names.isEmpty)
            #expect(try await scene.probe.control("resume", id))
            try await expectWhole(scene, id, at: goal)
        }

        /// The bytes have become unreachable, perhaps forever, so the whole file is fetched to the new place.
        @Test(.timeLimit(.minutes(1)))
        func aPartThatIsOutOfReachIsGivenUp() async throws {
            let (scene, id) = try await held()
            let goal = try goal(.folder, scene)
            #expect(try await scene.probe.control("pause", id))
            #expect(rename(scene.folder.path, scene.folder.path + ".away") == 0)
            defer { Files.removeTree(scene.folder.path + ".away") }
            try await move(scene, id, goal.destination)
            #expect(try await scene.probe.control("resume", id))
            #expect(try await scene.probe.wait(for: id, "completed", "failed")["state"] == "completed")
            #expect(resource.content.matches(goal.file))
            #expect(goal.names == ["file"])
        }

        /// What a move left behind while its disk was unavailable is removed when the disk is back.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.mayAdministrate, "mounts need root"))
        func whatIsLeftBehindGoesWhenItsDiskIsBack() async throws {
            let disk = try SmallDisk(size: "16m")
            let place = try TemporaryFolder()
            func attach() { #expect(mount(disk.path, place.path, nil, UInt(MS_BIND), nil) == 0) }
            attach()
            defer { umount2(place.path, Int32(MNT_DETACH)) }
            var scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: Self.cut), .good(resource))
            let id = try await scene.probe.add(scene.origin.url("/file"), to: place.file("file"), Scene.quickRetry)
            try await scene.probe.wait(for: id, bytes: Self.cut)
            #expect(try await scene.probe.control("pause", id))
            #expect(umount2(place.path, Int32(MNT_DETACH)) == 0)
            let goal = try goal(.folder, scene)
            try await move(scene, id, goal.destination)
            #expect(try await scene.probe.control("resume", id))
            try await scene.probe.wait(for: id, "completed")
            #expect(Files.names(in: disk.path).count == 1)
            attach()
            scene = try await scene.restarted()
            #expect(await eventually { Files.names(in: disk.path).isEmpty })
            #expect(goal.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)), arguments: Elsewhere.allCases)
        func aPartThatMovesGoesWithItsTask(_ elsewhere: Elsewhere) async throws {
            let (scene, id) = try await held()
            let goal = try goal(elsewhere, scene)
            #expect(try await scene.probe.control("pause", id))
            try await move(scene, id, goal.destination)
            #expect(try await scene.probe.control("cancel", id))
            #expect(goal.names.isEmpty)
            #expect(scene.names.isEmpty)
        }
    }
}

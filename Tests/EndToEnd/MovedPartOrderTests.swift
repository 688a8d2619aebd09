import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Surviving {
    /// The steps in which a part file follows its task's destination. Their order shows what a power cut may lose, and
    /// a death before each of them shows what a kill may leave.
    struct MovedPartOrder {
        private static let size = 3 << 20
        private static let cut = 5 << 19
        private let resource = Resource.version(1, size: MovedPartOrder.size)

        /// A rename keeps the file; a copy makes another one.
        enum Way: CaseIterable { case rename, copy }

        /// A paused download that has most of its file, and a daemon whose steps are recorded.
        private final class Stage {
            var scene: Scene
            let id: Int64
            let goal: TemporaryFolder
            private let log: String
            private let tools: TemporaryFolder

            /// - Parameter death: the number of the step before which the daemon dies; 0 for none.
            init(_ way: Way, _ resource: Resource, death: Int) async throws {
                let (tools, goal) = (try TemporaryFolder(), try TemporaryFolder(in: way == .copy ? "/dev/shm" : nil))
                let log = tools.file("steps")
                let scene = try await Scene(environment: [
                    "LD_PRELOAD": try await Program.preloadable("steps", in: tools), "STEPS_LOG": log,
                    "STEPS_NAME": goal.path + "/.other.", "STEPS_DEATH": "\(death)",
                ])
                scene.origin.serve("/file", .stalling(resource, at: MovedPartOrder.cut), .good(resource))
                id = try await scene.add()
                try await scene.probe.wait(for: id, bytes: MovedPartOrder.cut)
                #expect(try await scene.probe.control("pause", id))
                (self.tools, self.goal, self.log, self.scene) = (tools, goal, log, scene)
            }

            /// Requests another destination, and waits until the part file is there and nothing of it is left
            /// elsewhere, or until the daemon is dead.
            /// - Returns: whether the daemon is alive.
            func move() async throws -> Bool {
                try Files.write(log, [])
                let destination: JSONValue = ["path": .string(goal.file("other"))]
                _ = try? await scene.probe.call("task.update", ["id": .integer(id), "destination": destination])
                #expect(await eventually { !self.scene.daemon.isRunning || self.isOver })
                return scene.daemon.isRunning
            }

            /// The checkpoint is stored, and then that nothing is left.
            private var isOver: Bool {
                let steps = steps
                guard let naming = steps.firstIndex(of: "name") else { return false }
                return steps[naming...].count { $0 == "sync store" } >= 2
            }

            /// The daemon dies or is dead, and the next one is not recorded.
            func restart() async throws {
                unlink(log)
                scene = try await scene.restarted()
            }

            private var lines: [[Substring]] {
                ((try? Files.text(log)) ?? "").split(separator: "\n").map { $0.split(separator: " ", maxSplits: 2) }
            }

            /// The steps in words: what is done, and to what.
            var steps: [String] {
                lines.compactMap { line in
                    guard line.count == 3 else { return nil }
                    let path = String(line[2])
                    if line[0] == "name" { return "name" }
                    if path.hasSuffix("-wal") { return "\(line[0]) store" }
                    let place = path.hasPrefix(goal.path) ? "new" : path.hasPrefix(scene.folder.path) ? "old" : nil
                    return place.map { "\(line[0]) \($0) \(path.hasSuffix(".dldpart") ? "part" : "folder")" }
                }
            }

            /// The bytes written to the copy.
            var copied: Int {
                lines.filter { $0.count == 3 && $0[0] == "write" && $0[2].hasPrefix(goal.path) }
                    .reduce(0) { $0 + (Int($1[1]) ?? 0) }
            }
        }

        @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
        func nothingIsUsedBeforeItIsDurableNorRemovedWhileItIsUsed(_ way: Way) async throws {
            let stage = try await Stage(way, resource, death: 0)
            #expect(try await stage.move())
            let steps = stage.steps
            var seen: [String] = []
            for step in steps where step != "sync store" && step != seen.last { seen.append(step) }
            switch way {
            case .copy:
                #expect(
                    seen == [
                        "create new part", "write new part", "sync new part", "sync new folder", "name",
                        "unlink old part", "sync old folder",
                    ])
                #expect(stage.copied == Self.cut)
            case .rename: #expect(seen == ["rename old part", "sync new folder", "sync old folder", "name"])
            }
            // The plan for the part file is stored before the file is touched, and its new place before the original is
            // removed.
            let first = try #require(steps.firstIndex { !["sync store", "name"].contains($0) })
            #expect(steps[..<first].contains("sync store"))
            let naming = try #require(steps.firstIndex(of: "name"))
            let removal = steps.firstIndex(of: "unlink old part") ?? steps.endIndex
            #expect(naming < removal && steps[naming..<max(naming, removal)].contains("sync store"))
        }

        /// Death before the first step, the second, and so on: the next daemon has every byte and leaves none behind.
        @Test(.timeLimit(.minutes(5)), arguments: Way.allCases)
        func deathBeforeAnyStepLosesNothingAndLeavesNothing(_ way: Way) async throws {
            var step = 0
            var isAlive = false
            while !isAlive {
                step += 1
                let stage = try await Stage(way, resource, death: step)
                isAlive = try await stage.move()
                try await stage.restart()
                try await expectWhole(stage, "step \(step)")
            }
            // A copy of three pieces, or a rename.
            #expect(step > (way == .copy ? 9 : 5))
        }

        private func expectWhole(_ stage: Stage, _ comment: Comment) async throws {
            let (probe, goal) = (stage.scene.probe, stage.goal)
            // The change itself may not have been stored.
            if try await probe.task(stage.id)["destination", "path"]?.stringValue != goal.file("other") {
                let destination: JSONValue = ["path": .string(goal.file("other"))]
                try await probe.call("task.update", ["id": .integer(stage.id), "destination": destination])
            }
            #expect(try await probe.control("resume", stage.id), comment)
            let task = try await probe.wait(for: stage.id, "completed", "failed")
            #expect(task["state"] == "completed", comment)
            #expect(resource.content.matches(goal.file("other")), comment)
            #expect(stage.scene.origin.requests("/file").last?.rangeStart == Self.cut, comment)
            #expect(try await stage.scene.restartCodes(stage.id) == [], comment)
            #expect(await eventually { stage.scene.names.isEmpty && Files.names(in: goal.path) == ["other"] }, comment)
        }
    }
}

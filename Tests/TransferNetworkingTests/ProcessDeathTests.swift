import Foundation
import TestSupport
import Testing

extension TransferNetworkingSuite {
    /// Kills the program, the daemon, or both, at each step of a background download, and then runs the program until the
    /// file is there. The program is the example of a background download.
    @Suite struct ProcessDeathTests {
        enum Victim: CaseIterable, Sendable { case program, daemon, both }
        /// What the program has printed last when it happens.
        enum Step: String, CaseIterable, Sendable {
            case begun = "begins", arriving = "written", offered, taken, told = "complete"
        }

        private let resource = Resource.version(6, size: 400_000)

        /// A server, and the program that downloads from it: started with one folder, run after run.
        private struct Stage {
            let scene: LibraryScene
            let folder: TemporaryFolder
            var file: String { folder.file("file") }

            init(_ resource: Resource) async throws {
                scene = try await LibraryScene()
                folder = try TemporaryFolder()
                scene.origin.serveEverything(.good(resource, rate: 400_000))
            }

            func program(_ run: String, _ options: [String] = []) throws -> Program {
                let environment = Program.plainEnvironment.merging([
                    "DLD_SOCKET": scene.daemon.socket, "HOME": folder.path, "XDG_DATA_HOME": folder.file("data"),
                ]) { $1 }
                let arguments = [try Binaries.path("background")] + options + ["matrix", scene.origin.url("/a"), file]
                return try Program(arguments, environment: environment, output: folder.file(run))
            }

            func lines(_ run: String) -> [String] {
                ((try? Files.text(folder.file(run))) ?? "").split(separator: "\n").map(String.init)
            }

            func reaches(_ step: Step, _ run: String) async -> Bool {
                await eventually(within: 30) { lines(run).contains { $0.hasPrefix(step.rawValue) } }
            }
        }

        @Test(arguments: Victim.allCases, Step.allCases)
        func theFileIsOfferedOnceAndNothingIsLost(_ victim: Victim, _ step: Step) async throws {
            let stage = try await Stage(resource)
            let first = try stage.program("first")
            #expect(await stage.reaches(step, "first"))
            if victim != .daemon { try await first.killNow() }
            if victim != .program { try await stage.scene.daemon.restart() }
            let last = victim == .daemon ? first : try stage.program("second")
            #expect(try await last.waitForEnd(within: 60) == 0)
            #expect(resource.content.matches(stage.file))
            let lines = stage.lines("first") + stage.lines("second")
            // It may die between the move of the file and the line about it.
            #expect(
                lines.count { $0 == "taken" } == 1 || step == .offered && lines.contains { $0.hasPrefix("offered") })
            #expect(lines.contains("complete 0"))
            #expect(!lines.contains { $0.hasPrefix("not taken") })
            let data = try FileManager.default.subpathsOfDirectory(atPath: stage.folder.file("data"))
            #expect(!data.contains { $0.hasSuffix(".tmp") })
        }

        /// `sessionSendsLaunchEvents`: nobody but the daemon runs the program again.
        @Test func theDaemonStartsTheProgramThatHasNews() async throws {
            let stage = try await Stage(resource)
            let first = try stage.program("first", ["--launch"])
            #expect(await stage.reaches(.arriving, "first"))
            try await first.killNow()
            #expect(await eventually(within: 60) { resource.content.matches(stage.file) })
            #expect(!stage.lines("first").contains("taken"))
            // Everything was told, and the launched program has ended its session.
            let isOver = await eventually(within: 30) {
                (try? await stage.scene.daemon.dlctl(["list", "--all", "--json"]).output.contains("\"completed\""))
                    == false
            }
            #expect(isOver)
            #expect(stage.scene.origin.requests("/a").count == 1)
        }

        @Test func aSecondProcessIsRefused() async throws {
            let stage = try await Stage(resource)
            let first = try stage.program("first")
            #expect(await stage.reaches(.arriving, "first"))
            #expect(try await stage.program("second").waitForEnd(within: 30) == 0)
            #expect(stage.lines("second").contains("invalid -996"))
            #expect(stage.lines("second").contains("complete -996"))
            #expect(try await first.waitForEnd(within: 60) == 0)
            #expect(stage.lines("first").contains("taken"))
            #expect(stage.scene.origin.requests("/a").count == 1)
        }

        /// What has ended in the meantime is offered, and not fetched again.
        @Test func aDownloadThatEndsWithoutItsProgramIsOfferedToTheNext() async throws {
            let stage = try await Stage(resource)
            let first = try stage.program("first")
            #expect(await stage.reaches(.arriving, "first"))
            try await first.killNow()
            let hasEnded = await eventually(within: 30) {
                (try? await stage.scene.daemon.dlctl(["list", "--all", "--json"]).output.contains("\"completed\""))
                    ?? false
            }
            #expect(hasEnded)
            #expect(try await stage.program("second").waitForEnd(within: 60) == 0)
            let lines = stage.lines("second")
            #expect(!lines.contains { $0.hasPrefix("begins") })
            #expect(lines.contains("taken") && lines.contains("complete 0"))
            #expect(resource.content.matches(stage.file))
            #expect(stage.scene.origin.requests("/a").count == 1)
        }
    }
}

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

        @Test(arguments: Victim.allCases, Step.allCases)
        func theFileIsOfferedOnceAndNothingIsLost(_ victim: Victim, _ step: Step) async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.good(resource, rate: 400_000))
            let folder = try TemporaryFolder()
            let file = folder.file("file")
            let arguments = [try Binaries.path("background"), "matrix", scene.origin.url("/a"), file]
            let environment = Program.plainEnvironment.merging([
                "DLD_SOCKET": scene.daemon.socket, "HOME": folder.path, "XDG_DATA_HOME": folder.file("data"),
            ]) { $1 }
            let first = try Program(arguments, environment: environment, output: folder.file("first"))
            let reached = await eventually(within: 30) {
                (try? Files.text(folder.file("first")))?.split(separator: "\n").contains { $0.hasPrefix(step.rawValue) }
                    ?? false
            }
            #expect(reached)
            if victim != .daemon { try await first.killNow() }
            if victim != .program { try await scene.daemon.restart() }
            var outputs = ["first"]
            if victim == .daemon {
                #expect(try await first.waitForEnd(within: 60) == 0)
            } else {
                let second = try Program(arguments, environment: environment, output: folder.file("second"))
                outputs.append("second")
                #expect(try await second.waitForEnd(within: 60) == 0)
            }
            #expect(resource.content.matches(file))
            let lines = try outputs.flatMap { try Files.text(folder.file($0)).split(separator: "\n").map(String.init) }
            #expect(
                lines.filter { $0 == "taken" }.count == 1
                    || step == .offered && lines.contains { $0.hasPrefix("offered") })
            #expect(lines.contains { $0 == "complete 0" })
            #expect(!lines.contains { $0.hasPrefix("not taken") })
            let left = try FileManager.default.subpathsOfDirectory(atPath: folder.file("data")).filter {
                $0.hasSuffix(".tmp")
            }
            #expect(left.isEmpty)
        }

        /// What has ended in the meantime is offered, and not fetched again.
        @Test func aDownloadThatEndsWithoutItsProgramIsOfferedToTheNext() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.good(resource, rate: 400_000))
            let folder = try TemporaryFolder()
            let file = folder.file("file")
            let arguments = [try Binaries.path("background"), "later", scene.origin.url("/a"), file]
            let environment = Program.plainEnvironment.merging([
                "DLD_SOCKET": scene.daemon.socket, "HOME": folder.path, "XDG_DATA_HOME": folder.file("data"),
            ]) { $1 }
            let first = try Program(arguments, environment: environment, output: folder.file("first"))
            #expect(
                await eventually(within: 30) { (try? Files.text(folder.file("first")))?.contains("written") ?? false })
            try await first.killNow()
            let hasEnded = await eventually(within: 30) {
                (try? await scene.daemon.dlctl(["list", "--all", "--json"]).output.contains("\"completed\"")) ?? false
            }
            #expect(hasEnded)
            let next = try await Program.run(arguments, environment: environment, limit: 60)
            #expect(next.status == 0)
            #expect(!next.output.contains("begins"))
            #expect(next.output.contains("taken\ncomplete 0\n"))
            #expect(resource.content.matches(file))
            #expect(scene.origin.requests("/a").count == 1)
        }
    }
}

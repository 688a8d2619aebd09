import Foundation
import TestSupport
import Testing

extension TransferNetworkingSuite {
    /// The programs of Examples/URLSession, as a reader runs them.
    @Suite struct ExampleTests {
        private static let echo = Behaviour { request, reply in
            try reply.head(200, "OK", [("Content-Length", "\(request.body.count)")])
            try reply.body(request.body[...])
        }

        private func environment(_ scene: LibraryScene) -> [String: String] {
            Program.plainEnvironment.merging(["DLD_SOCKET": scene.daemon.socket, "HOME": scene.daemon.folder.path]) {
                $1
            }
        }

        @Test func ordinaryCodeRuns() async throws {
            let scene = try await LibraryScene()
            let secret = Data("anna:secret".utf8).base64EncodedString()
            scene.origin.serve("/data", .good(.version(7, size: 1000)))
            scene.origin.serve("/echo", Self.echo)
            scene.origin.serve(
                "/private",
                .choose { request in
                    request.header("Authorization") == "Basic \(secret)"
                        ? .status(200, body: "private") : .status(401, [("WWW-Authenticate", "Basic realm=\"vault\"")])
                })
            scene.origin.serve("/moved", .redirect(to: "/data"))
            scene.origin.serve("/cookie", .status(200, [("Set-Cookie", "a=1; Path=/")], body: "ok"))
            scene.origin.serve("/cookies", .choose { .status(200, body: $0.header("Cookie") ?? "-") })
            let run = try await Program.run(
                [try Binaries.path("ordinary"), scene.origin.url("")], environment: environment(scene), limit: 60)
            #expect(run.status == 0)
            #expect(
                run.output.split(separator: "\n") == [
                    "data 200 1000", "async 200 1000", "upload hello", "download 1000", "challenge vault 0",
                    "response 200",
                    "bytes 7", "complete true", "redirect 302 /data", "response 200", "bytes 1000", "complete true",
                    "cookies a=1", "error -1004", "invalid",
                ])
        }

        @Test func ordinaryCodeCompilesAgainstFoundationNetworkingToo() async throws {
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("Examples/URLSession/Ordinary/Ordinary.swift")
            // The compiler of this build.
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let compiled = try await Program.run(
                [
                    "env", "swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-D",
                    "FOUNDATION_NETWORKING",
                    source.path,
                ], environment: Program.plainEnvironment.merging(["PATH": path]) { $1 }, limit: 120)
            #expect(compiled.status == 0, "\(compiled.output)")
        }

        @Test func anUploadIsSentAndItsStatusIsTheProgramsOwn() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/good", Self.echo)
            scene.origin.serve("/bad", .status(403))
            let file = scene.daemon.folder.file("source")
            try Data(Content(seed: 8, size: 100_000).bytes).write(to: URL(fileURLWithPath: file))
            for (path, status, last) in [("/good", 0, "complete 200"), ("/bad", 1, "complete 403")] {
                let run = try await Program.run(
                    [try Binaries.path("upload"), file, scene.origin.url(path)], environment: environment(scene),
                    limit: 60)
                #expect(run.status == Int32(status))
                #expect(run.output.split(separator: "\n").last.map(String.init) == last)
            }
            #expect(scene.origin.requests("/good").first?.request.body.count == 100_000)
        }
    }
}

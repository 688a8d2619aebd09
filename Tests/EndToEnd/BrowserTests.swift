import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Cookies of real browsers. The browsers take 600 MB, so nothing installs them for these tests.
    struct Browsers {
        private func scene() async throws -> Scene {
            let scene = try await Scene()
            scene.origin.serve(
                "/page",
                .status(
                    200, [("Set-Cookie", "sid=of-the-browser; Max-Age=99999; Path=/"), ("Content-Type", "text/html")],
                    body: "ok"))
            scene.origin.serve("/file", .status(200, [], body: "answer"))
            return scene
        }

        /// Lets a browser visit the page. Then a task must bring the cookie that the browser has kept.
        private func expectCookie(_ scene: Scene, from source: String, of browser: [String]) async throws {
            let environment = Program.plainEnvironment.merging(["HOME": scene.folder.path]) { $1 }
            let (ended, said) = try await Program.run(browser, environment: environment, limit: 90)
            #expect(ended == 0 && !scene.origin.requests("/page").isEmpty, "\(said)")
            let (status, output) = try await scene.daemon.dlctl([
                "add", "-w", "--cookies", source, "-o", scene.file(), scene.origin.url("/file"),
            ])
            #expect(status == 0, "\(output)")
            #expect(scene.origin.requests("/file").map { $0.header("Cookie") } == ["sid=of-the-browser"])
        }

        @Test(.timeLimit(.minutes(2)), .enabled(if: Program.find("firefox-esr") != nil))
        func firefox() async throws {
            let scene = try await scene()
            let profile = try scene.folder.folder("profile")
            try await expectCookie(
                scene, from: "firefox:\(profile)",
                of: [
                    "firefox-esr", "--headless", "--no-remote", "--profile", profile, "--screenshot",
                    scene.file("shot.png"), scene.origin.url("/page"),
                ])
        }

        /// Without a keyring, as in a container, Chromium encrypts its values with a well-known key.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Program.find("chromium") != nil))
        func chromium() async throws {
            let scene = try await scene()
            let folder = scene.file("chromium")
            try await expectCookie(
                scene, from: "chromium:\(folder)/Default",
                of: [
                    "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--password-store=basic",
                    "--user-data-dir=\(folder)", "--dump-dom", scene.origin.url("/page"),
                ])
        }
    }
}

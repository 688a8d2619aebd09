import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// `dlctl fetch` with a real daemon.
    struct Fetching {
        private let content = Content(seed: 71, size: (2 << 20) + 17)

        @Test(.timeLimit(.minutes(1)))
        func anAnswerGoesToAFileAsItIs() async throws {
            let scene = try await Scene()
            scene.origin.serve("/page", .good(Resource(content)))
            let fetched = try await scene.daemon.dlctl(["fetch", "-o", scene.file("page"), scene.origin.url("/page")])
            #expect(fetched.status == 0 && fetched.output.isEmpty, "\(fetched)")
            #expect(content.matches(scene.file("page")))
            // The answer is kept with the task.
            let again = try await scene.daemon.dlctl(["fetch", "1", "-o", scene.file("again")])
            #expect(again.status == 0, "\(again)")
            #expect(content.matches(scene.file("again")))
        }

        @Test(.timeLimit(.minutes(1)))
        func codedBytesAreNotTakenForTheAnswer() async throws {
            let scene = try await Scene()
            let coded = Content(bytes: try await Packing.pack(content.bytes, "br"))
            scene.origin.serve("/page", .coded(Resource(coded), "br"))
            let decoded = try await scene.daemon.dlctl(["fetch", "-o", scene.file("page"), scene.origin.url("/page")])
            #expect(decoded.status == 0 && decoded.output.isEmpty, "\(decoded)")
            #expect(content.matches(scene.file("page")))
            let wanted = try await scene.daemon.dlctl([
                "fetch", "-H", "Accept-Encoding: br", "-o", scene.file("wanted"), scene.origin.url("/page"),
            ])
            #expect(wanted.status == 0 && wanted.output.isEmpty, "\(wanted)")
            #expect(coded.matches(scene.file("wanted")))
            // This coding was not requested, and cannot be decoded here.
            scene.origin.serve("/page", .coded(Resource(coded), "compress"))
            let refused = try await scene.daemon.dlctl(["fetch", scene.origin.url("/page")])
            #expect(refused.status == 1 && refused.output.contains("coded (compress)"), "\(refused)")
        }

        @Test(.timeLimit(.minutes(1)))
        func ctrlCLeavesNothingBehind() async throws {
            let scene = try await Scene()
            let nobody = try ListeningSocket.freePort()
            let output = scene.file("output")
            let fetching = try Program(
                [
                    try Binaries.path("dlctl"), "--socket", scene.daemon.socket, "--no-start", "fetch",
                    "--retry", "0", "http://127.0.0.1:\(nobody)/",
                ], output: output)
            let said = { (try? Files.text(output)) ?? "" }
            #expect(await eventually { said().contains("network.connect: ") })
            #expect(said().contains(" Ctrl-C cancels the request.\n"))
            fetching.signal(SIGINT)
            #expect(try await fetching.waitForEnd() == 130)
            #expect(said().hasSuffix("interrupted; the request is cancelled\n"))
            let tasks = try await scene.probe.call("task.list")
            #expect(tasks["tasks"]?.arrayValue?.isEmpty == true)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatTheServerSaysOfAnErrorIsPrinted() async throws {
            let scene = try await Scene()
            scene.origin.serve("/x", .status(404, [("Content-Type", "text/plain")], body: "there is no x\n"))
            let fetched = try await scene.daemon.dlctl(["fetch", scene.origin.url("/x")])
            #expect(fetched.status == 1)
            #expect(fetched.output.contains("http.status: "))
            #expect(fetched.output.hasSuffix("there is no x\n"))
            // The same into a file, as in curl.
            let saved = try await scene.daemon.dlctl(["fetch", "-o", scene.file("x"), scene.origin.url("/x")])
            #expect(saved.status == 1 && saved.output.hasPrefix("dlctl: http.status: "), "\(saved)")
            #expect(!saved.output.contains("there is no x"))
            #expect(try Files.text(scene.file("x")) == "there is no x\n")
            for words in [["-f"], ["--fail", "-o", scene.file("y")]] {
                let silent = try await scene.daemon.dlctl(["fetch"] + words + [scene.origin.url("/x")])
                #expect(silent.status == 1 && !silent.output.contains("there is no x"), "\(silent)")
            }
            #expect(!scene.names.contains("y"))
            let nobody = try ListeningSocket.freePort()
            let refused = try await scene.daemon.dlctl([
                "fetch", "-o", scene.file("z"), "http://127.0.0.1:\(nobody)/",
            ])
            #expect(refused.status == 1 && refused.output.hasPrefix("dlctl: network.connect: "), "\(refused)")
            #expect(!scene.names.contains("z"))
        }

        @Test(.timeLimit(.minutes(1)))
        func itTriesOnceUnlessToldOtherwise() async throws {
            let scene = try await Scene()
            scene.origin.serve("/busy", .status(503, [], body: "later\n"))
            #expect(try await scene.daemon.dlctl(["fetch", scene.origin.url("/busy")]).status == 1)
            #expect(scene.origin.requests("/busy").count == 1)
            #expect(try await scene.daemon.dlctl(["fetch", "--retry", "2", scene.origin.url("/busy")]).status == 1)
            #expect(scene.origin.requests("/busy").count == 3)
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// What programs that watch a daemon learn: daemon.metrics and `dlctl metrics`.
    struct Monitoring {
        private func ends(_ metrics: JSONValue) -> Set<String> {
            Set(
                (metrics["finished"]?.arrayValue ?? []).map { end in
                    let words = ["kind", "outcome", "code"].map { end[$0]?.stringValue ?? "-" }
                    return words.joined(separator: " ") + " \(end["count"]?.integerValue ?? 0)"
                })
        }

        private func total(_ metrics: JSONValue, _ histogram: String) -> Int64 {
            metrics[histogram, "count"]?.integerValue ?? 0
        }

        @Test(.timeLimit(.minutes(1)))
        func endsAnswersAndSyncsAreCountedUntilTheDaemonEnds() async throws {
            var scene = try await Scene()
            scene.origin.serve("/first", .redirect(to: "/second"))
            scene.origin.serve("/second", .status(503), .good(.version(1, size: 1 << 20)))
            scene.origin.serve("/absent", .status(404))
            scene.origin.serve("/cached", .status(200, [("Cache-Control", "max-age=600")], body: "x"))
            let first = try await scene.probe.call("daemon.metrics")
            #expect(first["finished"] == [] && first["responses", "2xx"] == 0)
            let good = try await scene.add("/first", to: "a")
            let bad = try await scene.add("/absent", to: "b")
            let paused = try await scene.add("/second", to: "c", ["startPaused": true])
            try await scene.probe.wait(for: good, "completed")
            try await scene.probe.wait(for: bad, "failed")
            try await scene.probe.control("cancel", paused)
            // The second of these is answered from the cache as soon as it is added.
            try await scene.probe.call("session.open", ["id": "c", "kind": "default"])
            for _ in 0..<2 {
                let id = try await scene.probe.add(
                    [["kind": "data", "url": .string(scene.origin.url("/cached"))]], session: "c")[0]
                try await scene.probe.wait(for: id, "completed")
            }
            let metrics = try await scene.probe.call("daemon.metrics")
            #expect(
                ends(metrics) == [
                    "download completed - 1", "download failed http.status 1", "download cancelled - 1",
                    "data completed - 2",
                ])
            // The second attempt was redirected again.
            #expect(metrics["responses"] == ["1xx": 0, "2xx": 2, "3xx": 2, "4xx": 1, "5xx": 1])
            #expect(total(metrics, "storeCommits") > total(first, "storeCommits"))
            // The file and its folder, at least.
            #expect(total(metrics, "fileSyncs") >= total(first, "fileSyncs") + 2)
            scene = try await scene.restarted()
            let anew = try await scene.probe.call("daemon.metrics")
            #expect(anew["finished"] == [] && anew["responses", "2xx"] == 0)
        }

        @Test(.timeLimit(.minutes(1)))
        func attributesAreKeptShownAndReplaced() async throws {
            var scene = try await Scene()
            scene.origin.serve("/file", .good(.version(1, size: 100)))
            let attributes: JSONValue = ["aria2.gid": "0123456789abcdef", "note": "top secret? no"]
            let id = try await scene.add("/file", to: "a", ["attributes": attributes])
            try await scene.probe.wait(for: id, "completed")
            scene = try await scene.restarted()
            #expect(try await scene.probe.task(id)["attributes"] == attributes)
            let listed = try await scene.probe.call("task.list", ["ids": [.integer(id)]])
            #expect(listed["tasks"]?.arrayValue?.first?["attributes"] == attributes)
            let update = try await scene.daemon.dlctl(["update", "\(id)", "--attribute", "x=1=2", "--attribute", "y="])
            #expect(update.status == 0)
            #expect(try await scene.probe.task(id)["attributes"] == ["x": "1=2", "y": ""])
            let shown = try await scene.daemon.dlctl(["show", "\(id)"]).output
            #expect(shown.contains("x=1=2"), "\(shown)")
            _ = try await scene.daemon.dlctl(["update", "\(id)", "--attribute", ""])
            #expect(try await scene.probe.task(id)["attributes"] == nil)
            #expect(try await scene.daemon.dlctl(["add", "--attribute", "=x", "http://h/"]).status == 2)
            let added = try await scene.daemon.dlctl([
                "add", "--paused", "--attribute", "k=v", scene.origin.url("/file"), "-o", scene.file("b"),
            ])
            let new = try #require(Int64(added.output.split(separator: "\n").first ?? ""))
            #expect(try await scene.probe.task(new)["attributes"] == ["k": "v"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aFileForPrometheusIsReplacedWholeOrLeftAlone() async throws {
            let scene = try await Scene()
            let file = scene.file("dld.prom")
            try Files.write(file, "old")
            chmod(file, 0o600)
            let printed = try await scene.daemon.dlctl(["metrics"])
            #expect(printed.status == 0 && printed.output.contains("\ndld_up 1\n"), "\(printed)")
            #expect(!printed.output.contains("\nprocess_"))
            #expect(try await scene.daemon.dlctl(["metrics", "--output", file]).status == 0)
            let text = try Files.text(file)
            #expect(text.contains("\ndld_up 1\n") && text.hasSuffix("\n") && scene.names == ["dld.prom"])
            var status = stat()
            #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644)
            #expect(try await scene.daemon.dlctl(["metrics", "--output", scene.file("no/where")]).status == 1)
            #expect(try await scene.daemon.terminate() == 0)
            for arguments in [["metrics"], ["metrics", "--output", file]] {
                // It starts none, although it may.
                let away = try await Program.run(
                    [try Binaries.path("dlctl")] + arguments,
                    environment: Program.plainEnvironment.merging(
                        ["HOME": scene.folder.path, "DLD_SOCKET": scene.daemon.socket]) { $1 })
                #expect(away.status == 3 && away.output.contains("no daemon answers"), "\(away)")
            }
            #expect(try Files.text(file) == text && scene.names == ["dld.prom"])
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("promtool")))
        func prometheusHasNothingToSay() async throws {
            let scene = try await Scene()
            scene.origin.serve("/absent", .status(404))
            try await scene.probe.wait(for: try await scene.add("/absent"), "failed")
            let file = scene.file("dld.prom")
            #expect(try await scene.daemon.dlctl(["metrics", "--output", file]).status == 0)
            let (status, output) = try await Program.run(["sh", "-c", "promtool check metrics <\"$0\"", file])
            #expect(status == 0 && output.isEmpty, "\(output)")
        }
    }
}

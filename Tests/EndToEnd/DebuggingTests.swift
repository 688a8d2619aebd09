import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// docs/debugging.md: a task can be followed through the log.
    @Suite struct Debugging {
        @Test(.timeLimit(.minutes(1)))
        func theLogFollowsOneTask() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 1000)))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let lines = scene.daemon.log.split(separator: "\n").filter { $0.contains("task=\(id)") }
            for word in ["started", "exchange", "answered", "completed"] {
                #expect(lines.contains { $0.contains(word) }, "no \(word) in \(lines)")
            }
            #expect(!lines.contains { $0.contains("curl=") }, "libcurl is silent unless it is asked")
        }

        @Test(.timeLimit(.minutes(1)))
        func theLogSaysWhereADownloadResumes() async throws {
            let scene = try await Scene()
            let resource = Resource.version(1, size: 1 << 20)
            scene.origin.serve("/file", .good(resource, cutAfter: 400_000), .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let lines = scene.daemon.log.split(separator: "\n").filter {
                $0.contains("task=\(id)") && $0.contains("exchange")
            }
            #expect(lines.count == 2 && !lines[0].contains("range="), "\(lines)")
            #expect(lines.last?.contains("range=\"bytes=400000-\"") == true, "\(lines)")
        }

        /// The files in it are private, but their names and sizes are not.
        @Test(.timeLimit(.minutes(1)))
        func aStateFolderThatOthersCanListIsReported() async throws {
            let scene = try await Scene()
            let warning = "other users can list the state folder"
            try #require(chmod(scene.daemon.stateFolder, 0o711) == 0)
            let closed = try await scene.restarted()
            #expect(!closed.daemon.log.contains(warning))
            try #require(chmod(scene.daemon.stateFolder, 0o755) == 0)
            let open = try await closed.restarted()
            #expect(open.daemon.log.split(separator: warning, omittingEmptySubsequences: false).count == 2)
            #expect(open.daemon.log.contains("mode=0755"))
        }

        /// The target of a redirect is masked like each other URL in the log: no value of its query is shown.
        @Test(.timeLimit(.minutes(1)))
        func redirectTargetsAreMasked() async throws {
            let scene = try await Scene()
            let target = "/other?page=two&token=Tops3cret;x=Oth3rs3cret#Thirds3cret"
            scene.origin.serve("/file", .redirect(to: target))
            scene.origin.serve("/other", .good(.version(1, size: 1000)))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let lines = scene.daemon.log.split(separator: "\n").filter { $0.contains("task=\(id)") }
            let line = try #require(lines.first { $0.contains("redirected") })
            #expect(line.contains("/other?page=***&token=***"), "\(line)")
            for secret in ["two", "Tops3cret", "Oth3rs3cret", "Thirds3cret"] {
                #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
            }
        }

        /// libcurl's own lines appear at `trace` only, and secrets are masked in them too.
        @Test(.timeLimit(.minutes(1)))
        func traceHasLibcurlsWordsWithoutSecrets() async throws {
            let scene = try await Scene(["--log-level", "trace"])
            scene.origin.serveEverything(.good(.version(1, size: 1000)))
            let secret = "Tops3cret"
            let id = try await scene.probe.add(
                "\(scene.origin.url("/file"))?token=\(secret)", to: scene.file(),
                ["headers": [["Cookie", .string("k=\(secret)")], ["X-Plain", "seen"]], "bearer": .string(secret)])
            try await scene.probe.wait(for: id, "completed")
            let lines = scene.daemon.log.split(separator: "\n").filter { $0.contains("task=\(id)") }
            #expect(lines.contains { $0.contains("GET /file?token=***") && $0.contains("curl=sent") }, "\(lines)")
            #expect(lines.contains { $0.contains("X-Plain: seen") })
            #expect(lines.contains { $0.contains("HTTP/1.1 200") && $0.contains("curl=received") })
            #expect(lines.contains { $0.contains("curl=note") })
            #expect(!scene.daemon.log.contains(secret))
        }
    }
}

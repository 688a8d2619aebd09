import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Promise 4: a file is complete, verified and under its name, or not there.
    @Suite(.oneDaemon) struct DeliveryOfFiles {
        private let resource = Resource.version(1, size: 50_000)

        @Test(.timeLimit(.minutes(1)))
        func anExistingFileIsNeverReplacedUnlessAsked() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(resource))
            for name in ["a.tar.gz", "b", "c"] { try Files.write(scene.file(name), "mine") }
            let renamed = try await scene.add("/file", to: "a.tar.gz")
            let replaced = try await scene.add("/file", to: "b", ["conflictPolicy": "overwrite"])
            let refused = try await scene.add("/file", to: "c", ["conflictPolicy": "fail"])
            let task = try await scene.probe.wait(for: renamed, "completed")
            #expect(task["file"]?.stringValue == scene.file("a (1).tar.gz"))
            try await scene.probe.wait(for: replaced, "completed")
            #expect(try await scene.probe.wait(for: refused, "failed").errorCode == "destination.exists")
            #expect(try Files.text(scene.file("a.tar.gz")) == "mine")
            #expect(try Files.text(scene.file("c")) == "mine")
            #expect(resource.content.matches(scene.file("a (1).tar.gz")))
            #expect(resource.content.matches(scene.file("b")))
        }

        /// Another program of the user writes to the part file.
        @Test(.timeLimit(.minutes(1)))
        func aPartThatGrewIsFetchedAgain() async throws {
            let scene = try await Scene.shared()
            let resource = Resource.version(1, size: 3 << 20)
            scene.origin.serve("/file", .good(resource))
            let id = try await scene.add("/file", to: "file", ["rateLimit": 250_000])
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            let part = try #require(scene.names.first { $0.hasSuffix(".dldpart") })
            let descriptor = open(scene.file(part), O_WRONLY)
            #expect(pwrite(descriptor, "more", 4, 5 << 20) == 4)
            close(descriptor)
            try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func theStateFolderIsNoDestination() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(resource))
            #expect(symlink(scene.daemon.stateFolder, scene.file("link")) == 0)
            for path in [scene.daemon.stateFolder + "/dld.sqlite", scene.file("link/dld.sqlite")] {
                let failure = await #expect(throws: RPCFailure.self) {
                    try await scene.probe.add(
                        scene.origin.url("/file"), to: path, ["conflictPolicy": "overwrite"])
                }
                #expect(failure?.code == "destination.bad_path")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func nothingIsUnderTheFinalNameBeforeTheEnd() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .stalling(.version(1, size: 4 << 20), at: 2 << 20))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            let names = scene.names
            #expect(names.count == 1)
            #expect(names.allSatisfy { $0.hasPrefix(".") })
            #expect(try await scene.probe.control("cancel", id))
            #expect(await eventually { scene.names.isEmpty })
            #expect(try await scene.probe.state(id) == "cancelled")
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [
                ("attachment; filename=\"report.pdf\"", "report.pdf"),
                ("attachment; filename=\"../../etc/passwd\"", "passwd"),
                ("attachment; filename=\"/etc/cron.d/evil\"", "evil"),
                ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
                ("attachment; filename=\"plain.txt\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
                ("inline", "file"),
                // Combining marks after a separator or a dot, or ignorable characters between two.
                ("attachment; filename*=UTF-8''..%2F%E2%80%8D..%2F%E2%80%8Detc", "etc"),
                ("attachment; filename*=UTF-8''a%2F%CC%81b", "\u{301}b"),
                ("attachment; filename*=UTF-8''.%CC%81bashrc", "\u{301}bashrc"),
                ("attachment; filename=\"f\u{fc}r.txt\"", "f\u{fc}r.txt"),
                ("attachment; filename*=iso-8859-1''f%FCr.txt", "f\u{fc}r.txt"),
                ("attachment; filename*=UTF-8''f%FCr.txt", "f\u{fc}r.txt"),
                ("attachment; filename*=UTF-8''gpj%E2%80%AE.exe", "gpj.exe"),
                ("attachment; filename*=UTF-8''e%CC%81.txt", "e\u{301}.txt"),
                ("attachment; filename=\"NUL\"", "_NUL"),
                (
                    "attachment; filename=\"\(String(repeating: "n", count: 400)).txt\"",
                    String(repeating: "n", count: 251) + ".txt"
                ),
            ])
        func theServerNamesTheFileHarmlessly(field: String, expected: String) async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/file", .good(resource.with("Content-Disposition", field)))
            let id = try await scene.probe.add([
                ["url": .string(scene.origin.url("/file")), "destination": ["directory": .string(scene.folder.path)]]
            ])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            let file = try #require(task["file"]?.stringValue)
            let name = try #require(file.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) })
            #expect(file == scene.file(name))
            #expect(name == expected || name.hasPrefix(expected + "."))
            #expect(scene.names == [name])
        }

        @Test(.timeLimit(.minutes(1)), arguments: ["..", ".", "....", "\\u0000", "a\\u0000b", "-rf", ".bashrc", ""])
        func hostileNamesStayInTheFolder(name: String) async throws {
            let scene = try await Scene.shared()
            let folder = try scene.folder.folder("inner")
            let field = "attachment; filename=\"\(name.replacing("\\u0000", with: "\u{1}"))\""
            scene.origin.serve("/file", .good(resource.with("Content-Disposition", field)))
            let id = try await scene.probe.add([
                ["url": .string(scene.origin.url("/file")), "destination": ["directory": .string(folder)]]
            ])[0]
            let task = try await scene.probe.wait(for: id, "completed")
            let delivered = Files.names(in: folder)
            #expect(delivered.count == 1)
            #expect(task["file"]?.stringValue == delivered.first.map { "\(folder)/\($0)" })
            #expect(scene.names == ["inner"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aServersDigestIsCheckedAndOneMismatchForgiven() async throws {
            let scene = try await Scene.shared()
            let hex = try await sha256(of: resource.content)
            let right = "sha-256=:\(base64(hex: hex)):"
            let wrong = "sha-256=:\(base64(hex: String(hex.reversed()))):"
            scene.origin.serve("/good", .good(resource.with("Repr-Digest", right)))
            scene.origin.serve(
                "/once", .good(resource.with("Repr-Digest", wrong)), .good(resource.with("Repr-Digest", right)))
            scene.origin.serve("/never", .good(resource.with("Repr-Digest", wrong)))
            let good = try await scene.add("/good", to: "good")
            let once = try await scene.add("/once", to: "once")
            let never = try await scene.add("/never", to: "never")
            #expect(try await scene.probe.wait(for: good, "completed")["sha256"]?.stringValue == hex)
            try await scene.probe.wait(for: once, "completed")
            #expect(try await scene.restartCodes(once) == ["integrity.checksum"])
            #expect(try await scene.probe.wait(for: never, "failed").errorCode == "integrity.checksum")
            #expect(scene.names == ["good", "once"])
            #expect(scene.origin.requests("/good").first?.header("Want-Repr-Digest") != nil)
        }

        private static func begin(_ resource: Resource, _ reply: Reply, upTo early: Int) throws {
            try reply.head(
                200, "OK", [("ETag", "\"v\""), ("Content-Length", "\(resource.content.size)")])
            try reply.body(resource.content.bytes[..<early])
        }

        /// The daemon dies after the file has got its name and before the store knows it.
        @Test(
            .timeLimit(.minutes(1)), .enabled(if: Requirements.has("python3"), "locks the store with python3"),
            arguments: [2_000, 300_000], ["full", "relaxed"])
        func aFileThatWasDeliveredAndNotRecordedIsRecognised(size: Int, durability: String) async throws {
            let scene = try await Scene()
            let resource = Resource.version(3, size: size)
            let gate = scene.daemon.folder.file("gate")
            scene.origin.serve(
                "/file",
                Behaviour { request, reply in
                    // For a part file, the store knows the identity first. For a small body it does not.
                    let early = size > 100_000 ? size / 2 : 0
                    if early > 0 { try Self.begin(resource, reply, upTo: early) }
                    while !Files.exists(gate) { usleep(1000) }
                    if early == 0 { try Self.begin(resource, reply, upTo: 0) }
                    try reply.body(resource.content.bytes[early...])
                })
            let id = try await scene.add("/file", to: "file", ["durability": .string(durability)])
            let origin = scene.origin
            #expect(await eventually { !origin.requests("/file").isEmpty })
            if size > 100_000 {
                let probe = scene.probe
                #expect(try await eventually { try await probe.task(id)["response"] != nil })
            }
            let lock = try StoreLock(scene.daemon.stateFolder)
            try await lock.acquire()
            try Files.write(gate, "")
            let file = scene.file()
            #expect(await eventually { resource.content.matches(file) })
            try await scene.daemon.kill()
            try await lock.release()
            try await scene.daemon.start()
            let probe = try await scene.daemon.probe()
            let task = try await probe.wait(for: id, "completed")
            #expect(task["file"]?.stringValue == file)
            #expect(scene.names == ["file"])
            #expect(resource.content.matches(file))
            #expect(scene.origin.requests("/file").count == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func theServersTimeIsKeptOnRequest() async throws {
            let scene = try await Scene.shared()
            var dated = resource
            dated.lastModified = "Sun, 09 Sep 2001 01:46:40 GMT"
            scene.origin.serve("/file", .good(dated))
            try await scene.probe.wait(
                for: try await scene.add("/file", to: "kept", ["preserveTime": true]), "completed")
            try await scene.probe.wait(for: try await scene.add("/file", to: "plain"), "completed")
            #expect(Files.status(scene.file("kept"))?.st_mtim.tv_sec == 1_000_000_000)
            #expect(Files.status(scene.file("plain"))?.st_mtim.tv_sec != 1_000_000_000)
        }

        @Test(.timeLimit(.minutes(1)))
        func impossibleDestinationsAreRefusedWhenAdded() async throws {
            let scene = try await Scene()
            try Files.write(scene.file("file"), "x")
            try scene.folder.folder("folder")
            for path in ["relative", scene.file("folder"), scene.file("folder/"), scene.file("file/below"), ""] {
                await #expect(throws: RPCFailure.self, "\(path)") {
                    try await scene.probe.add(scene.origin.url("/file"), to: path)
                }
            }
            #expect(try await scene.probe.call("task.list")["tasks"]?.arrayValue?.isEmpty == true)
        }

        private func base64(hex: String) -> String {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
            let bits = hex.flatMap { digit -> [Int] in
                let value = digit.hexDigitValue ?? 0
                return [value >> 3 & 1, value >> 2 & 1, value >> 1 & 1, value & 1]
            }
            var text = ""
            for start in stride(from: 0, to: bits.count, by: 6) {
                let group = bits[start..<min(start + 6, bits.count)]
                text.append(alphabet[group.reduce(0) { $0 << 1 | $1 } << (6 - group.count)])
            }
            while text.count % 4 != 0 { text.append("=") }
            return text
        }
    }
}

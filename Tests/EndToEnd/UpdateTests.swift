import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    /// Ended tasks can be started again: `task.update` changes what a task requests and where its file goes.
    struct Update {
        private static let size = 4 << 20
        private static let cut = 3 << 20
        private let resource = Resource.version(1, size: Update.size)

        /// A scene with a download of `/old` that has failed with most of its file.
        private func failed(_ more: [String: JSONValue] = [:]) async throws -> (scene: Scene, id: Int64) {
            let scene = try await Scene()
            scene.origin.serve("/old", .good(resource, cutAfter: Self.cut), .status(403))
            let id = try await scene.add("/old", to: "file", more)
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "http.status")
            #expect(scene.names.count == 1)
            return (scene, id)
        }

        private func update(_ scene: Scene, _ id: Int64, _ change: [String: JSONValue]) async throws {
            try await scene.probe.call("task.update", .object(change.merging(["id": .integer(id)]) { $1 }))
        }

        private func finish(_ scene: Scene, _ id: Int64, by method: String? = nil) async throws -> JSONValue {
            if let method { #expect(try await scene.probe.control(method, id)) }
            return try await scene.probe.wait(for: id, "completed", "failed")
        }

        @Test(.timeLimit(.minutes(1)))
        func aFailedDownloadGoesOnUnderANewURL() async throws {
            let (scene, id) = try await failed()
            scene.origin.serve("/new", .good(resource))
            try await update(scene, id, ["url": .string(scene.origin.url("/new"))])
            #expect(try await scene.probe.state(id) == "failed")
            #expect(try await finish(scene, id, by: "retry")["state"] == "completed")
            #expect(resource.content.matches(scene.file()))
            let request = try #require(scene.origin.requests("/new").first)
            #expect(request.rangeStart == Self.cut)
            #expect(request.header("If-Range") == resource.etag)
            #expect(try await scene.restartCodes(id) == [])
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aNewURLWithAnotherVersionBeginsAnew() async throws {
            let (scene, id) = try await failed()
            let other = Resource.version(2, size: Self.size)
            scene.origin.serve("/new", .good(other))
            try await update(scene, id, ["url": .string(scene.origin.url("/new"))])
            #expect(try await finish(scene, id, by: "retry")["state"] == "completed")
            #expect(other.content.matches(scene.file()))
            #expect(try await scene.restartCodes(id) == ["resume.validator_changed"])
        }

        /// The back-off was for a server that is not asked any more.
        @Test(.timeLimit(.minutes(1)))
        func aNewURLEndsAWaitAtOnce() async throws {
            let scene = try await Scene()
            scene.origin.serve("/old", .status(503, [("Retry-After", "3600")]))
            scene.origin.serve("/new", .good(resource))
            let id = try await scene.add("/old", to: "file", ["retry": ["firstDelay": 3600, "longestDelay": 3600]])
            try await scene.probe.wait(for: id, "waiting")
            try await update(scene, id, ["url": .string(scene.origin.url("/new"))])
            #expect(try await finish(scene, id)["state"] == "completed")
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func aNewURLLeavesAWaitForATimeAlone() async throws {
            let scene = try await Scene()
            let id = try await scene.add("/old", to: "file", ["earliestBeginAt": "2999-01-01T00:00:00Z"])
            try await update(scene, id, ["url": .string(scene.origin.url("/new"))])
            let task = try await scene.probe.task(id)
            #expect(task["state"] == "waiting")
            #expect(task["reason"] == "schedule")
            #expect(scene.origin.requests().isEmpty)
        }

        /// A download that is complete and cannot be delivered, because its file exists. The server names the file.
        private func undelivered() async throws -> (scene: Scene, id: Int64) {
            let scene = try await Scene()
            let resource = resource
            scene.origin.serve(
                "/old",
                Behaviour { _, reply in
                    let bytes = resource.content.bytes
                    let name = ("Content-Disposition", "attachment; filename=named")
                    try reply.head(
                        200, "OK", [("ETag", resource.etag ?? ""), ("Content-Length", "\(bytes.count)"), name])
                    try reply.body(bytes[...])
                })
            try Files.write(scene.file("named"), "mine")
            let id = try await scene.probe.add([
                [
                    "url": .string(scene.origin.url("/old")), "connections": 1, "conflictPolicy": "fail",
                    "destination": ["directory": .string(scene.folder.path)],
                ]
            ])[0]
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "destination.exists")
            return (scene, id)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatIsThereWholeKeepsTheNameThatItsServerGave() async throws {
            let (scene, id) = try await undelivered()
            try await update(scene, id, ["conflictPolicy": "rename"])
            let task = try await finish(scene, id, by: "retry")
            #expect(task["file"] == .string(scene.file("named (1)")))
            #expect(resource.content.matches(scene.file("named (1)")))
            #expect(scene.origin.requests().count == 1)
        }

        @Test(.timeLimit(.minutes(1)), arguments: [1, 2] as [UInt64])
        func aNewURLIsAskedForAFileThatIsThereWhole(_ version: UInt64) async throws {
            let (scene, id) = try await undelivered()
            let new = Resource.version(version, size: Self.size)
            scene.origin.serve("/new", .good(new))
            try await update(scene, id, ["url": .string(scene.origin.url("/new")), "conflictPolicy": "rename"])
            #expect(try await finish(scene, id, by: "retry")["state"] == "completed")
            #expect(new.content.matches(scene.file("new")))
            #expect(scene.origin.requests("/new").count == 1)
        }

        @Test(.timeLimit(.minutes(1)))
        func aPausedDownloadStaysPausedUnderANewURL() async throws {
            let scene = try await Scene()
            scene.origin.serve("/old", .stalling(resource, at: Self.cut))
            scene.origin.serve("/new", .good(resource))
            let id = try await scene.add("/old")
            try await scene.probe.wait(for: id, bytes: Self.cut)
            #expect(try await scene.probe.control("pause", id))
            try await update(scene, id, ["url": .string(scene.origin.url("/new"))])
            #expect(try await scene.probe.state(id) == "paused")
            #expect(try await finish(scene, id, by: "resume")["state"] == "completed")
            #expect(scene.origin.requests("/new").first?.rangeStart == Self.cut)
        }

        @Test(.timeLimit(.minutes(1)))
        func credentialsCanBeGivenLater() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .basic("bWU6c2VjcmV0", then: .good(resource)))
            let id = try await scene.add("/file", to: "file", ["bearer": "stale"])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode?.hasPrefix("auth.") == true)
            try await update(scene, id, ["username": "me", "password": "secret"])
            #expect(try await finish(scene, id, by: "retry")["state"] == "completed")
            #expect(resource.content.matches(scene.file()))
            let update = try await scene.probe.storedEvents(["tasks": [.integer(id)], "types": ["task.updated"]]).last
            #expect(update?["fields"] == ["username", "password"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aWrongChecksumCanBeCorrected() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let wrong = String(repeating: "0", count: 64)
            let id = try await scene.add(
                "/file", to: "file", ["checksum": ["algorithm": "sha-256", "value": .string(wrong)]])
            #expect(try await scene.probe.wait(for: id, "failed").errorCode == "integrity.checksum")
            let value = try await sha256(of: resource.content)
            try await update(scene, id, ["checksum": ["algorithm": "sha-256", "value": .string(value)]])
            let task = try await finish(scene, id, by: "retry")
            #expect(task["state"] == "completed")
            #expect(task["sha256"] == .string(value))
        }

        @Test(.timeLimit(.minutes(1)))
        func mirrorsCanBeGivenLater() async throws {
            let value = try await sha256(of: resource.content)
            let (scene, id) = try await failed(["checksum": ["algorithm": "sha-256", "value": .string(value)]])
            scene.origin.serve("/copy", .good(resource))
            try await update(scene, id, ["mirrors": [.string(scene.origin.url("/copy"))]])
            #expect(try await finish(scene, id, by: "retry")["state"] == "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.bytesSent("/copy") <= Int64(Self.size - Self.cut))
        }

        @Test(.timeLimit(.minutes(1)))
        func resumeDataOfAFailedDownloadGoesOn() async throws {
            let (scene, id) = try await failed()
            let blob = try await scene.probe.call("task.resumeData", ["id": .integer(id)])["resumeData"]
            #expect(try await scene.probe.state(id) == "failed")
            scene.origin.serve("/new", .good(resource))
            let again = try await scene.probe.add([
                ["resumeData": try #require(blob), "url": .string(scene.origin.url("/new"))]
            ])[0]
            try await scene.probe.wait(for: again, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/new").first?.rangeStart == Self.cut)
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func theHistoryTakesThePartOfAFailedDownloadAlong() async throws {
            let (scene, id) = try await failed()
            #expect(try await scene.probe.control("remove", id))
            #expect(scene.names.isEmpty)
        }

        @Test(.timeLimit(.minutes(1)))
        func whatIsCompletedStaysAsItIs() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, "completed")
            let changes: [[String: JSONValue]] = [
                ["url": "http://localhost/x"], ["destination": ["directory": .string(scene.folder.path)]],
                ["checksum": ["algorithm": "md5", "value": .string(String(repeating: "0", count: 32))]],
                ["username": "me"], ["mirrors": []],
            ]
            for change in changes {
                let error = await #expect(throws: RPCFailure.self) { try await update(scene, id, change) }
                #expect(error?.code == "task.wrong_state")
            }
            try await update(scene, id, ["description": "done"])
        }

        @Test(.timeLimit(.minutes(1)))
        func aChangeThatCannotBeIsRefusedByItsField() async throws {
            let (scene, id) = try await failed()
            let upload = try await scene.probe.add([
                ["kind": "upload", "url": .string(scene.origin.url("/up")), "body": ["text": "x"], "startPaused": true]
            ])[0]
            let md5 = String(repeating: "0", count: 32)
            let changes: [(Int64, [String: JSONValue], String, String)] = [
                (id, ["url": "nonsense://x"], "request.bad_url", "url"),
                (id, ["mirrors": ["file:///x"]], "request.bad_field", "mirrors[0]"),
                (id, ["url": "ftp://localhost/folder/"], "request.bad_field", "url"),
                (id, ["url": "ftp://localhost/file;type=a"], "request.bad_field", "url"),
                (id, ["mirrors": ["ftps://localhost/file;type=d"]], "request.bad_field", "mirrors[0]"),
                (id, ["netrc": "/no/such/netrc"], "source.unreadable", "netrc"),
                (id, ["caFile": "/no/such/ca"], "source.unreadable", "caFile"),
                (id, ["url": "file:///no/such/file"], "source.unreadable", "url"),
                (id, ["destination": [:]], "request.bad_field", "destination"),
                (id, ["destination": ["path": "/proc/none/file"]], "destination.bad_path", "destination"),
                (id, ["checksum": ["algorithm": "md5", "value": "x"]], "request.bad_field", "checksum.value"),
                (upload, ["destination": ["directory": "/tmp"]], "request.bad_field", "destination"),
                (upload, ["checksum": ["algorithm": "md5", "value": .string(md5)]], "request.bad_field", "checksum"),
                (upload, ["url": "sftp://localhost/folder/"], "request.bad_field", "url"),
                (upload, ["conflictPolicy": "rename"], "request.bad_field", "conflictPolicy"),
            ]
            for (task, change, code, field) in changes {
                let error = await #expect(throws: RPCFailure.self) { try await update(scene, task, change) }
                #expect(error?.code == code)
                #expect(error?.field == field)
            }
            #expect(try await scene.probe.task(id)["url"] == .string(scene.origin.url("/old")))
        }
    }
}

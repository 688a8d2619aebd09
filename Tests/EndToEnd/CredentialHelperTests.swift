import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Helpers that hang, fail or give wrong answers, and proxies that refuse CONNECT.
    struct CredentialHelpers {
        private static let right = Base64Text.encode(Array("anna:Zq7right7qZ".utf8))

        /// - Parameter script: the helper's script. Its first argument is the action.
        private func scene(_ script: String, in folder: TemporaryFolder) async throws -> Scene {
            try Files.write(folder.file("helper"), "#!/bin/sh\n" + script, mode: 0o700)
            let scene = try await Scene()
            try await scene.probe.call("settings.set", ["credentialHelper": .string(folder.file("helper"))])
            scene.origin.serve("/file", .basic(Self.right, then: .good(.version(1, size: 5000))))
            return scene
        }

        /// The phase shows what the task waits for, and a task that the helper delays can be ended at once.
        @Test(.timeLimit(.minutes(1))) func aHelperThatHangsHoldsNobodyUp() async throws {
            let folder = try TemporaryFolder()
            let fifo = folder.file("fifo")
            try #require(mkfifo(fifo, 0o600) == 0)
            let scene = try await scene("read line < \(fifo)\n", in: folder)
            for action in ["task.cancel", "task.pause"] {
                let id = try await scene.add(to: action)
                #expect(try await eventually { try await scene.probe.task(id)["phase"] == "authenticating" })
                let explained = try await scene.daemon.dlctl(["explain", "\(id)"]).output
                #expect(explained.contains("asking the credential helper"), "\(explained)")
                try await scene.probe.call(action, ["ids": [.integer(id)]])
                let state = try await scene.probe.task(id)["state"]
                #expect(state == (action == "task.cancel" ? "cancelled" : "paused"))
            }
        }

        /// A daemon that is killed leaves no helper behind: the pipe that the helper holds open closes.
        @Test(.timeLimit(.minutes(1))) func aHelperEndsWithTheDaemon() async throws {
            let folder = try TemporaryFolder()
            let (fifo, held, started) = (folder.file("fifo"), folder.file("held"), folder.file("started"))
            for path in [fifo, held] { try #require(mkfifo(path, 0o600) == 0) }
            // When this test ends, the read in the helper does too.
            let gate = open(fifo, O_RDWR | O_CLOEXEC)
            let reader = open(held, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { for descriptor in [gate, reader] { close(descriptor) } }
            let scene = try await scene("exec 3> \(held); echo > \(started); read line < \(fifo)\n", in: folder)
            _ = try await scene.add()
            #expect(await eventually { Files.exists(started) })
            var byte: UInt8 = 0
            #expect(read(reader, &byte, 1) == -1)
            try await scene.daemon.kill()
            #expect(await eventually { read(reader, &byte, 1) == 0 })
        }

        /// The helper is asked for each task, but a refused credential is not sent again.
        @Test(.timeLimit(.minutes(1))) func whatAHelperGaveInVainIsSentOnce() async throws {
            let folder = try TemporaryFolder()
            let scene = try await scene("[ $1 = get ] && echo username=anna && echo password=Zq7wrongqZ\n", in: folder)
            for name in ["one", "two"] {
                let id = try await scene.add(to: name)
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task["error", "details", "credentialHelper"] == "refused", "\(task)")
                let explained = try await scene.daemon.dlctl(["explain", "\(id)"]).output
                #expect(explained.contains("credential helper gave what was refused"), "\(explained)")
                #expect(
                    explained.contains("dlctl credential add http://127.0.0.1:\(scene.origin.port)"), "\(explained)")
            }
            let wrong = "Basic " + Base64Text.encode(Array("anna:Zq7wrongqZ".utf8))
            #expect(scene.origin.requests("/file").count { $0.request.header("Authorization") == wrong } == 1)
            // A change by the user lets it be tried once more.
            let place = "http://127.0.0.1:\(scene.origin.port)"
            _ = try await scene.daemon.dlctl(["credential", "remove", place])
            try await scene.probe.wait(for: try await scene.add(to: "three"), "failed")
            #expect(scene.origin.requests("/file").count { $0.request.header("Authorization") == wrong } == 2)
            #expect(!scene.daemon.log.contains("Zq7wrongqZ"))
        }

        @Test(.timeLimit(.minutes(1))) func aHelperThatFailsIsNamed() async throws {
            let folder = try TemporaryFolder()
            let scene = try await scene("echo Zq7nonsenseqZ\n", in: folder)
            let task = try await scene.probe.wait(for: try await scene.add(), "failed")
            #expect(task["error", "details", "credentialHelper"] == "failed", "\(task)")
            #expect(scene.daemon.log.contains("the credential helper failed"))
            #expect(!scene.daemon.log.contains("Zq7nonsenseqZ"))
        }

        /// If two tasks fail with the same refused credential, both errors say so.
        @Test(.timeLimit(.minutes(1))) func aRefusedCredentialIsNamed() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .basic(Self.right, then: .good(.version(1, size: 5000))))
            try await scene.probe.call(
                "credentials.set",
                [
                    "protectionSpace": [
                        "host": "127.0.0.1", "port": .integer(Int64(scene.origin.port)), "protocol": "http",
                    ], "credential": ["username": "anna", "password": "wrong"],
                ])
            for name in ["one", "two"] {
                let id = try await scene.add(to: name)
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task["error", "details", "storedCredential"] == "refused", "\(task)")
                let explained = try await scene.daemon.dlctl(["explain", "\(id)"]).output
                #expect(explained.contains("Store the right password"), "\(explained)")
            }
        }

        /// A proxy asks before it connects, and the store answers.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx", "openssl")))
        func theStoreAnswersAProxyThatConnects() async throws {
            let server = try await Nginx.start(tls: true)
            let content = Content(seed: 3, size: 100_000)
            try Files.write(server.folder.file("www/file"), content.bytes)
            let authority = try #require(server.certificates?.authority)
            let proxy = try ConnectProxy()
            let scene = try await Scene()
            let place = "http://127.0.0.1:\(proxy.port)"
            let more: [String: JSONValue] = ["caFile": .string(authority), "proxy": .string(place)]
            let refused = try await scene.probe.add(server.tlsURL("file"), to: scene.file("refused"), more)
            let task = try await scene.probe.wait(for: refused, "failed")
            #expect(task.errorCode == "auth.required", "\(task)")
            // A client that is asked sees the proxy's answer.
            try await scene.openAsking(["challenge"])
            let waiting = try await scene.probe.add(
                server.tlsURL("file"), to: scene.file("waiting"), more, session: "s")
            let asked = try await scene.question(waiting)
            #expect(asked["response", "status"] == 407 && asked["protectionSpace", "isProxy"] == true, "\(asked)")
            let fields = asked["response", "headers"].map { "\($0)" } ?? ""
            #expect(fields.contains("Proxy-Authenticate"), "\(asked)")
            try await scene.answer(asked, "cancel")
            try Files.write(scene.file("password"), ConnectProxy.password + "\n", mode: 0o600)
            let added = try await scene.daemon.dlctl([
                "credential", "add", place, "--proxy", "--realm", ConnectProxy.realm, "--username", ConnectProxy.user,
                "--password-file", scene.file("password"),
            ])
            #expect(added.status == 0, "\(added)")
            let id = try await scene.probe.add(server.tlsURL("file"), to: scene.file(), more)
            try await scene.probe.wait(for: id, "completed")
            #expect(try Files.read(scene.file()) == content.bytes)
            #expect(proxy.requests == [false, false, false, true])
        }

        /// A session that ends with its last task leaves no credentials in memory, so their room is available to its
        /// owner again.
        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func aSessionThatEndsByItselfGivesItsRoomBack(isVolatile: Bool) async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .silent)
            let kind: JSONValue = isVolatile ? "default" : "background"
            try await scene.probe.call("session.open", ["id": "others", "kind": "ephemeral"])
            try await scene.probe.call("session.open", ["id": "s", "kind": kind])
            func set(_ session: JSONValue?, _ host: String = "a.org") async throws {
                let own: [String: JSONValue] = [
                    "protectionSpace": ["host": .string(host), "port": 443, "protocol": "https"],
                    "credential": ["username": "anna", "password": "p"],
                ]
                let which: [String: JSONValue] = session.map { ["session": $0] } ?? [:]
                try await scene.probe.call("credentials.set", .object(own.merging(which) { $1 }))
            }
            // These are only in memory, and cost the least.
            for number in 1..<Bounds.credentials { try await set("others", "h\(number).org") }
            try await set("s")
            let id = try await scene.add(session: "s")
            #expect(await eventually { !scene.origin.requests("/file").isEmpty })
            try await scene.probe.call("session.finish", ["id": "s"])
            let refusal = await #expect(throws: RPCFailure.self) { try await set(nil) }
            #expect("\(refusal.map { "\($0)" } ?? "")".contains("limit.reached"))
            try await scene.probe.call("task.cancel", ["ids": [.integer(id)]])
            #expect(
                try await eventually {
                    do {
                        try await set(nil)
                        return true
                    } catch is RPCFailure { return false }
                })
        }
    }
}

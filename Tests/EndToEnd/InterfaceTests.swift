import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// `interface`: nothing leaves by another device.
    struct Interfaces {
        private static let needsRoot: Comment = "network namespaces need root"
        private static let size = 16 << 20

        /// A daemon in a namespace with two links, which a server outside is reachable over.
        private struct House {
            let links: TwoLinks
            let origin: MisbehavingOrigin
            let folder: TemporaryFolder
            let daemon: DaemonProcess
            let probe: RPCProbe

            init() async throws {
                links = try await TwoLinks()
                origin = try MisbehavingOrigin(host: links.server)
                folder = try TemporaryFolder()
                daemon = try await DaemonProcess.started(wrapper: links.wrapper)
                probe = try await daemon.probe()
            }

            func add(_ path: String, _ more: [String: JSONValue], session: String? = nil) async throws -> Int64 {
                let spec = Scene.quickRetry.merging(more) { $1 }
                return try await probe.add(
                    origin.url(path), to: folder.file(String(path.dropFirst())), spec, session: session)
            }
        }

        /// Names the second device by its name, libcurl's form, or its address (nil).
        @Test(
            .timeLimit(.minutes(2)), .enabled(if: Requirements.mayAdministrate, needsRoot),
            arguments: [TwoLinks.devices[1], "if!\(TwoLinks.devices[1])", nil])
        func aLinkThatGoesDownIsNotReplacedByAnother(named name: String?) async throws {
            let house = try await House()
            let (links, probe) = (house.links, house.probe)
            let resource = Resource.version(1, size: Self.size)
            house.origin.serve("/file", .stalling(resource, at: Self.size / 2), .good(resource))
            let interface = name ?? links.addresses[1]
            let (first, second) = (try links.bytes(.first), try links.bytes(.second))
            let id = try await house.add("/file", ["interface": .string(interface), "connections": 1])
            try await probe.wait(for: id, bytes: 1 << 20)
            try await links.set(.second, up: false)
            let task = try await probe.wait(for: id, "waiting", within: 10)
            #expect(task["reason"] == "network" && task.errorCode == "network.connect", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains(interface) == true, "\(task)")
            let (_, explained) = try await house.daemon.dlctl(["explain", "\(id)"])
            #expect(explained.contains(interface), "\(explained)")
            #expect(try links.bytes(.first) - first == 0)
            try await links.set(.second, up: true)
            try await probe.wait(for: id, "completed")
            #expect(resource.content.matches(house.folder.file("file")))
            #expect(try links.bytes(.first) - first == 0)
            #expect(try links.bytes(.second) > second)
        }

        /// All kinds of tasks, with the setting of their session, over redirects, mirrors and several connections.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.mayAdministrate, needsRoot))
        func everyKindOfTaskKeepsToTheDeviceOfItsSession() async throws {
            let house = try await House()
            let (links, probe, origin) = (house.links, house.probe, house.origin)
            let resource = Resource.version(1, size: Self.size)
            origin.serve("/moved", .redirect(to: origin.url("/file")))
            origin.serve("/broken", .status(404))
            origin.serve("/data", .good(.version(2, size: 1000)))
            origin.serve("/put", .status(201))
            origin.serveEverything(.good(resource))
            try await probe.call(
                "session.open", ["id": "s", "configuration": ["interface": .string(TwoLinks.devices[1])]])
            let first = try links.bytes(.first)
            try Files.write(house.folder.file("source"), resource.content.bytes.prefix(1 << 20))
            var ids = [
                try await house.add("/moved", [:], session: "s"),
                try await house.add("/many", ["connections": 4], session: "s"),
                try await house.add("/broken", ["mirrors": [.string(origin.url("/mirror"))]], session: "s"),
            ]
            ids += try await probe.add([["kind": "data", "url": .string(origin.url("/data"))]], session: "s")
            ids += try await probe.add(
                [
                    [
                        "kind": "upload", "url": .string(origin.url("/put")), "uploadProtocol": "put",
                        "source": ["path": .string(house.folder.file("source"))],
                    ]
                ], session: "s")
            for id in ids { try await probe.wait(for: id, "completed") }
            #expect(try links.bytes(.first) - first == 0)
            // A task without the setting does not take their connections, whose ends are still on their way.
            let second = try links.bytes(.second)
            try await probe.wait(for: try await house.add("/free", [:]), "completed")
            #expect(try links.bytes(.first) - first > 2 * (links.bytes(.second) - second))
        }

        /// A name that no device has may be a mistake, or a device that is not plugged in.
        @Test(.timeLimit(.minutes(1))) func aTaskWaitsForItsDevice() async throws {
            let scene = try await Scene()
            scene.origin.serveEverything(.good(.version(1, size: 1000)))
            let id = try await scene.add("/file", to: "file", ["interface": "nosuch0"])
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == "network", "\(task)")
            #expect(task["error", "message"]?.stringValue?.contains("nosuch0") == true, "\(task)")
            #expect(scene.origin.requests().isEmpty)
            // Nobody is to blame but the task: others of the host begin.
            try await scene.probe.wait(for: try await scene.add("/other", to: "other"), "completed")
            try await scene.probe.call("task.update", ["id": .integer(id), "interface": "lo"])
            try await scene.probe.wait(for: id, "completed")
            let failure = await #expect(throws: RPCFailure.self) {
                try await scene.add("/file", to: "bad", ["interface": "a/b"])
            }
            #expect(failure?.code == "request.bad_field" && failure?.field == "tasks[0].interface")
            let added = try await scene.daemon.dlctl(
                ["add", "--interface", "127.0.0.1", "-o", scene.file("added"), "--wait", scene.origin.url("/added")])
            #expect(added.status == 0, "\(added.output)")
        }

        /// Its connections cannot be bound.
        @Test(.timeLimit(.minutes(1))) func aHelpersTaskIsRefused() async throws {
            let bench = try await HelperScene("many")
            let refusal = await #expect(throws: RPCFailure.self) {
                try await bench.add("many", to: "file", ["interface": "lo"])
            }
            #expect(refusal?.code == "request.unsupported" && refusal?.field == "tasks[0].interface")
            // The session may be bound later.
            try await bench.probe.call("session.open", ["id": "s"])
            let id = try await bench.add("many", to: "file", ["startPaused": true], session: "s")
            try await bench.probe.call("session.open", ["id": "s", "configuration": ["interface": "lo"]])
            try await bench.probe.control("resume", id)
            let task = try await bench.probe.wait(for: id, "failed")
            #expect(task.errorCode == "request.unsupported", "\(task)")
            #expect(task["error", "details", "field"] == "interface", "\(task)")
            #expect(bench.loads.isEmpty)
        }
    }
}

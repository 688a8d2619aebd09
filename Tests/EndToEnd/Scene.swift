import TestSupport
import Testing
import TransferModel

/// A running daemon, a client connection, an origin and a folder for what arrives.
struct Scene {
    let daemon: DaemonProcess
    let origin: MisbehavingOrigin
    let probe: RPCProbe
    let folder: TemporaryFolder

    init(_ arguments: [String] = [], environment: [String: String] = [:]) async throws {
        try await self.init(of: try await .started(arguments, environment: environment))
    }

    private init(of daemon: DaemonProcess) async throws {
        folder = try TemporaryFolder()
        origin = try MisbehavingOrigin()
        self.daemon = daemon
        probe = try await daemon.probe()
    }

    /// A scene with the suite's daemon (`oneDaemon`), for a test that looks only at tasks of its own and ends them.
    static func shared() async throws -> Scene {
        let daemon = try SharedServer<DaemonProcess>.current
        // No test with this daemon ends it. The others are to have one nevertheless.
        if !daemon.isRunning {
            Issue.record("an earlier test of this suite has ended the daemon: \(daemon.log.suffix(2000))")
            try await daemon.start()
        }
        return try await Scene(of: daemon)
    }

    private init(_ other: Scene, probe: RPCProbe) {
        daemon = other.daemon
        origin = other.origin
        folder = other.folder
        self.probe = probe
    }

    /// Kills the daemon with kill -9 and starts a new one with the same state. Returns the same scene with a new
    /// connection.
    func restarted() async throws -> Scene {
        try await daemon.restart()
        return Scene(self, probe: try await daemon.probe())
    }

    /// The destination of `add`.
    func file(_ name: String = "file") -> String { folder.file(name) }

    /// Adds a download of a path of the origin that is retried with little delay.
    func add(
        _ path: String = "/file", to name: String = "file", _ more: [String: JSONValue] = [:], session: String? = nil
    ) async throws -> Int64 {
        try await probe.add(
            origin.url(path), to: file(name), Self.quickRetry.merging(more) { $1 }, session: session)
    }

    /// Adds a download of `/file` with its digest, and with the mirror's `/copy` if there is a mirror.
    func add(
        _ content: Content, mirror: MisbehavingOrigin?, connections: Int64, _ more: [String: JSONValue] = [:]
    ) async throws -> Int64 {
        var members: [String: JSONValue] = ["connections": .integer(connections), "checksum": content.checksum]
        if let mirror { members["mirrors"] = [.string(mirror.url("/copy"))] }
        return try await add("/file", to: "file", members.merging(more) { $1 })
    }

    /// Writes a file and adds its upload, which is retried with little delay.
    func upload(
        _ content: Content, to url: String, _ more: [String: JSONValue] = [:], from name: String = "source"
    ) async throws -> Int64 {
        try Files.write(file(name), content.bytes)
        let spec: [String: JSONValue] = [
            "kind": "upload", "url": .string(url), "source": ["path": .string(file(name))],
        ]
        return try await probe.add([.object(spec.merging(Self.quickRetry) { $1 }.merging(more) { $1 })])[0]
    }

    /// Polls until this many bytes of an upload were given to the network.
    func wait(for id: Int64, sent bytes: Int) async throws {
        var task: JSONValue = .null
        _ = try await eventually {
            task = try await probe.task(id)
            return (task["bytesSent"]?.integerValue ?? 0) >= Int64(bytes) || task["state"] == "failed"
        }
        guard task["state"] == "running" else { throw SupportError("task \(id) did not send \(bytes) bytes: \(task)") }
    }

    /// Kills the daemon with kill -9, starts a new one, and completes a limited upload at full speed.
    /// - Returns: the scene to continue with, and the completed task.
    func killed(while id: Int64) async throws -> (scene: Scene, task: JSONValue) {
        let scene = try await restarted()
        try await scene.probe.call("task.update", ["id": .integer(id), "rateLimit": 0])
        return (scene, try await scene.probe.wait(for: id, "completed"))
    }

    /// The offsets of the task's `task.resumed` events.
    func resumptions(_ id: Int64) async throws -> [Int] {
        try await probe.storedEvents(["tasks": [.integer(id)], "types": ["task.resumed"]])
            .compactMap { $0["offset"]?.integerValue.map { Int($0) } }
    }

    /// The body bytes that the daemon received for the task. Unlike what a server wrote to its socket, this does not
    /// count bytes in the buffers of connections that were ended.
    func bytesTaken(_ id: Int64) async throws -> Int {
        let entries = try await probe.task(id)["metrics"]?.arrayValue ?? []
        return entries.reduce(0) { $0 + Int($1["responseBodyBytes"]?.integerValue ?? 0) }
    }

    /// The names in the folder, including part files.
    var names: [String] { Files.names(in: folder.path) }

    static let quickRetry: [String: JSONValue] = ["retry": ["firstDelay": 0.05, "longestDelay": 0.2]]

    /// The codes of the task's `task.restarted` events.
    func restartCodes(_ id: Int64) async throws -> [String] {
        try await probe.storedEvents(["tasks": [.integer(id)], "types": ["task.restarted"]])
            .compactMap { $0["code"]?.stringValue }
    }
}

extension RecordedRequest {
    var rangeStart: Int? { request.range?.first }
}

extension JSONValue {
    /// A member of a member.
    subscript(path: String...) -> JSONValue? { path.reduce(self as JSONValue?) { $0?[$1] } }
    var errorCode: String? { self["error", "code"]?.stringValue }
}

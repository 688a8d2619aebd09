import TestSupport
import TransferModel

/// A running daemon, a client connection, an origin and a folder for what arrives.
struct Scene {
    let daemon: DaemonProcess
    let origin: MisbehavingOrigin
    let probe: RPCProbe
    let folder: TemporaryFolder

    init(_ arguments: [String] = [], environment: [String: String] = [:]) async throws {
        folder = try TemporaryFolder()
        origin = try MisbehavingOrigin()
        daemon = try await DaemonProcess.started(arguments, environment: environment)
        probe = try await daemon.probe()
    }

    private init(_ other: Scene, probe: RPCProbe) {
        daemon = other.daemon
        origin = other.origin
        folder = other.folder
        self.probe = probe
    }

    /// kill -9 and a new daemon on the same state; the same scene with a new connection.
    func restarted() async throws -> Scene {
        try await daemon.restart()
        return Scene(self, probe: try await daemon.probe())
    }

    /// Where `add` delivers.
    func file(_ name: String = "file") -> String { folder.file(name) }

    /// Adds a download of a path of the origin, retried without much delay.
    func add(
        _ path: String = "/file", to name: String = "file", _ more: [String: JSONValue] = [:], session: String? = nil
    ) async throws -> Int64 {
        try await probe.add(
            origin.url(path), to: file(name), Self.quickRetry.merging(more) { $1 }, session: session)
    }

    /// Names in the folder, part files included.
    var names: [String] { Files.names(in: folder.path) }

    static let quickRetry: [String: JSONValue] = ["retry": ["firstDelay": 0.05, "longestDelay": 0.2]]

    /// Codes of the task's `task.restarted` events.
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

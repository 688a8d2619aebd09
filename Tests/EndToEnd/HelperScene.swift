import FoundationEssentials
import Glibc
import TestSupport
import TransferModel

/// A daemon whose home has the scripted helper under several names, and a file that the helper serves.
struct HelperScene {
    let scene: Scene
    let content: Content

    var probe: RPCProbe { scene.probe }
    var home: String { scene.daemon.folder.path }

    init(_ names: String..., content: Content = Content(seed: 1, size: 300_000), arguments: [String] = []) async throws
    {
        self.content = content
        scene = try await Scene(arguments)
        try Files.write(scene.file("source"), content.bytes)
        let script = try Files.text(PythonEnvironment.script("helper.py"))
        for name in names { try await install(name, script) }
    }

    private init(_ other: HelperScene, _ scene: Scene) {
        self.scene = scene
        content = other.content
    }

    func install(_ name: String, _ text: String) async throws {
        let folder = home + "/.local/lib/dld/schemes"
        try await Program.require(["mkdir", "-p", folder])
        try await Files.program("\(folder)/\(name)", text)
    }

    /// Kills the daemon with kill -9, and starts a new one with the same state.
    func restarted() async throws -> HelperScene { HelperScene(self, try await scene.restarted()) }

    func url(_ scheme: String, _ query: [String: String] = [:], file: String? = nil) -> String {
        let all = ["file": file ?? scene.file("source")].merging(query) { $1 }
        return "\(scheme)://place/name?" + all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "&")
    }

    /// Adds a download of the file that is retried with little delay.
    func add(
        _ scheme: String, _ query: [String: String] = [:], to name: String = "file", _ more: [String: JSONValue] = [:],
        session: String? = nil
    ) async throws -> Int64 {
        try await probe.add(
            url(scheme, query), to: scene.file(name), Scene.quickRetry.merging(more) { $1 }, session: session)
    }

    /// A FIFO for a helper that must not say anything more.
    func gate(_ name: String = "gate") throws -> [String: String] {
        guard mkfifo(scene.file(name), 0o600) == 0 else { throw SupportError("mkfifo: errno \(errno)") }
        return ["gate": scene.file(name)]
    }

    func once(_ name: String = "once") -> [String: String] { ["once": scene.file(name)] }

    /// The notes of the helpers, in order.
    var notes: [JSONValue] {
        let text = (try? Files.text(home + "/helper.log")) ?? ""
        return text.split(separator: "\n").compactMap { try? ForeignJSON.value($0.utf8) }
    }

    var loads: [JSONValue] { notes.filter { $0["type"] == "load" } }
    var offsets: [Int64] { loads.compactMap { $0["offset"]?.integerValue } }
    /// The processes that got requests.
    var processes: Set<Int64> { Set(loads.compactMap { $0["pid"]?.integerValue }) }

    func isGone(_ pid: Int64) -> Bool { !Files.exists("/proc/\(pid)") }

    /// Tells whether the task's file is complete.
    func hasArrived(_ name: String = "file") -> Bool { content.matches(scene.file(name)) }
}

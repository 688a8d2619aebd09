import TestSupport
import TransferModel

/// A scene with a volatile session, and what its client receives of one stream.
struct StreamScene {
    let scene: Scene
    var origin: MisbehavingOrigin { scene.origin }
    var probe: RPCProbe { scene.probe }

    init() async throws {
        scene = try await Scene()
        try await probe.call("session.open", ["id": "v", "kind": "default"])
        try await probe.call("events.subscribe", ["after": "now", "progressInterval": 0])
    }

    /// Adds a task that streams a path of the origin.
    func add(_ path: String = "/file", _ more: [String: JSONValue] = [:]) async throws -> Int64 {
        let spec: [String: JSONValue] = [
            "kind": "data", "stream": true, "url": .string(origin.url(path)),
            "retry": ["firstDelay": 0.05, "longestDelay": 0.2],
        ]
        return try await probe.add([.object(spec.merging(more) { $1 })], session: "v")[0]
    }

    @discardableResult
    func credit(_ id: Int64, _ bytes: Int64 = .max) async throws -> Int64? {
        try await probe.call("task.credit", ["id": .integer(id), "bytes": .integer(bytes)])["credit"]?.integerValue
    }

    /// What a client has received of a task, in order.
    struct Heard {
        var bytes: [UInt8] = []
        /// The types of events, with `task.data` once for any number of consecutive pieces.
        var order: [String] = []
        /// The last event.
        var last: JSONValue = .null
        var details: JSONValue? { last["error", "details"] }
    }

    /// Listens until an event of this type, or until this many bytes have come.
    /// - Throws: `SupportError` for a piece that does not begin where the previous one ended.
    func hear(_ id: Int64, until type: String? = nil, bytes: Int = .max, after heard: Heard = Heard()) async throws
        -> Heard
    {
        var heard = heard
        while heard.bytes.count < bytes {
            let notification = try await probe.nextNotification()
            guard let content = notification["params"], content["task"]?.integerValue == id else { continue }
            if notification["method"] == "task.data" {
                guard content["offset"]?.integerValue == Int64(heard.bytes.count) else {
                    throw SupportError("a piece at \(content["offset"] ?? .null) after \(heard.bytes.count) bytes")
                }
                heard.bytes += Base64Text.decode(content["base64"]?.stringValue ?? "")
                if heard.order.last != "task.data" { heard.order.append("task.data") }
            } else if let name = content["type"]?.stringValue {
                heard.order.append(name)
                heard.last = content
                if name == type { return heard }
            }
        }
        return heard
    }

    /// The refusal of a call; nil if it succeeds.
    func refusal(_ method: String, _ parameters: JSONValue, on other: RPCProbe? = nil) async throws -> RPCFailure? {
        do {
            try await (other ?? probe).call(method, parameters)
            return nil
        } catch let failure as RPCFailure {
            return failure
        }
    }
}

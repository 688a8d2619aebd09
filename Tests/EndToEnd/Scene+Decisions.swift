import TestSupport
import TransferModel

extension Scene {
    /// A scene with the session `s`, which asks questions of these kinds.
    static func asking(_ kinds: String...) async throws -> Scene {
        let scene = try await Scene()
        try await scene.openAsking(kinds)
        return scene
    }

    func openAsking(_ kinds: [String], _ more: [String: JSONValue] = [:]) async throws {
        let asks: JSONValue = .array(kinds.map { .string($0) })
        try await probe.call(
            "session.open", ["id": "s", "configuration": .object(["asks": asks].merging(more) { $1 })])
    }

    func questions(_ id: Int64) async throws -> [JSONValue] {
        try await probe.call("decision.list", ["tasks": [.integer(id)]])["decisions"]?.arrayValue ?? []
    }

    /// Waits for the task's next question.
    func question(_ id: Int64, after last: JSONValue? = nil) async throws -> JSONValue {
        var found: JSONValue?
        let isAsked = try await eventually {
            found = try await questions(id).first
            return found != nil && found?["decision"] != last?["decision"]
        }
        guard isAsked, let found else { throw SupportError("task \(id) asks nothing: \(try await probe.task(id))") }
        return found
    }

    @discardableResult
    func answer(
        _ question: JSONValue, _ action: String, _ more: [String: JSONValue] = [:], on other: RPCProbe? = nil
    ) async throws -> JSONValue {
        let members: [String: JSONValue] = ["id": question["decision"] ?? .null, "action": .string(action)]
        return try await (other ?? probe).call("decision.answer", .object(members.merging(more) { $1 }))
    }

    /// The refusal of an answer; nil if the answer was accepted.
    func refusal(
        _ question: JSONValue, _ action: String, _ more: [String: JSONValue] = [:]
    ) async throws -> RPCFailure? {
        do {
            try await answer(question, action, more)
            return nil
        } catch let failure as RPCFailure {
            return failure
        }
    }

    /// The task's `task.decision` events.
    func toldQuestions(_ id: Int64) async throws -> [JSONValue] {
        try await probe.storedEvents(["tasks": [.integer(id)], "types": ["task.decision"]])
    }

    /// The kept body of a data task.
    func body(_ id: Int64) async throws -> String {
        let piece = try await probe.call("task.body", ["id": .integer(id)])
        return String(decoding: Base64Text.decode(piece["data"]?.stringValue ?? ""), as: UTF8.self)
    }

    /// Adds a data task of the session `s`.
    func request(_ path: String, _ more: [String: JSONValue] = [:]) async throws -> Int64 {
        let spec: [String: JSONValue] = ["kind": "data", "url": .string(origin.url(path))]
        return try await probe.add([.object(spec.merging(more) { $1 })], session: "s")[0]
    }
}

import TransferModel

/// Operations that many acceptance tests need, in the words of the wire.
extension RPCProbe {
    /// Adds one download and returns its id.
    package func add(
        _ url: String, to path: String, _ more: [String: JSONValue] = [:], session: String? = nil
    ) async throws -> Int64 {
        let spec: [String: JSONValue] = ["url": .string(url), "destination": ["path": .string(path)]]
        return try await add([.object(spec.merging(more) { $1 })], session: session)[0]
    }

    /// Adds the specifications and returns their ids.
    package func add(_ specs: [JSONValue], session: String? = nil) async throws -> [Int64] {
        var parameters: [String: JSONValue] = ["tasks": .array(specs)]
        parameters["session"] = session.map { .string($0) }
        let result = try await call("task.add", .object(parameters))
        let ids = (result["tasks"]?.arrayValue ?? []).compactMap { $0["id"]?.integerValue }
        guard ids.count == specs.count else { throw SupportError("task.add answered \(result)") }
        return ids
    }

    package func task(_ id: Int64) async throws -> JSONValue {
        let result = try await call("task.get", ["id": .integer(id)])
        return result["task"] ?? result
    }

    package func state(_ id: Int64) async throws -> String {
        try await task(id)["state"]?.stringValue ?? "?"
    }

    /// Polls until the task is in one of these states, and returns it. If the test's time limit passes, the task is printed,
    /// because Swift Testing does not report errors that are thrown after that.
    /// - Throws: `SupportError` if it ends in another state, or if the limit passes.
    @discardableResult
    package func wait(for id: Int64, _ states: String..., within limit: Double = 90) async throws -> JSONValue {
        var last: JSONValue = .null
        let reached = try await eventually(within: limit) {
            last = try await task(id)
            let state = last["state"]?.stringValue ?? "?"
            return states.contains(state) || ["completed", "failed", "cancelled"].contains(state)
        }
        guard reached, states.contains(last["state"]?.stringValue ?? "?") else {
            if Task.isCancelled { print("when its time was over, task \(id) was \(last)") }
            throw SupportError("task \(id) is not \(states.joined(separator: " or ")) but \(last)")
        }
        return last
    }

    /// Polls until at least this many bytes of the task are received.
    package func wait(for id: Int64, bytes: Int, within limit: Double = 60) async throws {
        var last: JSONValue = .null
        let reached = try await eventually(within: limit, every: 0.005) {
            last = try await task(id)
            return (last["bytesReceived"]?.integerValue ?? 0) >= Int64(bytes)
        }
        guard reached else { throw SupportError("task \(id) has not got \(bytes) bytes: \(last)") }
    }

    /// Calls a control method for one task. Returns whether it changed the task.
    @discardableResult
    package func control(_ method: String, _ id: Int64, _ more: [String: JSONValue] = [:]) async throws -> Bool {
        let result = try await call(
            "task.\(method)", .object(["ids": [.integer(id)] as JSONValue].merging(more) { $1 }))
        return result["changed"]?.arrayValue?.contains(.integer(id)) ?? false
    }

    /// Reads every stored event after a number, page by page.
    package func storedEvents(
        after: JSONValue = "start", _ filter: [String: JSONValue] = [:]
    ) async throws -> [JSONValue] {
        var all: [JSONValue] = []
        var position = after
        while true {
            let page = try await call(
                "events.list", .object(filter.merging(["after": position, "limit": 1000]) { $1 }))
            let events = page["events"]?.arrayValue ?? []
            guard let last = events.last?["sequence"] else { return all }
            all += events
            position = last
        }
    }
}

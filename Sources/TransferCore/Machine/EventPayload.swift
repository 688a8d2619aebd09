import TransferModel

/// Members of the events that the machine publishes, as protocol.md names them.
package enum EventPayload {
    /// Whose event it is, for subscribers that would have to ask: members of `task.added`, `task.completed` and
    /// `task.failed`.
    package static func identity(of spec: TaskSpec) -> [String: JSONValue] {
        var payload: [String: JSONValue] = [:]
        if let url = spec.url { payload["url"] = .string(URLRules.inEvents(url)) }
        if let token = spec.clientToken { payload["clientToken"] = .string(token) }
        if let tags = spec.tags, !tags.isEmpty { payload["tags"] = .array(tags.map { .string($0) }) }
        return payload
    }

    static func waiting(_ status: TaskStatus) -> [String: JSONValue] {
        var payload: [String: JSONValue] = [:]
        if let reason = status.reason { payload["reason"] = .string(reason.rawValue) }
        if let next = status.nextAttemptAt { payload["nextAttemptAt"] = .string(next.description) }
        if let error = status.error { payload["error"] = error.jsonValue }
        return payload
    }

    static func queued(_ cause: Displacement) -> [String: JSONValue] {
        var payload: [String: JSONValue] = ["explanation": .string(cause.explanation)]
        if let reason = cause.reason { payload["reason"] = .string(reason.rawValue) }
        return payload
    }

    static func completed(_ result: TaskResult, duration: Seconds) -> [String: JSONValue] {
        var payload: [String: JSONValue] = [
            "bytes": .integer(result.bytes.rawValue),
            "duration": .number(duration.rawValue),
            "verified": .bool(result.verified),
        ]
        if let file = result.file { payload["file"] = .string(file) }
        if let digest = result.sha256 { payload["sha256"] = .string(digest) }
        return payload
    }
}

extension TransferError {
    /// The error as events and tasks show it; the same members as its Codable form.
    package var jsonValue: JSONValue {
        var members: [String: JSONValue] = [
            "code": .string(code.rawValue), "message": .string(message), "retryable": .bool(retryable),
            "details": .object(details),
        ]
        if resumable { members["resumable"] = true }
        return .object(members)
    }
}

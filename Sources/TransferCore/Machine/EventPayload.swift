import TransferModel

/// Members of the events that the machine publishes, as protocol.md names them.
extension JSONMembers {
    /// Adds the members that identify the task, so that subscribers need not ask: `task.added`, `task.completed` and
    /// `task.failed` have them.
    package mutating func identify(as spec: Boxed<TaskSpec>) {
        if let url = spec.wrappedValue.url { add("url", URLRules.inEvents(url)) }
        if let token = spec.wrappedValue.clientToken { add("clientToken", token) }
        if let tags = spec.wrappedValue.tags, !tags.isEmpty { add("tags", .array(tags.map { .string($0) })) }
    }

    static func started(attempt: Int) -> JSONMembers {
        var payload = JSONMembers()
        payload.add("attempt", Int64(attempt))
        return payload
    }

    static func waiting(_ status: TaskStatus) -> JSONMembers {
        var payload = JSONMembers()
        if let reason = status.reason { payload.add("reason", reason.rawValue) }
        if let next = status.nextAttemptAt { payload.add("nextAttemptAt", next.description) }
        if let error = status.error { payload.add("error", error.jsonValue) }
        return payload
    }

    static func queued(_ cause: Displacement) -> JSONMembers {
        var payload = JSONMembers()
        if let reason = cause.reason { payload.add("reason", reason.rawValue) }
        payload.add("explanation", cause.explanation)
        return payload
    }

    static func completed(_ result: TaskResult, duration: Seconds, _ mirrors: [String]) -> JSONMembers {
        // The rest leaves room for the task's URL and tags.
        var payload = JSONMembers(room: 512)
        payload.add("bytes", result.bytes.rawValue)
        payload.add("duration", duration.rawValue)
        payload.add("verified", result.verified)
        if let file = result.file { payload.add("file", file) }
        if let digest = result.sha256 { payload.add("sha256", digest) }
        if !mirrors.isEmpty { payload.add("mirrors", .array(mirrors.map { .string(URLRules.inEvents($0)) })) }
        return payload
    }

    package static func failed(_ error: TransferError) -> JSONMembers { ["error": error.jsonValue] }
}

extension TransferError {
    /// The error as events and tasks show it; the same members as its shape.
    package var jsonValue: JSONValue {
        var members: [String: JSONValue] = [
            "code": .string(code.rawValue), "message": .string(message), "retryable": .bool(retryable),
            "details": .object(details),
        ]
        if resumable { members["resumable"] = true }
        return .object(members)
    }
}

import TransferModel
import TransferRPC

extension FollowedTask {
    init(_ view: TaskView) {
        self.init(id: view.id, name: TaskName.of(view), state: view.state)
        isNameOpen = TaskName.isOpen(view.spec)
        phase = view.phase
        reason = view.reason
        isUpload = view.spec.kind == .upload
        received = ByteCount(isUpload ? view.bytesSent : view.bytesReceived)
        let length = isUpload ? view.bytesToSend : view.bytesExpected
        expected = length >= 0 ? ByteCount(length) : nil
        decoded = view.bytesDecoded.map { ByteCount($0) }
        rate = view.rate
        remaining = view.eta
        nextAttemptAt = view.nextAttemptAt
        explanation = view.explanation
        error = view.error
        file = view.file
        startedAt = view.startedAt
        finishedAt = view.finishedAt
        status = view.response?.status.map { Int64($0) }
        resumedFrom = ByteCount(view.resumedFrom ?? 0)
        // After several attempts, the duration of the last one is unknown.
        if let startedAt, let finishedAt, view.attempts == 1 { duration = finishedAt.since(startedAt) }
    }
}

extension FollowedEvent {
    init(_ event: EventView) {
        sequence = event.sequence
        time = event.time
        type = event.type
        task = event.task
        payload = event.payload
    }
}

extension TaskName {
    static func of(_ view: TaskView) -> String {
        // An error page suggests a name too, but not that of the wanted file.
        let suggested = view.response.flatMap { ($0.status ?? 200) < 400 ? $0.suggestedFilename : nil }
        return of(
            file: view.file, destination: view.spec.destination, source: view.spec.source?.path,
            suggested: view.spec.kind == .upload ? nil : suggested, url: view.spec.url,
            description: view.spec.description)
    }

    /// Nobody has named the file, so the server's answer will name it.
    static func isOpen(_ spec: TaskSpec) -> Bool {
        spec.kind == .download && spec.destination?.path == nil && spec.destination?.filename == nil
            && spec.description == nil
    }

    static func of(_ spec: TaskSpec) -> String {
        of(
            file: nil, destination: spec.destination, source: spec.source?.path, suggested: nil, url: spec.url,
            description: spec.description)
    }
}

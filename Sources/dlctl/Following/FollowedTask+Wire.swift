import TransferModel
import TransferRPC

extension FollowedTask {
    init(_ view: TaskView) {
        self.init(id: view.id, name: TaskName.of(view), state: view.state)
        phase = view.phase
        reason = view.reason
        received = ByteCount(view.bytesReceived)
        expected = view.bytesExpected >= 0 ? ByteCount(view.bytesExpected) : nil
        rate = view.rate
        remaining = view.eta
        nextAttemptAt = view.nextAttemptAt
        error = view.error
        file = view.file
        startedAt = view.startedAt
        finishedAt = view.finishedAt
        if let startedAt, let finishedAt { duration = finishedAt.since(startedAt) }
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
        of(
            file: view.file, destination: view.spec.destination, suggested: view.response?.suggestedFilename,
            url: view.spec.url, description: view.spec.description)
    }

    static func of(_ spec: TaskSpec) -> String {
        of(file: nil, destination: spec.destination, suggested: nil, url: spec.url, description: spec.description)
    }
}

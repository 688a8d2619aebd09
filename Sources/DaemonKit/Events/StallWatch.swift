/// Finds clients that have bytes waiting and read none of them.
struct StallWatch {
    private struct Mark {
        var queued: Int
        var since: ContinuousClock.Instant
    }

    let limit: Duration
    private var marks: [Int: Mark] = [:]

    init(limit: Duration) { self.limit = limit }

    /// Returns the sinks whose queue has not shrunk for longer than the limit.
    mutating func stalled(_ sinks: [any EventSink], at now: ContinuousClock.Instant) -> [any EventSink] {
        var next: [Int: Mark] = [:]
        var stalled: [any EventSink] = []
        for sink in sinks where next[sink.id] == nil {
            let queued = sink.queuedBytes
            guard queued > 0 else { continue }
            let mark = marks[sink.id].flatMap { $0.queued <= queued ? Mark(queued: queued, since: $0.since) : nil }
            next[sink.id] = mark ?? Mark(queued: queued, since: now)
            if let mark, now - mark.since > limit { stalled.append(sink) }
        }
        marks = next
        return stalled
    }
}

import TransferModel

/// How far one request got, and when, as reported by libcurl and the clock: microseconds since it began.
package struct RequestSteps: Sendable, Hashable {
    /// The times at which the request left libcurl's queue, the name was resolved, the connection was made, and the TLS
    /// (or SSH) handshake was complete. 0 for steps that did not happen. For a reused connection, libcurl still reports
    /// some.
    package var queued: Int64 = 0
    package var lookedUp: Int64 = 0
    package var connected: Int64 = 0
    package var secured: Int64 = 0
    /// A connection was made for it, or at least begun.
    package var madeConnection = false
    /// The connection uses TLS or SSH.
    package var isSecure = false
    /// When the request was put on a connection, its last byte was handed over, and the answer's first byte was read.
    package var requested: Int64?
    package var sent: Int64?
    package var answered: Int64?
    package var ended: Int64
    /// libcurl gave up; otherwise the request was done, or was stopped.
    package var hasFailed = false

    package init(ended: Int64) { self.ended = ended }
}

extension ExchangeMetrics {
    /// Fills in the intervals and whether the connection was reused.
    ///
    /// Each step ends no earlier than the one before, and none ends after the exchange. A step that failed, or was
    /// under way when the exchange ended, ends with it.
    package mutating func set(_ steps: RequestSteps) {
        var clock = StepClock(end: steps.ended)
        isReused = steps.requested != nil && !steps.madeConnection
        if !isReused { setConnection(steps, &clock) }
        if let requested = steps.requested {
            request = clock.interval(from: requested, to: steps.sent ?? requested)
        }
        // A server may answer before it has received the whole body.
        if let answered = steps.answered {
            response = Interval(min(max(answered, steps.requested ?? 0), steps.ended), steps.ended)
        }
    }

    private mutating func setConnection(_ steps: RequestSteps, _ clock: inout StepClock) {
        let isUnderWay = steps.requested == nil && (steps.hasFailed || steps.madeConnection)
        guard steps.lookedUp > 0 else {
            if isUnderWay { domainLookup = clock.interval(from: steps.queued, to: steps.ended) }
            return
        }
        domainLookup = clock.interval(from: steps.queued, to: steps.lookedUp)
        guard steps.connected > 0 else {
            if isUnderWay { connect = clock.interval(from: steps.lookedUp, to: steps.ended) }
            return
        }
        connect = clock.interval(from: steps.lookedUp, to: steps.connected)
        if steps.secured > 0 {
            secureConnection = clock.interval(from: steps.connected, to: steps.secured)
        } else if steps.isSecure, isUnderWay {
            secureConnection = clock.interval(from: steps.connected, to: steps.ended)
        }
    }
}

/// Because of two clocks and rounding, a step may appear to begin slightly before the previous one ended.
private struct StepClock {
    var now: Int64 = 0
    let end: Int64

    init(end: Int64) { self.end = max(0, end) }

    mutating func interval(from start: Int64, to stop: Int64) -> ExchangeMetrics.Interval {
        let begun = min(max(start, now), end)
        now = min(max(stop, begun), end)
        return ExchangeMetrics.Interval(begun, now)
    }
}

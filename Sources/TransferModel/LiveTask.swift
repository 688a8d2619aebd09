/// What only the memory has about a running task.
public struct LiveFigures: Hashable, Sendable {
    public var phase: TaskPhase
    public var bytesReceived: Int64
    /// -1 if unknown.
    public var bytesExpected: Int64
    /// Over about the last second.
    public var rate: ByteRate
    /// Time left at that rate, if rate and length are known.
    public var eta: Seconds?
    public var resumedFrom: Int64?
    /// Offset in the source, or in the body if that is larger.
    public var bytesSent: Int64
    /// 0 if nothing is sent.
    public var bytesToSend: Int64
    /// nil unless it decodes.
    public var bytesDecoded: Int64?

    public init(
        phase: TaskPhase, bytesReceived: Int64, bytesExpected: Int64, rate: ByteRate, eta: Seconds? = nil,
        resumedFrom: Int64? = nil, bytesSent: Int64 = 0, bytesToSend: Int64 = 0, bytesDecoded: Int64? = nil
    ) {
        self.phase = phase
        self.bytesReceived = bytesReceived
        self.bytesExpected = bytesExpected
        self.rate = rate
        self.eta = eta
        self.resumedFrom = resumedFrom
        self.bytesSent = bytesSent
        self.bytesToSend = bytesToSend
        self.bytesDecoded = bytesDecoded
    }
}

/// What a queued task waits for.
public struct Queueing: Hashable, Sendable {
    public var reason: QueueReason
    public var explanation: String
    /// When the daemon next tries its host.
    public var nextAttemptAt: Timestamp?

    public init(reason: QueueReason, explanation: String, nextAttemptAt: Timestamp? = nil) {
        self.reason = reason
        self.explanation = explanation
        self.nextAttemptAt = nextAttemptAt
    }
}

/// One part of a download that is fetched, or was fetched, in parallel with others.
public struct SegmentView: WireObject, Hashable {
    public var start: ByteCount
    /// Exclusive.
    public var end: ByteCount
    public var received: ByteCount
    public var active: Bool
    public var url: String?

    public init(_ range: ByteRange, received: ByteCount, active: Bool, url: String? = nil) {
        start = range.start
        end = range.end
        self.received = received
        self.active = active
        self.url = url
    }

    public static let shape = Shape("Segment", Self(ByteRange(0, 0), received: 0, active: false)) { row in
        row("start", \.start, "Its first byte.")
        row("end", \.end, "The byte after its last.")
        row("received", \.received, "Bytes written, from its start on.")
        row("active", \.active, "Whether a connection is fetching it.")
        row("url", \.url, "The mirror it is fetched from, if there are several.")
    }
}

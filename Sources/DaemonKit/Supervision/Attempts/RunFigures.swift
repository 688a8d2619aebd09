import TransferModel

/// Counts what a run has transferred, over answers that begin at different offsets and over restarts.
struct RunFigures: Sendable {
    /// Bytes that pass one way.
    struct Direction: Sendable {
        /// Offset of the first byte of this run.
        var base: Int64 = 0
        /// What the run transferred before it began anew.
        var earlier: Int64 = 0

        func transferred(at offset: Int64) -> Int64 { earlier + max(0, offset - base) }

        mutating func restart(at offset: Int64) {
            earlier += max(0, offset - base)
            base = 0
        }
    }

    var phase: TaskPhase?
    /// nil unless it decodes.
    var decoded: Int64?
    private(set) var resumedFrom: Int64?
    /// What it has done so far outlasts a stop; nothing is done before there is an answer.
    var canResume = true
    private var received = Direction()
    private var sent = Direction()
    private var meter = RateMeter()

    var rate: Int64 { meter.rate }

    /// The part file holds bytes of earlier runs.
    mutating func holds(_ offset: ByteCount) { received.base = offset.rawValue }

    /// An answer is accepted whose first byte goes to `offset`.
    mutating func accepted(at offset: ByteCount, canResume: Bool) {
        self.canResume = canResume
        received.base = offset.rawValue
        resumedFrom = offset > .zero ? offset.rawValue : nil
    }

    /// The first byte of the source that this run sends.
    mutating func sends(from offset: ByteCount) {
        sent.base = offset.rawValue
        resumedFrom = offset > .zero ? offset.rawValue : nil
    }

    /// The part was emptied, or the upload begins anew; the bytes it had still count as transferred.
    mutating func restarted(received: ByteCount, sent: ByteCount) {
        self.received.restart(at: received.rawValue)
        self.sent.restart(at: sent.rawValue)
        resumedFrom = nil
    }

    func bytesTransferred(at offset: ByteCount) -> Int64 { received.transferred(at: offset.rawValue) }
    func bytesUploaded(at offset: ByteCount) -> Int64 { sent.transferred(at: offset.rawValue) }

    /// Takes a sample for the rate.
    /// - Parameter now: a monotonic clock, in milliseconds.
    mutating func sample(bytes: Int64, at now: Int64) { meter.sample(bytes: bytes, at: now) }
}

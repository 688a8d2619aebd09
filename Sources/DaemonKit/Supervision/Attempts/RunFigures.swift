import TransferModel

/// Counts what a run has transferred, across answers that begin at different offsets and across restarts.
struct RunFigures: Sendable {
    /// The bytes in one direction.
    struct Direction: Sendable {
        /// The offset of this run's first byte.
        var base: Int64 = 0
        /// What the run transferred before it started over.
        var earlier: Int64 = 0

        func transferred(at offset: Int64) -> Int64 { earlier + max(0, offset - base) }

        mutating func restart(at offset: Int64) {
            earlier += max(0, offset - base)
            base = 0
        }
    }

    var phase: TaskPhase?
    /// nil unless a body is being decoded.
    var decoded: Int64?
    private(set) var resumedFrom: Int64?
    /// A stop loses nothing that the run has done so far. True before there is an answer.
    var canResume = true
    private var received = Direction()
    private var sent = Direction()
    /// The last samples, with their times in milliseconds.
    private var samples: [(time: Int64, bytes: Int64)] = []
    /// Bytes per second over these samples, smoothed so that a progress bar does not flicker.
    private(set) var rate: Int64 = 0
    private static let window: Int64 = 3000

    /// The part file holds bytes of earlier runs.
    mutating func holds(_ offset: ByteCount) { received.base = offset.rawValue }

    /// Notes an accepted answer whose first byte goes to `offset`.
    mutating func accepted(at offset: ByteCount, canResume: Bool) {
        self.canResume = canResume
        received.base = offset.rawValue
        resumedFrom = offset > .zero ? offset.rawValue : nil
    }

    /// Notes the first byte of the source that this run sends.
    mutating func sends(from offset: ByteCount) {
        sent.base = offset.rawValue
        resumedFrom = offset > .zero ? offset.rawValue : nil
    }

    /// The part file was emptied, or the upload starts over. The earlier bytes still count as transferred.
    mutating func restarted(received: ByteCount, sent: ByteCount) {
        self.received.restart(at: received.rawValue)
        self.sent.restart(at: sent.rawValue)
        resumedFrom = nil
    }

    func bytesTransferred(at offset: ByteCount) -> Int64 { received.transferred(at: offset.rawValue) }
    func bytesUploaded(at offset: ByteCount) -> Int64 { sent.transferred(at: offset.rawValue) }

    /// Takes a sample for the rate.
    /// - Parameters:
    ///   - bytes: body bytes since the run began.
    ///   - time: a monotonic clock, in milliseconds.
    mutating func sample(bytes: Int64, at time: Int64) {
        if let last = samples.last, bytes < last.bytes || time < last.time { samples.removeAll() }
        samples.append((time, bytes))
        samples.removeAll { time - $0.time > Self.window && $0.time != time }
        guard let first = samples.first, time > first.time else { return }
        rate = (bytes - first.bytes) * 1000 / (time - first.time)
    }
}

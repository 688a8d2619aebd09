/// Bytes per second over the last few samples, smoothed so that a progress bar does not flicker.
struct RateMeter: Sendable {
    private var samples: [(time: Int64, bytes: Int64)] = []
    private(set) var rate: Int64 = 0

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

    private static let window: Int64 = 3000
}

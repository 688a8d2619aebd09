/// Which events of dld may be acknowledged. `events.ack` names one number for all before it, so the oldest event that is
/// not settled holds back the others.
struct EventLedger: Hashable, Sendable {
    private enum Owner: Hashable, Sendable {
        case end(JobKey)
        case question
    }

    /// Plain events that may wait for the next acknowledgement.
    private static let slack: Int64 = 64

    private var unsettled: [Int64: Owner] = [:]
    private var seen: Int64 = 0
    private var acknowledged: Int64 = 0
    private var isDue = false

    mutating func note(_ sequence: Int64?, endOf key: JobKey? = nil, isQuestion: Bool = false) {
        guard let sequence else { return }
        seen = max(seen, sequence)
        if let key { unsettled[sequence] = .end(key) }
        if isQuestion { unsettled[sequence] = .question }
    }

    /// The end of this job is committed, or refused.
    mutating func settle(_ key: JobKey) {
        let count = unsettled.count
        unsettled = unsettled.filter { $0.value != .end(key) }
        if unsettled.count < count { isDue = true }
    }

    /// The question is answered.
    mutating func settle(question sequence: Int64) {
        if unsettled.removeValue(forKey: sequence) != nil { isDue = true }
    }

    /// The number to acknowledge now, if any.
    mutating func next() -> Int64? {
        let newest = unsettled.keys.min().map { $0 - 1 } ?? seen
        guard newest > acknowledged, isDue || newest - acknowledged >= Self.slack else { return nil }
        (acknowledged, isDue) = (newest, false)
        return newest
    }

    /// dld is back: it replays what it was not told.
    mutating func restart() { self = Self() }
}

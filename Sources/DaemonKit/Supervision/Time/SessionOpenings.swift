import TransferModel
import TransferStore

/// When the time windows of sessions open, according to one snapshot of the store. Computed once for each session.
struct SessionOpenings {
    let now: Timestamp
    /// Returns when the session's next time window opens; nil if one is open.
    let closedUntil: @Sendable (SessionRecord, Timestamp) -> Timestamp?
    var known: [SessionKey: Timestamp?] = [:]

    /// When the session's next time window opens; nil if one is open.
    mutating func opening(of key: SessionKey, in snapshot: StoreSnapshot) throws -> Timestamp? {
        if let opening = known[key] { return opening }
        let opening = try snapshot.session(key).flatMap { closedUntil($0, now) }
        known.updateValue(opening, forKey: key)
        return opening
    }

    /// When a task that waits for `schedule` may begin; nil if it may begin now.
    mutating func beginning(of record: TaskRecord, in snapshot: StoreSnapshot) throws -> Timestamp? {
        if let begin = record.spec.earliestBeginAt, begin > now { return begin }
        return try opening(of: record.session, in: snapshot)
    }
}

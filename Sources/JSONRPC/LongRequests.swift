/// Who has the room for a long request: one of each user at a time, and a few of all. What a long line becomes in memory is
/// many times its length.
struct LongRequests {
    private struct Waiter {
        var connection: Int
        var uid: UInt32
    }

    /// Of all users together.
    let limit: Int
    private let limitsRoot: Bool
    private var holders: [Int: UInt32] = [:]
    /// In the order in which they came.
    private var waiters: [Waiter] = []

    init(limit: Int, limitsRoot: Bool) {
        self.limit = limit
        self.limitsRoot = limitsRoot
    }

    /// Whether the connection has the room now; otherwise it gets it later, from `release`.
    mutating func take(_ connection: Int, of uid: UInt32) -> Bool {
        if holders[connection] != nil { return true }
        if mayHold(uid) {
            holders[connection] = uid
            return true
        }
        if !waiters.contains(where: { $0.connection == connection }) {
            waiters.append(Waiter(connection: connection, uid: uid))
        }
        return false
    }

    /// The connection needs its room no more, nor its place among those who wait.
    /// - Returns: who has the room instead, and is to be told.
    mutating func release(_ connection: Int) -> Int? {
        waiters.removeAll { $0.connection == connection }
        guard holders.removeValue(forKey: connection) != nil,
            let next = waiters.firstIndex(where: { mayHold($0.uid) })
        else { return nil }
        let waiter = waiters.remove(at: next)
        holders[waiter.connection] = waiter.uid
        return waiter.connection
    }

    private func mayHold(_ uid: UInt32) -> Bool {
        holders.count < limit && (uid == 0 && !limitsRoot || !holders.values.contains(uid))
    }
}

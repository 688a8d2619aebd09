/// Limits long requests: one of each user at a time, and a few in total. In memory, a long line takes many times its
/// length.
struct LongRequests {
    private struct Waiter {
        var connection: Int
        var uid: UInt32
    }

    /// The limit for all users together.
    let limit: Int
    private let limitsRoot: Bool
    private var holders: [Int: UInt32] = [:]
    /// In the order in which they came.
    private var waiters: [Waiter] = []

    init(limit: Int, limitsRoot: Bool) {
        self.limit = limit
        self.limitsRoot = limitsRoot
    }

    /// Tells whether the connection may proceed now. Otherwise `release` returns it later.
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

    /// Releases the connection's place, or removes it from those that wait.
    /// - Returns: the connection that may proceed instead, and must be told.
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

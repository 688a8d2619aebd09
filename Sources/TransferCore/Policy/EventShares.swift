import TransferModel

/// Says whose events go when the log is too long: an owner loses none before every owner with more is down to as many.
package enum EventShares {
    /// - Parameters:
    ///   - counts: events of each owner.
    ///   - limit: events that the log keeps.
    /// - Returns: how many of their oldest events owners lose, those who lose none left out.
    package static func excess(_ counts: [UserID: Int], keeping limit: Int) -> [UserID: Int] {
        let owners = counts.sorted { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
        var room = max(0, limit)
        var excess: [UserID: Int] = [:]
        for (index, owner) in owners.enumerated() {
            // An owner with less than an equal share leaves the rest of it to the others.
            let kept = min(owner.value, room / (owners.count - index))
            room -= kept
            if kept < owner.value { excess[owner.key] = owner.value - kept }
        }
        return excess
    }
}

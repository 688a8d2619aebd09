import TransferModel

/// The events of each owner in the log.
extension [UserID: Int] {
    /// Decides whose events are dropped when the log is too long: an owner loses none until every owner with more has
    /// been reduced to as many.
    /// - Parameter limit: events that the log keeps.
    /// - Returns: how many of their oldest events owners lose; owners who lose none are left out.
    package func excess(keeping limit: Int) -> [UserID: Int] {
        let owners = sorted { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
        var room = Swift.max(0, limit)
        var excess: [UserID: Int] = [:]
        for (index, owner) in owners.enumerated() {
            // If an owner has less than an equal share, the others get the rest of it.
            let kept = Swift.min(owner.value, room / (owners.count - index))
            room -= kept
            if kept < owner.value { excess[owner.key] = owner.value - kept }
        }
        return excess
    }
}

import TransferModel

extension EventRecord {
    /// Its text on the wire after the member `subscription`: a comma, all other members and the closing brace. They are
    /// the same members as in `EventView`; an encoder would take ten times as long, for thousands of events a second.
    package var wireMembers: [UInt8] {
        var members = JSONMembers(room: 160 + session.identifier.utf8.count + payload.object.count)
        if let sequence { members.add("sequence", sequence.rawValue) }
        members.add("time", time)
        members.add("type", type.rawValue)
        members.add("session", session.identifier)
        members.add("owner", Int64(session.owner.rawValue))
        if let task { members.add("task", task.rawValue) }
        members.add(payload)
        return members.continuation
    }
}

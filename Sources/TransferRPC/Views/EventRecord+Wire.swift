import TransferModel

extension EventRecord {
    /// Its text on the wire after the member `subscription`: a comma, all other members and the closing brace. They are
    /// the same members as in `EventView`; an encoder would take thirty times as long, for thousands of events a second.
    package var wireMembers: [UInt8] {
        let room =
            Self.namesRoom + 4 * JSONCursor.roomOfNumber + JSONCursor.room(of: session.identifier)
            + payload.object.count
        return [UInt8](unsafeUninitializedCapacity: room) { space, count in
            var text = JSONCursor(space)
            if let sequence {
                text.write(",\"sequence\":")
                text.write(sequence.rawValue)
            }
            text.write(",\"time\":")
            text.write(quoting: time)
            text.write(",\"type\":")
            text.write(quoting: type.rawValue)
            text.write(",\"session\":")
            text.write(quoting: session.identifier)
            text.write(",\"owner\":")
            text.write(Int64(session.owner.rawValue))
            if let task {
                text.write(",\"task\":")
                text.write(task.rawValue)
            }
            if payload.isEmpty {
                text.write("}")
            } else {
                text.write(",")
                text.write(payload.object.dropFirst())
            }
            count = text.count
        }
    }

    /// More than the names of the fixed members and an event's type need.
    private static let namesRoom = 128
}

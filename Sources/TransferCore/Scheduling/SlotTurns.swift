import TransferModel

/// Who was served how long ago: owners and sessions take turns at free slots.
package struct SlotTurns: Sendable {
    /// With more than this, those served longest ago are forgotten and count as never served.
    static let remembered = 4096

    private var count = 0
    private var owners: [UserID: Int] = [:]
    private var sessions: [SessionKey: Int] = [:]

    package init() {}

    /// A task of `session` got a slot.
    package mutating func served(_ session: SessionKey) {
        count += 1
        owners[session.owner] = count
        sessions[session] = count
        if owners.count > Self.remembered { owners = owners.filter { count - $0.value < Self.remembered / 2 } }
        if sessions.count > Self.remembered { sessions = sessions.filter { count - $0.value < Self.remembered / 2 } }
    }

    package func lastServed(_ owner: UserID) -> Int { owners[owner, default: 0] }
    package func lastServed(_ session: SessionKey) -> Int { sessions[session, default: 0] }

    /// Sessions in the order in which they are served: owners with the fewest slots first, then sessions with the
    /// fewest, and among equals those that waited longest.
    package func order(_ waiting: [SessionKey], running: [SessionKey]) -> [SessionKey] {
        guard waiting.count > 1 else { return waiting }
        var ofOwner: [UserID: Int] = [:]
        var ofSession: [SessionKey: Int] = [:]
        for session in running {
            ofOwner[session.owner, default: 0] += 1
            ofSession[session, default: 0] += 1
        }
        func rank(_ session: SessionKey) -> (Int, Int, UInt32, Int, Int) {
            (
                ofOwner[session.owner, default: 0], lastServed(session.owner), session.owner.rawValue,
                ofSession[session, default: 0], lastServed(session)
            )
        }
        let ranked = waiting.map { (session: $0, rank: rank($0)) }.sorted { $0.rank < $1.rank }.map(\.session)
        return Self.interleaved(ranked)
    }

    /// One session of each owner comes before the second of any: an owner with a thousand sessions counts as one owner.
    private static func interleaved(_ ranked: [SessionKey]) -> [SessionKey] {
        var seen: [UserID: Int] = [:]
        let rounds = ranked.enumerated().map { index, session in
            defer { seen[session.owner, default: 0] += 1 }
            return (round: seen[session.owner, default: 0], index: index, session: session)
        }
        return rounds.sorted { ($0.round, $0.index) < ($1.round, $1.index) }.map(\.session)
    }
}

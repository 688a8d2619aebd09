import DaemonSetup
import FileKit
import Glibc
import Threading
import TransferModel

/// Says what a peer may do, from the kernel's word on its uid and the system's groups.
///
/// Groups may be kept by a directory on the network: they are looked up on threads of their own, one lookup for a uid at
/// a time, and what is known of a peer serves while it is looked up again.
package final class PeerDirectory: Sendable {
    /// Whether a user is a member; may block for as long as a directory does not answer.
    typealias Lookup = @Sendable (_ uid: UInt32, _ gid: UInt32, _ group: String) -> Bool

    private struct Known {
        var isAdmin: Bool
        /// Boot clock, milliseconds.
        var asOf: Int64
    }

    private struct State {
        var known: [UInt32: Known] = [:]
        /// Uids that are being looked up, and what waits for the answer, by client.
        var flights: [UInt32: [Int: @Sendable () -> Void]] = [:]

        /// False if a lookup is under way already.
        mutating func takesOff(_ uid: UInt32) -> Bool {
            guard flights[uid] == nil else { return false }
            flights[uid] = [:]
            return true
        }
    }

    private let adminGroup: String?
    private let time: any TimeSource
    private let lookup: Lookup
    private let state = Guarded(State())
    private let pool = BlockingPool(width: 4, name: "dld-groups")
    /// Milliseconds after which a peer is looked up again.
    private static let lifetime: Int64 = 60_000
    /// Milliseconds for which an administrator is taken for one; after that its requests wait for the lookup.
    private static let longestTrust: Int64 = 120_000

    /// - Parameter adminGroup: its members see and control everybody's tasks; nil in user mode.
    package convenience init(adminGroup: String?, time: any TimeSource = SystemTime()) {
        self.init(adminGroup: adminGroup, time: time) { uid, gid, group in
            GroupMembership.holds(of: uid, primary: gid, in: group)
        }
    }

    init(adminGroup: String?, time: any TimeSource, lookup: @escaping Lookup) {
        self.adminGroup = adminGroup
        self.time = time
        self.lookup = lookup
    }

    /// What is known of a peer; one that was never looked up is no administrator.
    package func peer(uid: UInt32, gid: UInt32, pid: Int32) -> Peer {
        let isAdmin = uid == 0 || (adminGroup != nil && state.withLock { $0.known[uid]?.isAdmin ?? false })
        return Peer(uid: UserID(uid), gid: gid, pid: pid, isAdmin: isAdmin)
    }

    /// Whether `peer` knows enough now; returns at once. What is older than a minute is looked up again beside.
    package func isKnown(uid: UInt32, gid: UInt32) -> Bool {
        guard let adminGroup, uid != 0 else { return true }
        let now = time.reading().boot
        let (serves, begins) = state.withLock { state -> (Bool, Bool) in
            guard let entry = state.known[uid], Self.serves(entry, at: now) else { return (false, false) }
            let isOld = now - entry.asOf >= Self.lifetime
            return (true, isOld ? state.takesOff(uid) : false)
        }
        if begins { look(uid, gid, adminGroup) }
        return serves
    }

    /// Has a peer looked up; `whenKnown` is called once, unless `client` is forgotten before.
    /// - Returns: false if it is known by now, and nothing is called.
    package func waits(
        uid: UInt32, gid: UInt32, client: Int, whenKnown: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let adminGroup, uid != 0 else { return false }
        let now = time.reading().boot
        let (waits, begins) = state.withLock { state -> (Bool, Bool) in
            if let entry = state.known[uid], Self.serves(entry, at: now) { return (false, false) }
            let begins = state.takesOff(uid)
            state.flights[uid]?[client] = whenKnown
            return (true, begins)
        }
        if begins { look(uid, gid, adminGroup) }
        return waits
    }

    /// The client is gone: nothing is called for it any more.
    package func forget(uid: UInt32, client: Int) {
        guard adminGroup != nil, uid != 0 else { return }
        state.withLock { _ = $0.flights[uid]?.removeValue(forKey: client) }
    }

    /// A directory that does not answer must not hold up who asks for nothing but their own, and must not keep anybody an
    /// administrator for ever.
    private static func serves(_ entry: Known, at now: Int64) -> Bool {
        !entry.isAdmin || now - entry.asOf < longestTrust
    }

    private func look(_ uid: UInt32, _ gid: UInt32, _ group: String) {
        pool.post { [self] in
            let isAdmin = lookup(uid, gid, group)
            let entry = Known(isAdmin: isAdmin, asOf: time.reading().boot)
            let waiting = state.withLock { state -> [Int: @Sendable () -> Void] in
                state.known[uid] = entry
                return state.flights.removeValue(forKey: uid) ?? [:]
            }
            for resume in waiting.values { resume() }
        }
    }
}

import DaemonSetup
import FileKit
import Glibc
import Threading
import TransferModel

/// Decides what a peer may do, by its uid (from the kernel) and the system's groups.
///
/// Groups may come from a directory on the network. They are looked up on separate threads, one lookup per uid at a
/// time. Meanwhile the previous result stays valid.
package final class PeerDirectory: Sendable {
    /// Tells whether a user is a member of a group. Blocks for as long as a directory does not answer.
    typealias Lookup = @Sendable (_ uid: UInt32, _ gid: UInt32, _ group: String) -> Bool

    /// `asOf` is in milliseconds of the boot clock.
    private typealias Known = (isAdmin: Bool, asOf: Int64)

    private struct State {
        var known: [UInt32: Known] = [:]
        /// Uids that are being looked up, and the callbacks that wait for the answer, by client.
        var flights: [UInt32: [Int: @Sendable () -> Void]] = [:]

        /// Marks a uid as being looked up. Returns false if a lookup is already in progress.
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
    /// Milliseconds for which a peer stays known as an administrator. After that, its requests wait for the lookup.
    private static let longestTrust: Int64 = 120_000

    /// - Parameter adminGroup: members of this group see and control everybody's tasks; nil in user mode.
    init(
        adminGroup: String?, time: any TimeSource = SystemTime(),
        lookup: @escaping Lookup = { GroupMembership.holds(of: $0, primary: $1, in: $2) }
    ) {
        self.adminGroup = adminGroup
        self.time = time
        self.lookup = lookup
    }

    /// Returns what is known about a peer. A peer that was never looked up is not an administrator.
    package func peer(uid: UInt32, gid: UInt32, pid: Int32) -> Peer {
        let isAdmin = uid == 0 || (adminGroup != nil && state.withLock { $0.known[uid]?.isAdmin ?? false })
        return Peer(uid: UserID(uid), gid: gid, pid: pid, isAdmin: isAdmin)
    }

    /// Tells whether `peer` knows enough now. Returns at once. A result older than a minute is refreshed in the
    /// background.
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

    /// Looks up a peer and calls `whenKnown` once, unless `client` is forgotten first.
    /// - Returns: false if the peer is known already; then nothing is called.
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

    /// Forgets a client that is gone: its callback is not called any more.
    package func forget(uid: UInt32, client: Int) {
        guard adminGroup != nil, uid != 0 else { return }
        state.withLock { _ = $0.flights[uid]?.removeValue(forKey: client) }
    }

    /// A directory that does not answer must not delay users who ask only for their own objects, and must not keep
    /// anybody an administrator forever.
    private static func serves(_ entry: Known, at now: Int64) -> Bool {
        !entry.isAdmin || now - entry.asOf < longestTrust
    }

    private func look(_ uid: UInt32, _ gid: UInt32, _ group: String) {
        pool.post { [self] in
            let isAdmin = lookup(uid, gid, group)
            let entry = (isAdmin: isAdmin, asOf: time.reading().boot)
            let waiting = state.withLock { state -> [Int: @Sendable () -> Void] in
                state.known[uid] = entry
                return state.flights.removeValue(forKey: uid) ?? [:]
            }
            for resume in waiting.values { resume() }
        }
    }
}

import Glibc
import Threading
import TransferModel

/// Says what a peer may do, from the kernel's word on its uid and the system's groups.
package final class PeerDirectory: Sendable {
    private struct Known {
        var isAdmin: Bool
        /// Boot clock, milliseconds.
        var asOf: Int64
    }

    private let adminGroup: String?
    private let time: any TimeSource
    private let known = Guarded([UInt32: Known]())
    private static let lifetime: Int64 = 60_000

    /// - Parameter adminGroup: its members see and control everybody's tasks; nil in user mode.
    package init(adminGroup: String?, time: any TimeSource = SystemTime()) {
        self.adminGroup = adminGroup
        self.time = time
    }

    package func peer(uid: UInt32, gid: UInt32, pid: Int32) -> Peer {
        Peer(uid: UserID(uid), gid: gid, pid: pid, isAdmin: uid == 0 || isAdmin(uid, gid))
    }

    /// Group membership is asked once a minute: it may go to a directory on the network.
    private func isAdmin(_ uid: UInt32, _ gid: UInt32) -> Bool {
        guard let adminGroup else { return false }
        let now = time.reading().boot
        if let entry = known.withLock({ $0[uid] }), now - entry.asOf < Self.lifetime { return entry.isAdmin }
        let isAdmin = Self.isMember(uid, primary: gid, of: adminGroup)
        known.withLock { $0[uid] = Known(isAdmin: isAdmin, asOf: now) }
        return isAdmin
    }

    /// getpwuid_r(3), getgrnam_r(3), getgrouplist(3).
    private static func isMember(_ uid: UInt32, primary: UInt32, of groupName: String) -> Bool {
        var buffer = [CChar](repeating: 0, count: 65536)
        var groupEntry = group()
        var foundGroup: UnsafeMutablePointer<group>?
        guard getgrnam_r(groupName, &groupEntry, &buffer, buffer.count, &foundGroup) == 0, foundGroup != nil
        else { return false }
        let wanted = groupEntry.gr_gid
        if primary == wanted { return true }
        var names = [CChar](repeating: 0, count: 65536)
        var user = passwd()
        var foundUser: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(uid, &user, &names, names.count, &foundUser) == 0, foundUser != nil else { return false }
        var count: Int32 = 256
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard getgrouplist(user.pw_name, user.pw_gid, &groups, &count) >= 0 else { return false }
        return groups.prefix(Int(count)).contains(wanted)
    }
}

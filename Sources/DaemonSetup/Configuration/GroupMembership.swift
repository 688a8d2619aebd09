import Glibc

/// Asks the system who is in which group: getgrnam_r(3), getpwuid_r(3), getgrouplist(3). Blocks.
package enum GroupMembership {
    /// The largest entry in bytes. A group with a hundred thousand members has megabytes.
    private static let largestEntry = 16 << 20
    /// The most groups of a process (NGROUPS_MAX).
    private static let mostGroups = 65536

    /// - Parameters:
    ///   - primary: the peer's own gid, which may differ from the gid in its entry.
    ///   - entry: the first size of the buffer for one entry, in bytes.
    ///   - groups: the first size of the list of groups.
    package static func holds(
        of uid: UInt32, primary: UInt32, in groupName: String, entry: Int = 65536, groups: Int = 256
    ) -> Bool {
        guard let wanted = number(of: groupName, entry: entry) else { return false }
        if primary == wanted { return true }
        let isMember = reading(from: entry) { buffer, size -> (code: Int32, value: Bool?) in
            var user = passwd()
            var result: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &user, buffer, size, &result)
            // The name is in the buffer, so it is read before the buffer is freed.
            guard code == 0, result != nil, let name = user.pw_name else { return (code, nil) }
            return (0, hasGroup(wanted, name: name, primary: user.pw_gid, from: groups))
        }
        return isMember ?? false
    }

    static func exists(_ groupName: String) -> Bool { number(of: groupName, entry: 65536) != nil }

    private static func number(of groupName: String, entry: Int) -> gid_t? {
        reading(from: entry) { buffer, size -> (code: Int32, value: gid_t?) in
            var found = group()
            var result: UnsafeMutablePointer<group>?
            let code = getgrnam_r(groupName, &found, buffer, size, &result)
            return (code, result == nil ? nil : found.gr_gid)
        }
    }

    /// The result of `look`, whose buffer is doubled as long as it returns ERANGE; nil if it finds nothing or fails.
    private static func reading<Value>(
        from first: Int, _ look: (UnsafeMutablePointer<CChar>, _ size: Int) -> (code: Int32, value: Value?)
    ) -> Value? {
        var size = max(1, first)
        while size <= largestEntry {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let (code, value) = look(buffer, size)
            guard code == ERANGE else { return code == 0 ? value : nil }
            size *= 2
        }
        return nil
    }

    private static func hasGroup(
        _ wanted: gid_t, name: UnsafeMutablePointer<CChar>, primary: gid_t, from first: Int
    ) -> Bool {
        var room = first
        while room <= mostGroups {
            var list = [gid_t](repeating: 0, count: room)
            var count = Int32(room)
            if getgrouplist(name, primary, &list, &count) >= 0 { return list.prefix(Int(count)).contains(wanted) }
            // The call returns the number of groups.
            room = max(Int(count), 2 * room, 1)
        }
        return false
    }
}

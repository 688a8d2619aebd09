import Glibc

/// Asks the system who is in which group: getgrnam_r(3), getpwuid_r(3), getgrouplist(3). Blocks.
package enum GroupMembership {
    /// Bytes of one entry: a group of a hundred thousand members has some.
    private static let largestEntry = 16 << 20
    /// As many as the kernel lets a process have (NGROUPS_MAX).
    private static let mostGroups = 65536

    /// - Parameters:
    ///   - primary: the peer's own gid, which need not be the one of its entry.
    ///   - entry: bytes to begin with for one entry.
    ///   - groups: how many groups to begin with.
    package static func holds(
        of uid: UInt32, primary: UInt32, in groupName: String, entry: Int = 65536, groups: Int = 256
    ) -> Bool {
        guard let wanted = number(of: groupName, entry: entry) else { return false }
        if primary == wanted { return true }
        let isMember = reading(from: entry) { buffer, size -> (code: Int32, value: Bool?) in
            var user = passwd()
            var result: UnsafeMutablePointer<passwd>?
            let code = getpwuid_r(uid, &user, buffer, size, &result)
            // The name lies in the buffer.
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

    /// What `look` finds with a buffer that is doubled while it says ERANGE; nil if it finds nothing or fails.
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
            // It says how many there are.
            room = max(Int(count), 2 * room, 1)
        }
        return false
    }
}

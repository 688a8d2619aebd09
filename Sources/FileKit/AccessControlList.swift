import CLinux
import Glibc
import TransferModel

/// Encodes a POSIX access control list in the kernel's format for `system.posix_acl_access` and
/// `system.posix_acl_default` (acl(5), linux/posix_acl_xattr.h), so that no library is needed for a single list.
struct AccessControlList: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var tag: Tag
        /// rwx, as in a digit of a mode.
        var permissions: UInt16
        /// The user id for `.user`; otherwise absent.
        var id: UInt32 = .max
    }

    enum Tag: UInt16, Sendable {
        case ownerUser = 0x01
        case user = 0x02
        case ownerGroup = 0x04
        case mask = 0x10
        case other = 0x20
    }

    var entries: [Entry]

    /// Both users may do everything, and nobody else anything.
    static func shared(between owner: UserID, and daemon: UserID) -> AccessControlList {
        let users = Set([owner, daemon]).sorted().map { Entry(tag: .user, permissions: 7, id: $0.rawValue) }
        return AccessControlList(
            entries: [Entry(tag: .ownerUser, permissions: 7)] + users
                + [
                    Entry(tag: .ownerGroup, permissions: 0), Entry(tag: .mask, permissions: 7),
                    Entry(tag: .other, permissions: 0),
                ])
    }

    /// Little-endian: version 2, then tag, permissions and id of each entry.
    var encoded: [UInt8] {
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            for value in [entry.tag.rawValue, entry.permissions] {
                bytes.append(UInt8(truncatingIfNeeded: value))
                bytes.append(UInt8(truncatingIfNeeded: value >> 8))
            }
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: entry.id >> shift)) }
        }
        return bytes
    }

    /// Sets the list on the folder, and as the default for new files and folders in it.
    /// - Throws: `destination.not_writable` if the file system does not support access control lists.
    func apply(to folder: Int32, path: String) throws(TransferError) {
        let value = encoded
        for name in ["system.posix_acl_access", "system.posix_acl_default"] {
            if Self.stored(name, on: folder, capacity: value.count) == value { continue }
            guard fsetxattr(folder, name, value, value.count, 0) == 0 else {
                let code = errno
                throw TransferError(
                    .destinationNotWritable,
                    "\(path): cannot set its access control list: \(errorText(code)). "
                        + "The state folder of the system daemon needs a file system with POSIX ACLs.",
                    details: ["path": .string(path), "errno": .integer(Int64(code))])
            }
        }
    }

    private static func stored(_ name: String, on folder: Int32, capacity: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = max(0, fgetxattr(folder, name, buffer.baseAddress, capacity))
        }
    }
}

import Glibc
import TransferModel

/// Owns one file descriptor, and closes it with the last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    package init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit { close(rawValue) }
}

/// Identifies a file: a rename does not change it, but a replacement does.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64

    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    package init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// The identity of the part file in the checkpoint.
    package init(_ checkpoint: Checkpoint) { self.init(device: checkpoint.device, inode: checkpoint.inode) }
}

extension FileIdentity: WireObject {
    package static let shape = Shape("FileIdentity", Self(device: 0, inode: 0)) { row in
        row("device", \.device)
        row("inode", \.inode)
    }
}

// These are functions, because other targets do not reliably see members that this one adds to C types.

package func isRegular(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG }
package func isFolder(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }
package func isLink(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFLNK }

/// Nanoseconds since 1970, as far as 64 bits reach.
package func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }

/// fstat(2); nil with errno set if it fails.
package func status(of descriptor: Int32) -> stat? {
    var result = stat()
    return fstat(descriptor, &result) == 0 ? result : nil
}

/// fstatat(2) without following a symbolic link; nil with errno set if it fails.
package func status(of name: String, in folder: Int32) -> stat? {
    var result = stat()
    return fstatat(folder, name, &result, AT_SYMLINK_NOFOLLOW) == 0 ? result : nil
}

import Glibc
import TransferModel

/// Owns one file descriptor; closes it when the last reference goes.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    package init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit { close(rawValue) }
}

/// Who a file is: what a rename does not change and a replacement does.
package struct FileIdentity: Hashable, Sendable, Codable {
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

    /// Of the part file that the checkpoint speaks of.
    package init(_ checkpoint: Checkpoint) { self.init(device: checkpoint.device, inode: checkpoint.inode) }
}

// Functions, since other targets do not reliably see members that this one adds to types of C.

package func isRegular(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFREG }
package func isFolder(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }
package func isLink(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFLNK }

/// Since 1970, as far as 64 bits go.
package func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }

/// fstat(2); nil with errno set where it fails.
package func status(of descriptor: Int32) -> stat? {
    var result = stat()
    return fstat(descriptor, &result) == 0 ? result : nil
}

/// fstatat(2) that does not follow a symbolic link; nil with errno set where it fails.
package func status(of name: String, in folder: Int32) -> stat? {
    var result = stat()
    return fstatat(folder, name, &result, AT_SYMLINK_NOFOLLOW) == 0 ? result : nil
}

import CLinux
import Glibc

/// A file system that answers nothing, like an NFS mount whose server is gone: FUSE without a server. Needs root.
package final class HungDisk: Sendable {
    package let path: String
    private let folder: TemporaryFolder
    private let server: Int32

    package static let isPossible = Requirements.mayAdministrate && access("/dev/fuse", R_OK | W_OK) == 0

    package init() throws {
        folder = try TemporaryFolder()
        path = try folder.folder("hung")
        server = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard server >= 0 else { throw SupportError("open /dev/fuse: errno \(errno)") }
        let options = "fd=\(server),rootmode=40000,user_id=0,group_id=0"
        guard mount("hung", path, "fuse", 0, options) == 0 else {
            let code = errno
            close(server)
            throw SupportError("mount: errno \(code)")
        }
    }

    /// Makes all waiting calls fail.
    deinit {
        close(server)
        umount2(path, Int32(MNT_DETACH))
    }
}

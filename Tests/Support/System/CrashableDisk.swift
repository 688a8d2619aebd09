import Glibc

/// A file system in an image file (ext4 by default) whose power can be cut: what was not flushed is lost, as in a real
/// power cut.
///
/// It is mounted below a shared mount (mount_namespaces(7)). A process that has got copies of all mounts meanwhile, as
/// from ip-netns(8), then loses this one when it is unmounted here. Otherwise the cut file system would live on there
/// and write to the image.
package final class CrashableDisk: Sendable {
    package let path: String
    private let image: String
    private let folder: TemporaryFolder
    private let device: LoopDevice

    package enum Kind: String {
        case ext4, btrfs

        var command: [String] {
            switch self {
            case .ext4: ["mkfs.ext4", "-q", "-F"]
            case .btrfs: ["mkfs.btrfs", "-q", "-f"]
            }
        }
    }

    /// - Parameter megabytes: the size of the image, which is sparse; btrfs needs at least 110.
    package static func make(_ kind: Kind = .ext4, megabytes: Int) async throws -> CrashableDisk {
        let disk = try CrashableDisk(megabytes: megabytes)
        try await Program.require(["mount", "--bind", disk.folder.path, disk.folder.path])
        try await Program.require(["mount", "--make-shared", disk.folder.path])
        try await Program.require(kind.command + [disk.image])
        try await disk.mount()
        return disk
    }

    /// Tells whether this process may mount one.
    package static var isPossible: Bool { isPossible(.ext4) }

    package static func isPossible(_ kind: Kind) -> Bool {
        let known = (try? Files.text("/proc/filesystems")) ?? ""
        return Requirements.mayAdministrate && Requirements.has(kind.command[0])
            && known.split(whereSeparator: \.isWhitespace).contains(Substring(kind.rawValue))
    }

    /// The bytes available to unprivileged users; more is reserved for root (mkfs.ext4(8), -m).
    package func unreservedSpace() throws -> Int64 {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { throw SupportError("statvfs \(path): errno \(errno)") }
        guard room.f_bfree > room.f_bavail else { throw SupportError("\(path) keeps nothing for root") }
        return Int64(room.f_bavail * room.f_frsize)
    }

    /// Takes all free space, to the last block. Remove the file to free it.
    package func fillUp(_ name: String) throws {
        let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SupportError("open \(name): errno \(errno)") }
        defer { close(descriptor) }
        for size in [65536, 512] {
            let bytes = [UInt8](repeating: 0x55, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
        sync()
    }

    private init(megabytes: Int) throws {
        folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        path = try folder.folder("disk")
        device = try LoopDevice()
        image = folder.file("image")
        try Files.write(image, [])
        guard truncate(image, off_t(megabytes) << 20) == 0 else { throw SupportError("truncate: errno \(errno)") }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        umount2(folder.path, Int32(MNT_DETACH))
    }

    package func mount() async throws {
        try await device.attach(image)
        try await Program.require(["mount", device.path, path])
        chmod(path, 0o777)
    }

    package func unmount() async throws {
        try await Program.require(["umount", path])
        try await device.detach()
    }

    /// FS_IOC_SHUTDOWN without flushing the log: the file system loses what it has not written, and every call fails.
    package func cutPower() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SupportError("open \(path): errno \(errno)") }
        defer { close(descriptor) }
        var withoutLogFlush: UInt32 = 2
        guard ioctl(descriptor, 0x8004_587d, &withoutLogFlush) == 0 else {
            throw SupportError("FS_IOC_SHUTDOWN: errno \(errno)")
        }
    }
}

import Glibc
import TestSupport
import Testing

@testable import FileKit

struct MountTableTests {
    private let table = MountTable(
        #"""
        21 28 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw
        28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
        40 28 0:51 / /mnt/my\040disk rw - nfs4 server:/x rw
        41 28 259:300 / /mnt/my\040disk rw - ext4 /dev/nvme0n1p300 rw
        42 41 0:60 / /mnt/my\040disk/deep rw - tmpfs none rw
        nonsense
        43 28 x:y / /bad rw - tmpfs none rw
        """#)

    @Test(
        arguments: [
            ("/", "/", 0x802), ("/home/u/f", "/", 0x802), ("/sys", "/sys", 19), ("/system", "/", 0x802),
            ("/mnt/my disk", "/mnt/my disk", 0x11_032c), ("/mnt/my disk/a/b", "/mnt/my disk", 0x11_032c),
            ("/mnt/my disk/deep/er", "/mnt/my disk/deep", 60), ("/bad/f", "/", 0x802),
        ] as [(String, String, UInt64)])
    func theNearestMountIsTheOneThatIsSeen(path: String, point: String, device: UInt64) {
        let found = table.mount(of: path)
        #expect(found.point == point)
        // Major 259, minor 300 (makedev(3)).
        #expect(found.device == device)
    }

    @Test func itSaysWhatStatSays() throws {
        let folder = try TemporaryFolder()
        let path = "/proc/self/mountinfo"
        #expect(MountTable.current.mount(of: path).device == Files.status(path).map { UInt64($0.st_dev) })
        #expect(MountTable.current.mount(of: folder.path).point.hasPrefix("/"))
    }

    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aMountIsSeenAtOnce() throws {
        let before = MountTable.current.generation
        let disk = try SmallDisk(size: "1m")
        let table = MountTable.current
        #expect(table.generation > before)
        #expect(table.mount(of: disk.path + "/f").point == disk.path)
        #expect(table.mount(of: disk.path).device == Files.status(disk.path).map { UInt64($0.st_dev) })
    }

    /// Links inside a file system are followed there. A link to another file system leads to its mount.
    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aWalkFollowsLinksFromMountToMount() throws {
        let (folder, disk) = (try TemporaryFolder(), try SmallDisk(size: "1m"))
        #expect(symlink("loop", folder.file("loop")) == 0)
        #expect(symlink("first", folder.file("second")) == 0)
        #expect(symlink("\(disk.path)/here", folder.file("first")) == 0)
        #expect(mkdir(disk.path + "/here", 0o755) == 0)
        #expect(symlink(folder.path, disk.path + "/here/back") == 0)
        let device = try #require(Files.status(disk.path).map { UInt64($0.st_dev) })
        let table = MountTable.current

        #expect(MountWalk(folder.file("none/f"), table).next() == nil)
        #expect(MountWalk(folder.file("loop/f"), table).next() == nil)
        let away = try #require(MountWalk(folder.file("second/../second/f"), table).next())
        #expect(away.device == device)
        #expect(away.next() == nil)
        let back = try #require(MountWalk(disk.path + "/here/back/none", table).next())
        #expect(back.device != device)
        #expect(back.next() == nil)
        #expect(MountWalk(folder.file("first"), table, followsLinks: false).next() == nil)
    }
}

import Glibc

/// A loop device with a number that nobody else uses (loop(4)). It keeps the number, because a daemon takes another
/// device for another disk. mount(8) picks any free device, so another process could get ours between two mounts.
final class LoopDevice: Sendable {
    private static let (add, remove): (UInt, UInt) = (0x4C80, 0x4C81)
    private static let detach: UInt = 0x4C01
    /// Numbers far from those that the kernel gives, within their 20 bits.
    private static let numbers: Range<CInt> = 1 << 19..<1 << 20

    let path: String
    private let number: CInt

    init() throws {
        let control = open("/dev/loop-control", O_RDWR | O_CLOEXEC)
        guard control >= 0 else { throw SupportError("open /dev/loop-control: errno \(errno)") }
        defer { close(control) }
        var free: CInt?
        for _ in 0..<100 where free == nil {
            let candidate = CInt.random(in: Self.numbers)
            if ioctl(control, Self.add, candidate) >= 0 { free = candidate }
        }
        guard let free else { throw SupportError("no loop device is to be had: errno \(errno)") }
        number = free
        path = "/dev/loop\(free)"
        if mknod(path, S_IFBLK | 0o600, Self.number(of: free)) != 0, errno != EEXIST {
            throw SupportError("mknod \(path): errno \(errno)")
        }
    }

    deinit {
        let device = open(path, O_RDONLY | O_CLOEXEC)
        if device >= 0 {
            _ = ioctl(device, Self.detach)
            close(device)
        }
        let control = open("/dev/loop-control", O_RDWR | O_CLOEXEC)
        if control >= 0 {
            _ = ioctl(control, Self.remove, number)
            close(control)
        }
        unlink(path)
    }

    /// makedev(3) with 7, the major number of loop devices.
    private static func number(of minor: CInt) -> dev_t {
        dev_t(7 << 8 | minor & 0xff) | dev_t(minor & ~0xff) << 12
    }

    /// A device is detached when the last process has closed it (loop(4)). Programs such as mount(8) open all devices
    /// for a moment.
    func attach(_ image: String) async throws {
        let isAttached = await eventually(within: 10) {
            (try? await Program.run(["losetup", path, image]))?.status == 0
        }
        guard isAttached else { return try await Program.require(["losetup", path, image]) }
    }

    /// Nothing of the device's cache survives it.
    func detach() async throws { try await Program.require(["losetup", "--detach", path]) }
}

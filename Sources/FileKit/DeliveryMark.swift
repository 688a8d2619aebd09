import CLinux
import Glibc
import TransferModel

/// Says in an extended attribute whose delivery a file is, from before it gets its name until the store knows of it.
///
/// A daemon that dies in between finds its file again by this, without having stored anything about it before.
package struct DeliveryMark: Sendable, Hashable {
    static let attribute = "user.dld.delivery"

    package let text: String

    /// - Parameters:
    ///   - size: the file's; one that was cut or changed since is not recognised.
    ///   - isProven: whether a digest proved it.
    ///   - boot: name of the boot in which alone the mark counts: for files that are not synced. nil = always.
    package init(store: String, task: TaskID, size: Int, isProven: Bool, boot: String?) {
        text = .joining(
            store, "-", String(task.rawValue), "-", String(size), isProven ? "-proven" : "-unproven",
            boot == nil ? "" : "-", boot ?? "")
    }

    /// False if the file system keeps no such attributes.
    package func set(on file: Int32) -> Bool {
        var text = text
        return text.withUTF8 { fsetxattr(file, Self.attribute, $0.baseAddress, $0.count, 0) } == 0
    }

    package static func remove(from file: Int32) { _ = fremovexattr(file, attribute) }

    /// Whether an open file of `size` bytes, which this task of this store delivered, was proven complete; nil if
    /// it is not this task's.
    static func proof(on file: Int32, store: String, task: TaskID, size: Int) -> Bool? {
        guard let text = text(of: file) else { return nil }
        for boot in [nil, BootName.current] {
            for isProven in [true, false] {
                let mark = DeliveryMark(store: store, task: task, size: size, isProven: isProven, boot: boot)
                if mark.text == text { return isProven }
            }
        }
        return nil
    }

    private static func text(of file: Int32) -> String? {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            let count = fgetxattr(file, attribute, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
    }
}

/// The kernel's random name of this boot; nil if /proc does not tell.
package enum BootName {
    package static let current: String? = {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            guard count >= 36 else { return nil }
            return String(decoding: buffer[..<36], as: UTF8.self)
        }
    }()
}

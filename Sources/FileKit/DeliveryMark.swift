import CLinux
import Glibc
import TransferModel

/// An extended attribute that says which task delivered a file. It is set before the file gets its name, and removed
/// after the store knows of the delivery.
///
/// If a daemon dies in between, the next one finds the file by this mark, although nothing about it was stored before.
package struct DeliveryMark: Sendable, Hashable {
    static let attribute = "user.dld.delivery"

    package let text: String

    /// - Parameters:
    ///   - size: the file's size. A file that was truncated or extended since is not recognised.
    ///   - isProven: tells whether a digest proved the file.
    ///   - boot: the only boot in which the mark counts, for files that are not synced; nil for all boots.
    package init(store: String, task: TaskID, size: Int, isProven: Bool, boot: String?) {
        text = .joining(
            store, "-", String(task.rawValue), "-", String(size), isProven ? "-proven" : "-unproven",
            boot == nil ? "" : "-", boot ?? "")
    }

    /// Returns false if the file system does not support such attributes.
    package func set(on file: Int32) -> Bool {
        var text = text
        return text.withUTF8 { fsetxattr(file, Self.attribute, $0.baseAddress, $0.count, 0) } == 0
    }

    package static func remove(from file: Int32) { _ = fremovexattr(file, attribute) }

    /// Tells whether an open file of `size` bytes, delivered by this task of this store, was proven complete; nil if
    /// this task did not deliver it.
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

/// The kernel's random id of this boot; nil if /proc does not show it.
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

import CLinux
import Foundation
import Threading
import TransferModel

/// Keeps 16 MiB of the state folder's file system, so that state changes still fit when it is full.
final class Reserve: Sendable {
    static let size = ByteCount.mebibytes(16)
    /// Free space beside the reserve before it is taken again, so that the store does not flap.
    static let margin = ByteCount.mebibytes(1)

    private let path: String
    private let held = Guarded(false)

    init(path: String) {
        self.path = path
    }

    /// Whether the reserve is given away (or was never got): adds are refused then.
    var isLow: Bool { held.withLock { !$0 } }

    /// Allocates the reserve where there is room.
    /// - Returns: whether it is held now.
    @discardableResult
    func restore() -> Bool {
        held.withLock { held in
            if !held { held = allocate() }
            return held
        }
    }

    /// Gives the space back to the file system.
    /// - Returns: whether there was something to give.
    func release() -> Bool {
        held.withLock { held in
            let had = held
            held = false
            unlink(path)
            return had
        }
    }

    private func allocate() -> Bool {
        // Whatever else took the name is not the reserve; a folder stays.
        var found = stat()
        if lstat(path, &found) == 0, found.st_mode & S_IFMT != S_IFREG { unlink(path) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return false }
        let missing = max(0, Self.size.rawValue - Int64(info.st_blocks) * 512)
        guard missing > 0 else { return true }
        let free = dld_free_space(descriptor)
        if (0..<missing + Self.margin.rawValue).contains(free) {
            unlink(path)
            return false
        }
        guard posix_fallocate(descriptor, 0, Int(Self.size.rawValue)) == 0 else {
            unlink(path)
            return false
        }
        return true
    }
}

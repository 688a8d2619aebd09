import CLinux
import Glibc
import Threading
import TransferModel

/// Keeps 16 MiB of the state folder's file system, so that state changes still fit when it is full.
final class Reserve: Sendable {
    static let size = ByteCount.mebibytes(16)
    /// Free space beyond the reserve that is required before it is taken again, so that the store does not flap.
    static let margin = ByteCount.mebibytes(1)

    /// Why adds are refused.
    enum Lack: Hashable, Sendable { case room, fileSize }

    private let path: String
    private let health: StoreHealth
    private let missing = Guarded<Lack?>(.room)
    /// One change at a time, with its news to `health`. The lock is held while the file system allocates or removes the
    /// file; `lack` does not wait for that.
    private let changing = Guarded(false)

    init(path: String, health: StoreHealth) {
        self.path = path
        self.health = health
    }

    /// Why the reserve was released, or could never be allocated; nil while it is held.
    var lack: Lack? { missing.withLock { $0 } }

    /// Allocates the reserve if there is room.
    /// - Returns: whether it is held now.
    @discardableResult
    func restore() -> Bool {
        changing.withLock { _ in
            guard lack != nil else { return true }
            let found = allocate()
            missing.withLock { $0 = found }
            health.note(.full, found?.refusal)
            return found == nil
        }
    }

    /// Gives the space back to the file system.
    /// - Returns: whether there was anything to give back.
    func release() -> Bool {
        changing.withLock { _ in
            defer { unlink(path) }
            guard lack == nil else { return false }
            missing.withLock { $0 = .room }
            health.note(.full, Lack.room.refusal)
            return true
        }
    }

    /// - Returns: what is missing for the reserve.
    private func allocate() -> Lack? {
        // Anything else with this name is not the reserve; a folder that is not empty stays.
        if let found = fileStatus(path, followsLinks: false), found.st_mode & S_IFMT != S_IFREG { remove(path) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return .room }
        defer { Glibc.close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return .room }
        let missing = max(0, Self.size.rawValue - Int64(info.st_blocks) * 512)
        guard missing > 0 else { return nil }
        let free = dld_free_space(descriptor)
        if (0..<missing + Self.margin.rawValue).contains(free) {
            unlink(path)
            return .room
        }
        let code = posix_fallocate(descriptor, 0, Int(Self.size.rawValue))
        guard code != 0 else { return nil }
        unlink(path)
        return code == EFBIG ? .fileSize : .room
    }
}

extension Reserve.Lack {
    /// The error for a refused add.
    var refusal: TransferError {
        switch self {
        case .room:
            TransferError(
                .diskFull, "No space is left in the state folder: free some, then add again. Known tasks are safe.")
        case .fileSize:
            TransferError(
                .limitReached,
                "The daemon's file-size limit (ulimit -f), or the state folder's file system, allows no file of "
                    + "\(Reserve.size) bytes, which the state needs. Raise the limit, with LimitFSIZE= in dld.service or, if "
                    + "dlctl or a shell started dld, with ulimit -f unlimited there, and restart dld. Known tasks are safe.",
                retryable: false)
        }
    }
}

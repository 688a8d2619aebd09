import FileKit
import Glibc
import TransferModel
import TransferStore

/// Removes part files that are not needed any more, and reports which may still exist. All calls block: run them in a
/// `BlockingPool`.
struct PartRemoval: Sendable {
    /// The part files that may still exist.
    struct Left: Sendable, Hashable {
        /// Their file systems are unavailable: nothing changes before one is mounted.
        var away: [LeftPart] = []
        /// Their file systems did not remove them or did not answer: the next try may succeed.
        var failed: [LeftPart] = []

        var all: [LeftPart] { away + failed }
    }

    let access: FileAccess
    let storeID: String
    /// A file that stays, whatever its path.
    var kept: FileIdentity?

    /// Removes part files durably. A part file that came back with the next boot would belong to no task.
    /// - Parameters:
    ///   - parts: sorted so that those of one folder are together.
    ///   - isStopped: tells whether nobody waits for the answer any more. It is called before each change.
    /// - Returns: the part files that may still exist.
    func remove(_ parts: [LeftPart], isStopped: () -> Bool) -> Left {
        var left = Left()
        var rest = parts[...]
        while let first = rest.first {
            let neighbours = rest.prefix { $0.folder == first.folder && $0.owner == first.owner }
            rest = rest.dropFirst(neighbours.count)
            do throws(TransferError) {
                if let folder = try access.existingFolder(first.folder, owner: first.owner) {
                    remove(Array(neighbours), from: folder, isStopped, into: &left)
                } else {
                    for part in neighbours { lookFor(part, into: &left) }
                }
            } catch {
                left.failed += neighbours
            }
        }
        return left
    }

    /// Examines a part file whose folder is missing: it may be gone with the folder, or its file system may be
    /// unavailable.
    private func lookFor(_ part: LeftPart, into left: inout Left) {
        do throws(TransferError) {
            if !(try isGone(part)) { left.away.append(part) }
        } catch {
            left.failed.append(part)
        }
    }

    private func remove(
        _ parts: [LeftPart], from folder: Folder, _ isStopped: () -> Bool, into left: inout Left
    ) {
        var isChanged = false
        for part in parts {
            do throws(TransferError) {
                guard let status = try folder.status(of: part.name) else {
                    // No file has the name. On another file system, that proves nothing.
                    if let device = part.device, device != folder.device { left.away.append(part) }
                    continue
                }
                guard isOurs(part, status, in: folder) else { continue }
                if !isStopped(), unlinkat(folder.fileDescriptor, part.name, 0) == 0 {
                    isChanged = true
                } else {
                    left.failed.append(part)
                }
            } catch {
                left.failed.append(part)
            }
        }
        // A disk that cannot make this durable must not prevent giving up a task.
        if isChanged { try? folder.sync() }
    }

    /// A name that contains this store and the task identifies its owner. A part file with another name is ours only if
    /// device and inode match.
    private func isOurs(_ part: LeftPart, _ status: stat, in folder: Folder) -> Bool {
        guard isRegular(status), PartName.isPartName(part.name), FileIdentity(status) != kept else { return false }
        if PartName.task(of: part.name, store: storeID) == part.task { return true }
        guard let device = part.device, let inode = part.inode else { return false }
        return FileIdentity(status) == FileIdentity(device: device, inode: inode)
    }

    /// Tells whether the folder is missing on its own file system, rather than together with it.
    /// - Throws: the error of the file system if neither can be determined.
    private func isGone(_ part: LeftPart) throws(TransferError) -> Bool {
        guard let device = part.device else { return true }
        var path = PathRules.normalized(part.folder)
        while path != "/" {
            path = TransferFiles.folder(of: path)
            if let folder = try access.existingFolder(path, owner: part.owner) { return folder.device == device }
        }
        return false
    }
}

extension FileAccess {
    /// Opens a folder; nil if it does not exist.
    func existingFolder(_ path: String, owner: UserID) throws(TransferError) -> Folder? {
        do throws(TransferError) {
            return try openFolder(path, owner: owner, create: false)
        } catch {
            guard error.code == .destinationBadPath else { throw error }
            return nil
        }
    }
}

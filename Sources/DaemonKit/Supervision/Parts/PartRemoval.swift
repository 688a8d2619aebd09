import FileKit
import Glibc
import TransferModel
import TransferStore

/// Removes part files that nobody wants any more, and says which may still be there. All calls block: run them in a
/// `BlockingPool`.
struct PartRemoval: Sendable {
    /// What may still be there.
    struct Left: Sendable, Hashable {
        /// Their file systems are away: nothing changes before one is mounted.
        var away: [LeftPart] = []
        /// Their file systems did not let them go, or did not answer: the next try may succeed.
        var failed: [LeftPart] = []

        var all: [LeftPart] { away + failed }
    }

    let access: FileAccess
    let storeID: String

    /// Removes parts, durably: one that came back with the next boot would be no task's any more.
    /// - Parameters:
    ///   - parts: neighbours share their folder.
    ///   - isStopped: nobody waits for the answer any more; asked before each change.
    /// - Returns: those that may still be there.
    func remove(_ parts: [LeftPart], isStopped: () -> Bool) -> Left {
        var left = Left()
        var rest = parts[...]
        while let first = rest.first {
            let neighbours = rest.prefix { $0.folder == first.folder && $0.owner == first.owner }
            rest = rest.dropFirst(neighbours.count)
            do throws(TransferError) {
                let folder = try access.openFolder(first.folder, owner: first.owner, create: false)
                remove(Array(neighbours), from: folder, isStopped, into: &left)
            } catch {
                guard error.code == .destinationBadPath else {
                    left.failed += neighbours
                    continue
                }
                for part in neighbours { lookFor(part, into: &left) }
            }
        }
        return left
    }

    /// Its folder is missing: it is gone with the folder, or with the file system.
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
                    // Nothing has the name: of another file system that says nothing.
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
        // A disk that cannot promise it keeps nobody from giving up a task.
        if isChanged { try? folder.sync() }
    }

    /// A name with this store's and the task's says whose it is; another part's name only with the very file behind it.
    private func isOurs(_ part: LeftPart, _ status: stat, in folder: Folder) -> Bool {
        guard isRegular(status), PartName.isPartName(part.name) else { return false }
        if PartName.task(of: part.name, store: storeID) == part.task { return true }
        guard let device = part.device, let inode = part.inode else { return false }
        return FileIdentity(status) == FileIdentity(device: device, inode: inode)
    }

    /// Whether the folder is missing on the file system that it was on, rather than with it.
    /// - Throws: the error of the file system if it answers neither.
    private func isGone(_ part: LeftPart) throws(TransferError) -> Bool {
        guard let device = part.device else { return true }
        var path = PathRules.normalized(part.folder)
        while path != "/" {
            path = TransferFiles.folder(of: path)
            do throws(TransferError) {
                return try access.openFolder(path, owner: part.owner, create: false).device == device
            } catch {
                guard error.code == .destinationBadPath else { throw error }
            }
        }
        return false
    }
}

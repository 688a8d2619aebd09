import CurlEngine
import FileKit
import Glibc
import TransferCore
import TransferModel
import TransferStore

/// Moves part files to the new destinations of their tasks.
///
/// A rename keeps the file, which is recognised under the new name by device and inode. Another file system gets a
/// copy, which is durable before the store names it. Only then is the original removed. If the daemon dies at any
/// moment, it leaves a part file that the store names or that can be recognised. Besides it there is at most a file
/// that the next move replaces, or one that the store has noted as left.
extension TransferFiles {
    /// The new folder and name of a task's part file.
    struct PartGoal: Sendable {
        var record: TaskRecord
        var folder: Folder
        var name: String

        var path: String { folder.path(of: name) }
    }

    func goal(of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder) -> PartGoal {
        PartGoal(
            record: record, folder: folder, name: PartName.make(task: record.id, store: storeID, wanted: plan.name))
    }

    /// Moves a part file to its goal.
    /// - Returns: its checkpoint there, which is durable and must be stored; nil if it does not exist any more, or is
    ///   another file; the same checkpoint if its folder is not there, but may come back.
    /// - Throws: `disk.*`, `destination.*`, `cancelled`.
    func move(
        _ checkpoint: Checkpoint, to goal: PartGoal, journal: OffsetJournal?, isStopping: @escaping @Sendable () -> Bool
    ) async throws -> Checkpoint? {
        let path = Self.folder(of: checkpoint.partPath)
        let origin = try await opening(path) { [access] () throws(TransferError) in
            try access.existingFolder(path, owner: goal.record.session.owner)
        }
        let renamed = try await pool.run(on: goal.folder.device) { () throws(TransferError) in
            try Self.renamed(checkpoint, from: origin, to: goal)
        }
        if let renamed { return renamed }
        guard let origin else { return checkpoint }
        return try await hashing.runCancellable(on: goal.folder.device) { isCancelled throws(TransferError) in
            try Self.copied(checkpoint, from: origin, to: goal, journal: journal) { isCancelled() || isStopping() }
        }
    }

    /// Removes a copy that is not needed any more.
    func removePart(_ checkpoint: Checkpoint, owner: UserID) async {
        await opening(Self.folder(of: checkpoint.partPath)) { [access] in
            guard let folder = try? access.openFolder(Self.folder(of: checkpoint.partPath), owner: owner, create: false)
            else { return }
            let name = Self.lastComponent(checkpoint.partPath)
            guard PartName.isPartName(name), let status = try? folder.status(of: name),
                FileIdentity(status) == FileIdentity(checkpoint)
            else { return }
            folder.unlinkDurably([name])
        }
    }

    // MARK: - Steps, which block

    /// - Returns: nil if the part file is not at its goal and cannot be renamed there.
    private static func renamed(
        _ checkpoint: Checkpoint, from origin: Folder?, to goal: PartGoal
    ) throws(TransferError) -> Checkpoint? {
        let name = lastComponent(checkpoint.partPath)
        var isThere = try isPart(checkpoint, goal.name, in: goal.folder)
        if !isThere, let origin {
            guard PartName.isPartName(name), try isPart(checkpoint, name, in: origin) else { return nil }
            let (result, code) = retrying {
                renameat(origin.fileDescriptor, name, goal.folder.fileDescriptor, goal.name)
            }
            if result != 0, code == EXDEV { return nil }
            guard result == 0 else { throw .destination(errno: code, "move", checkpoint.partPath) }
            isThere = true
        }
        guard isThere else { return nil }
        // Both are synced: a name that came back after a power cut would belong to no task.
        try goal.folder.sync()
        try origin?.sync()
        var moved = checkpoint
        moved.partPath = goal.path
        return moved
    }

    private static func isPart(
        _ checkpoint: Checkpoint, _ name: String, in folder: Folder
    ) throws(TransferError) -> Bool {
        guard let status = try folder.status(of: name) else { return false }
        return isRegular(status) && status.st_nlink == 1 && FileIdentity(status) == FileIdentity(checkpoint)
    }

    /// - Returns: nil if the part file is not the same any more.
    private static func copied(
        _ checkpoint: Checkpoint, from origin: Folder, to goal: PartGoal, journal: OffsetJournal?,
        isCancelled: () -> Bool
    ) throws(TransferError) -> Checkpoint? {
        guard PartName.isPartName(lastComponent(checkpoint.partPath)),
            let (old, proven) = try PartFile.recover(
                checkpoint, task: goal.record.id, journal: journal, directory: origin.fileDescriptor,
                mayHaveHoles: mayHaveHoles(goal.record))
        else {
            // An earlier unrecorded copy would belong to no task.
            goal.folder.unlinkDurably([goal.name])
            return nil
        }
        defer { old.close() }
        try requireSpace(for: proven.held, in: goal)
        let new = try PartFile.create(
            path: goal.path, directory: goal.folder.fileDescriptor, replacing: true)
        defer { new.close() }
        do throws(TransferError) {
            try copy(proven, from: old, to: new, isCancelled: isCancelled)
            try new.sync()
            try goal.folder.sync(besides: new.fileDescriptor)
        } catch {
            goal.folder.unlinkDurably([goal.name])
            throw error
        }
        var moved = proven
        moved.partPath = goal.path
        moved.device = new.device
        moved.inode = new.inode
        return moved
    }

    /// Checks the space first. Otherwise a long copy would fail, and again with each attempt.
    private static func requireSpace(for held: ByteCount, in goal: PartGoal) throws(TransferError) {
        guard let free = goal.folder.freeSpace, free < held else { return }
        throw TransferError(
            .diskFull,
            "\(QuantityText.rounded(bytes: held.rawValue)) of the download must move to \(goal.folder.path), where "
                + "\(QuantityText.rounded(bytes: free.rawValue)) are free. Free some; the task resumes by itself.",
            details: [
                "path": .string(goal.folder.path), "free": .integer(free.rawValue), "needed": .integer(held.rawValue),
            ])
    }

    /// Copies only the held ranges; gaps stay gaps.
    private static func copy(
        _ held: Checkpoint, from old: PartFile, to new: PartFile, isCancelled: () -> Bool
    ) throws(TransferError) {
        for range in ByteRangeSet(held).ranges {
            var offset = off_t(range.start.rawValue)
            try readAll(
                of: old.fileDescriptor, path: old.path, from: range.start, length: range.count, isCancelled: isCancelled
            ) { bytes throws(TransferError) in
                if let code = writeAll(bytes, to: new.fileDescriptor, at: offset) {
                    throw .destination(errno: code, "write", new.path)
                }
                offset += off_t(bytes.count)
            }
            guard offset == off_t(range.end.rawValue) else {
                throw TransferError(
                    .diskIO, "\(old.path) ends before byte \(range.end.rawValue), which was stored there.",
                    details: ["path": .string(old.path)])
            }
        }
    }
}

import CLinux
import FileKit
import Glibc
import TransferModel
import TransferStore

/// Removes the files of ended tasks.
extension TransferFiles {
    /// Removes the part files of tasks: those that their checkpoints name, those with the names that the tasks would
    /// give them, and decoded ones left by a killed daemon.
    /// - Returns: those to remove later, because their disk is unavailable or does not answer.
    func discardParts(of records: [TaskRecord], at now: Timestamp) async -> [LeftPart] {
        await remove(records.flatMap { LeftPart.all(of: $0, in: storeID, at: now) }).all
    }

    /// Removes part files, each on threads of its own file system, and waits a while for the answers.
    /// - Parameter kept: a file that stays, whatever its path.
    /// - Returns: those that may still exist.
    func remove(_ parts: [LeftPart], keeping kept: FileIdentity? = nil) async -> PartRemoval.Left {
        var groups: [[LeftPart]] = []
        var places: [UInt64: Int] = [:]
        for part in parts {
            if let place = places[part.device ?? 0] {
                groups[place].append(part)
            } else {
                places[part.device ?? 0] = groups.count
                groups.append([part])
            }
        }
        let removal = PartRemoval(access: access, storeID: storeID, kept: kept)
        let answers = await pool.answers(of: groups, within: Self.longestAnswer) { [self] group, isStopped in
            await opening(group[0].folder) { removal.remove(group, isStopped: isStopped) }
        }
        return zip(groups, answers).reduce(into: PartRemoval.Left()) { left, asked in
            let (group, answer) = asked
            left.away += answer?.away ?? []
            left.failed += answer?.failed ?? group
        }
    }

    private static let longestAnswer = Duration.seconds(5)

    /// Removes part files of which nothing is proven, recorded or not. This attempt may need none, and nobody looks for
    /// them after the task has ended.
    func removeUseless(of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder) async {
        guard record.status.attempts > 1 || record.checkpoint != nil else { return }
        await pool.run(on: folder.device) { [self] in
            folder.unlinkDurably(plan.partNames(task: record.id, store: storeID))
        }
    }

    /// Removes the delivered files of removed tasks, each only if it is still the file that its task delivered. Another
    /// task or the user may have replaced or edited it. A removed file does not come back after a power loss.
    func deleteDelivered(_ records: [TaskRecord]) async -> [RemovedFile] {
        var files: [RemovedFile] = []
        var changed: [String: UserID] = [:]
        for record in records {
            let file = await deleteDelivered(record)
            if file.fate == .deleted, let path = record.result?.file {
                changed[Self.folder(of: path)] = record.session.owner
            }
            files.append(file)
        }
        for (path, owner) in changed {
            await opening(path) { [access] in try? access.openFolder(path, owner: owner, create: false).sync() }
        }
        return files
    }

    private func deleteDelivered(_ record: TaskRecord) async -> RemovedFile {
        guard let result = record.result, let path = result.file else {
            return RemovedFile(id: record.id, fate: .absent)
        }
        return await opening(Self.folder(of: path)) { [access] in
            do throws(TransferError) {
                let isThere = try result.removeFile(at: path, access, owner: record.session.owner)
                return RemovedFile(id: record.id, fate: isThere ? .deleted : .absent)
            } catch {
                return RemovedFile(id: record.id, fate: .kept, reason: error.message)
            }
        }
    }
}

extension LeftPart {
    /// Returns every name that a task's part files may have: those that the task would give them, and the one in its
    /// checkpoint.
    static func all(of record: TaskRecord, in store: String, at now: Timestamp) -> [LeftPart] {
        guard record.spec.kind == .download, let plan = try? DestinationPlan(record.spec.destination)
        else { return [] }
        let owner = record.session.owner
        var parts = plan.partNames(task: record.id, store: store).map { name in
            LeftPart(
                owner: owner, folder: plan.folder, name: name, task: record.id, device: record.destinationDevice,
                recordedAt: now)
        }
        if let held = record.checkpoint {
            // It came with resume data, or has not been moved to its new destination yet.
            let name = TransferFiles.lastComponent(held.partPath)
            if !parts.contains(where: { $0.path == held.partPath }), PartName.isPartName(name) {
                parts.append(
                    LeftPart(
                        owner: owner, folder: TransferFiles.folder(of: held.partPath), name: name, task: record.id,
                        device: held.device, inode: held.inode, recordedAt: now))
            }
        }
        return parts
    }
}

extension TaskResult {
    /// Removes a file by its name after recognising it as the delivered one.
    /// - Returns: whether there was a file.
    /// - Throws: why the file still exists.
    fileprivate func removeFile(at path: String, _ access: FileAccess, owner: UserID) throws(TransferError) -> Bool {
        let name = TransferFiles.lastComponent(path)
        let place = TransferFiles.folder(of: path)
        let folder: Folder
        do throws(TransferError) {
            folder = try access.openFolder(place, owner: owner, create: false)
        } catch {
            var status = stat()
            if lstat(path, &status) != 0, errno == ENOENT || errno == ENOTDIR { return false }
            throw error
        }
        guard let status = try folder.status(of: name) else { return false }
        if let difference = try difference(status, path, name, in: folder) {
            throw TransferError(.diskIO, "\(path) stays: \(difference).", details: ["path": .string(path)])
        }
        let (removed, code) = retrying { unlinkat(folder.fileDescriptor, name, 0) }
        guard removed == 0 || code == ENOENT else { throw .destination(errno: code, "remove", path) }
        return true
    }

    /// Returns how the file differs from the delivered one; nil if it does not.
    private func difference(
        _ status: stat, _ path: String, _ name: String, in folder: Folder
    ) throws(TransferError) -> String? {
        guard isRegular(status) else { return "it is no longer a file" }
        guard ByteCount(Int64(status.st_size)) == bytes else { return "its length has changed" }
        guard let mark else {
            return "an older version of dld delivered it, and did not record how to recognise it"
        }
        guard UInt64(status.st_ino) == mark.inode else { return Self.another }
        if mark.changed == nanoseconds(status.st_ctim) { return nil }
        guard let checksum = mark.checksum else { return Self.changed }
        let (opened, code) = retrying {
            openat(folder.fileDescriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard opened >= 0 else { throw .destination(errno: code, "open", path) }
        let file = Descriptor(opened)
        let isYounger = dld_birth_nanoseconds(opened) > mark.changed ?? .max
        guard FileKit.status(of: opened)?.st_ino == status.st_ino, !isYounger else { return Self.another }
        return try FileHasher.checksum(of: file.rawValue, path: path) == checksum ? nil : Self.changed
    }

    private static let another = "it is another file than the task delivered"
    private static let changed = "it was changed since the task delivered it"
}

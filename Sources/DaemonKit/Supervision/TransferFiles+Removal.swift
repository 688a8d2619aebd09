import Glibc
import TransferModel
import TransferStore

/// What goes with tasks that are over.
extension TransferFiles {
    /// Removes tasks' part files: those that their checkpoints name, those they would be given, and decoded ones that a
    /// daemon left behind which was killed.
    /// - Returns: those that are to be removed later, since their disk is away or does not answer.
    func discardParts(of records: [TaskRecord], at now: Timestamp) async -> [LeftPart] {
        await remove(records.flatMap { parts(of: $0, at: now) }).left
    }

    /// Removes part files, each on threads of its own file system, and waits a while for the answers.
    /// - Returns: what may still be there, and whether each file system answered.
    func remove(_ parts: [LeftPart]) async -> (left: [LeftPart], isAnswered: Bool) {
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
        let removal = PartRemoval(access: access, storeID: storeID)
        let answers = await pool.answers(of: groups, within: Self.longestAnswer) { [self] group, isStopped in
            await opening(group[0].folder) { removal.remove(group, isStopped: isStopped) }
        }
        let left = zip(groups, answers).flatMap { group, answer in answer ?? group }
        return (left, answers.allSatisfy { $0 != nil })
    }

    private static let longestAnswer = Duration.seconds(5)

    private func parts(of record: TaskRecord, at now: Timestamp) -> [LeftPart] {
        guard record.spec.kind == .download, let plan = try? DestinationPlan(record.spec.destination, directory: nil)
        else { return [] }
        let owner = record.session.owner
        var parts = partNames(of: record, plan).map { name in
            LeftPart(
                owner: owner, folder: plan.folder, name: name, task: record.id, device: record.destinationDevice,
                recordedAt: now)
        }
        if let held = record.checkpoint {
            let name = Self.lastComponent(held.partPath)
            if name != parts[0].name, PartName.isPartName(name) {
                parts.append(
                    LeftPart(
                        owner: owner, folder: Self.folder(of: held.partPath), name: name, task: record.id,
                        device: held.device, inode: held.inode, recordedAt: now))
            }
        }
        return parts
    }

    /// Removes part files of which nothing is proven, recorded or not: this attempt may need none, and once the task is
    /// over nobody looks for them.
    func removeUseless(of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder) async {
        guard record.status.attempts > 1 || record.checkpoint != nil else { return }
        await pool.run(on: folder.device) { [self] in folder.unlinkDurably(partNames(of: record, plan)) }
    }

    /// Names that a task's part files have, the one that it is decoded into included.
    private func partNames(of record: TaskRecord, _ plan: DestinationPlan) -> [String] {
        (0...1).map { PartName.make(task: record.id, store: storeID, wanted: plan.name, attempt: $0) }
    }

    /// Removes the delivered file of a task that is being removed, unless something else has its name by now: a file of
    /// another length, a link, a folder.
    /// - Throws: why the file is still there; nothing where it was gone.
    func deleteDelivered(_ record: TaskRecord) async throws {
        guard let file = record.result?.file, let bytes = record.result?.bytes else { return }
        try await opening(Self.folder(of: file)) { [access] () throws(TransferError) in
            let name = Self.lastComponent(file)
            let folder = try access.openFolder(Self.folder(of: file), owner: record.session.owner, create: false)
            var status = stat()
            guard fstatat(folder.fileDescriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT { return }
                throw .destination(errno: errno, "look at", file)
            }
            guard status.st_mode & S_IFMT == S_IFREG, ByteCount(Int64(status.st_size)) == bytes else {
                throw TransferError(
                    .diskIO, "\(file) is not what the task delivered, and stays.", details: ["path": .string(file)])
            }
            if unlinkat(folder.fileDescriptor, name, 0) != 0, errno != ENOENT {
                throw .destination(errno: errno, "remove", file)
            }
        }
    }
}

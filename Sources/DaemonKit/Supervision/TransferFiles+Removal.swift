import Glibc
import TransferModel

/// What goes with tasks that are over.
extension TransferFiles {
    /// Removes tasks' part files: those that their checkpoints name, those they would be given, and decoded ones that a
    /// daemon left behind which was killed. Durably: one that came back with the next boot would be no task's any more.
    func discardParts(of records: [TaskRecord]) async {
        let downloads = records.filter { $0.spec.kind == .download }
        guard !downloads.isEmpty else { return }
        await pool.run { [self] in
            var folder = LastFolder(access: access)
            for record in downloads {
                guard let plan = try? DestinationPlan(record.spec.destination, directory: nil) else { continue }
                let names = partNames(of: record, plan)
                folder.unlink(names, in: plan.folder, record.session.owner)
                guard let path = record.checkpoint?.partPath else { continue }
                let name = Self.lastComponent(path)
                guard name != names[0], PartName.isPartName(name) else { continue }
                folder.unlink([name], in: Self.folder(of: path), record.session.owner)
            }
            folder.sync()
        }
    }

    /// Removes part files of which nothing is proven, recorded or not: this attempt may need none, and once the task is
    /// over nobody looks for them.
    func removeUseless(of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder) async {
        guard record.status.attempts > 1 || record.checkpoint != nil else { return }
        await pool.run { [self] in folder.unlinkDurably(partNames(of: record, plan)) }
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
        try await pool.run { [access] () throws(TransferError) in
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

/// The folder of the file before: tasks that are removed together mostly have one.
private struct LastFolder {
    private let access: FileAccess
    private var place: (path: String, owner: UserID)?
    private var folder: Folder?

    init(access: FileAccess) { self.access = access }

    mutating func unlink(_ names: [String], in path: String, _ owner: UserID) {
        if place.map({ $0 != (path, owner) }) ?? true {
            sync()
            place = (path, owner)
            folder = try? access.openFolder(path, owner: owner, create: false)
        }
        guard let folder else { return }
        for name in names { unlinkat(folder.fileDescriptor, name, 0) }
    }

    /// Makes it durable, as far as its disk can: one that fails keeps nobody from giving up a task.
    func sync() {
        try? folder?.sync()
    }
}

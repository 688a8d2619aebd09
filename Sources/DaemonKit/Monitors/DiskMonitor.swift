import CLinux
import FileKit
import Glibc
import Threading
import TransferModel

/// What a task that waits for the disk needs before it can run again.
package struct DiskNeed: Hashable, Sendable {
    package var plan: DestinationPlan
    package var owner: UserID
    /// The device at the time the task was added; nil if unknown.
    package var device: UInt64?
    /// The bytes still to be written, if the length is known.
    package var remaining: ByteCount?
    /// The name of the part file in the folder. Space that the file has already reserved need not be free again.
    package var partName: String?

    package init(
        plan: DestinationPlan, owner: UserID, device: UInt64?, remaining: ByteCount? = nil, partName: String? = nil
    ) {
        self.plan = plan
        self.owner = owner
        self.device = device
        self.remaining = remaining
        self.partName = partName
    }
}

package enum DiskVerdict: Hashable, Sendable {
    case ready
    /// Why the task must still wait: `disk.full`, `disk.quota`, `disk.io`.
    case notYet(TransferError)
}

/// Tells whether the folders that tasks wait for are back and have room. It polls statvfs(3), because the kernel sends
/// no notification.
package struct DiskMonitor: Sendable {
    private let access: FileAccess
    private let pool: BlockingPool
    /// File systems whose answer is pending.
    private let asked = Guarded(Set<UInt64>())
    /// File systems that did not answer in time and still have not.
    private let silent = Guarded(Set<UInt64>())

    /// The size of a trial allocation in bytes. It finds a quota or a reserve that statvfs does not show.
    static let trialSize: Int64 = 1 << 20

    package init(access: FileAccess, pool: BlockingPool) {
        self.access = access
        self.pool = pool
    }

    /// Checks one need. Does not block the caller's thread.
    /// - Parameter minimumFree: the setting `minimumFreeSpace`, which must stay free.
    package func check(_ need: DiskNeed, minimumFree: ByteCount) async -> DiskVerdict {
        await pool.run(at: need.plan.folder, followsLinks: !access.isConfined) { () -> DiskVerdict in
            judge(need, minimumFree: minimumFree)
        }
    }

    /// Returns those of `waiting` that can run again. Needs on one file system share its room, first come, first
    /// served, so that a thousand tasks do not all start for the room of one. A file system that does not answer delays
    /// no other, and is not asked again until it has answered.
    package func ready<ID: Hashable & Sendable>(
        among waiting: [(id: ID, need: DiskNeed)], minimumFree: ByteCount
    ) async -> [ID] {
        var groups: [[(id: ID, need: DiskNeed)]] = []
        var places: [UInt64: Int] = [:]
        for one in waiting {
            let device = one.need.device ?? 0
            if let place = places[device] {
                groups[place].append(one)
            } else if asked.withLock({ $0.insert(device).inserted }) {
                places[device] = groups.count
                groups.append([one])
            }
        }
        let answers = await pool.answers(of: groups, within: Self.longestAnswer) { needs, _ in
            defer { asked.withLock { _ = $0.remove(needs[0].need.device ?? 0) } }
            return await ready(of: needs, minimumFree: minimumFree)
        }
        return answers.flatMap { $0 ?? [] }
    }

    private static let longestAnswer = Duration.seconds(2)

    /// Tells whether the file system of `need` answers within a second. One that has not answered is not asked again
    /// until it has.
    package func answers(_ need: DiskNeed) async -> Bool {
        let device = need.device ?? 0
        guard !silent.withLock({ $0.contains(device) }) else { return false }
        let isAnswered = Guarded(false)
        let answers = await pool.answers(of: [need], within: .seconds(1)) { need, _ in
            _ = await check(need, minimumFree: .zero)
            isAnswered.withLock { $0 = true }
            silent.withLock { _ = $0.remove(device) }
            return true
        }
        if answers.first == .some(true) { return true }
        // It may have answered in the meantime.
        return isAnswered.withLock { isAnswered in
            if !isAnswered { silent.withLock { _ = $0.insert(device) } }
            return isAnswered
        }
    }

    /// - Parameter needs: all on one file system; not empty.
    private func ready<ID: Sendable>(
        of needs: [(id: ID, need: DiskNeed)], minimumFree: ByteCount
    ) async -> [ID] {
        await pool.run(at: needs[0].need.plan.folder, followsLinks: !access.isConfined) { () -> [ID] in
            var promised = ByteCount.zero
            var result: [ID] = []
            for (id, need) in needs where judge(need, minimumFree: minimumFree + promised) == .ready {
                promised = promised + (need.remaining ?? Folder.leastRoom)
                result.append(id)
            }
            return result
        }
    }

    private func judge(_ need: DiskNeed, minimumFree: ByteCount) -> DiskVerdict {
        do {
            let folder = try need.plan.open(access, owner: need.owner, device: need.device)
            try folder.requireWritable()
            try requireReadWrite(folder)
            try requireRoom(in: folder, for: need, minimumFree: minimumFree)
            return .ready
        } catch {
            return .notYet(error)
        }
    }

    private func requireReadWrite(_ folder: Folder) throws(TransferError) {
        var status = statvfs()
        guard fstatvfs(folder.fileDescriptor, &status) == 0 else {
            throw .destination(errno: errno, "ask", folder.path)
        }
        if status.f_flag & UInt(ST_RDONLY) != 0 {
            throw .destination(errno: EROFS, "write in", folder.path)
        }
    }

    private func requireRoom(in folder: Folder, for need: DiskNeed, minimumFree: ByteCount) throws(TransferError) {
        guard let free = folder.freeSpace else { return }
        let wanted = max(.zero, (need.remaining ?? Folder.leastRoom) - reserved(in: folder, by: need)) + minimumFree
        guard free >= wanted else {
            var details: [String: JSONValue] = [
                "path": .string(folder.path), "free": .integer(free.rawValue), "needed": .integer(wanted.rawValue),
            ]
            if minimumFree > .zero { details["minimum"] = .integer(minimumFree.rawValue) }
            throw TransferError(
                .diskFull,
                "\(folder.path) has \(QuantityText.rounded(bytes: free.rawValue)) free, and "
                    + "\(QuantityText.rounded(bytes: wanted.rawValue)) are needed\(kept(minimumFree)). Free some; the task "
                    + "resumes by itself.",
                details: details)
        }
        if wanted > minimumFree { try tryAllocation(in: folder) }
    }

    private func kept(_ minimumFree: ByteCount) -> String {
        minimumFree > .zero
            ? ", including the \(QuantityText.rounded(bytes: minimumFree.rawValue)) that minimumFreeSpace keeps free"
            : ""
    }

    /// The blocks beyond the file's size that are preallocated for the part file.
    private func reserved(in folder: Folder, by need: DiskNeed) -> ByteCount {
        guard let name = need.partName, let status = try? folder.status(of: name),
            status.st_mode & S_IFMT == S_IFREG
        else { return .zero }
        return ByteCount(max(0, Int64(status.st_blocks) * 512 - Int64(status.st_size)))
    }

    private func tryAllocation(in folder: Folder) throws(TransferError) {
        let descriptor = openat(folder.fileDescriptor, ".", DLD_O_TMPFILE | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            let code = errno
            // No inode is free, the quota allows no further file, or the file system found a fault in itself, which
            // statvfs does not show on newer kernels.
            if [ENOSPC, EDQUOT, EROFS, EIO].contains(code) {
                throw .destination(errno: code, "create a file in", folder.path)
            }
            // Not every file system supports unnamed files. Here only the next attempt can find out.
            return
        }
        defer { close(descriptor) }
        if dld_reserve(descriptor, 0, Self.trialSize) != 0, errno == ENOSPC || errno == EDQUOT {
            throw .destination(errno: errno, "write in", folder.path)
        }
    }
}

import FileKit
import Logging
import TransferCore
import TransferModel
import TransferStore

/// Tasks that wait for a disk. Disks must be polled: nothing reports that one is back or has room.
struct DiskWaits: Sendable {
    let store: TransferStore
    let conditions: Conditions
    let waiting: WaitingTasks
    let minimumFreeSpace: @Sendable () -> ByteCount
    let logger: Logger

    /// Queues the tasks whose disk is back or has room again.
    func poll() async {
        guard conditions.needsPolling else { return }
        conditions.set(needsPolling: false)
        do {
            try await store.forEachPage {
                try $0.waiting(reason: .disk, after: $1?.id, limit: 500)
            } do: { records in
                conditions.set(needsPolling: true)
                let needs = records.compactMap { record in need(of: record).map { (id: record.id, need: $0) } }
                let ready = await conditions.disk.ready(among: needs, minimumFree: minimumFreeSpace())
                try await waiting.clear(ready)
            }
        } catch {
            conditions.set(needsPolling: true)
            logger.retried("cannot look at waiting tasks", error)
        }
    }

    /// Returns an attempt's ending, corrected by a check of the disk. If the disk looks well, the task must not wait
    /// for it, because every check would release it at once.
    func adjusted(_ ending: AttemptEnding, of id: TaskID) async -> AttemptEnding {
        guard let error = ending.diskError, let record = try? await store.read({ try $0.task(id) }),
            let need = need(of: record, error)
        else { return ending }
        switch await conditions.disk.check(need, minimumFree: minimumFreeSpace()) {
        case .ready: return ending.withReadyDisk
        case .notYet(let cause): return ending.explained(by: cause)
        }
    }

    /// - Parameter error: the error that the task waits for; nil to use the task's own.
    func need(of record: TaskRecord, _ error: TransferError? = nil) -> DiskNeed? {
        guard let plan = try? DestinationPlan(record.spec.destination) else { return nil }
        return DiskNeed(
            plan: plan, owner: record.session.owner, device: record.destinationDevice,
            remaining: unfolded(error ?? record.status.error)
                ?? record.checkpoint.flatMap { held in
                    // A part on another file system is copied as a whole.
                    let stays = record.destinationDevice ?? held.device == held.device
                    return held.total.map { stays ? $0 - held.held : $0 }
                } ?? announced(record),
            partName: record.checkpoint.map { TransferFiles.lastComponent($0.partPath) })
    }

    /// The decoded size of a coded file that is already here.
    private func unfolded(_ error: TransferError?) -> ByteCount? {
        error?.details[ContentDecoding.neededMember]?.integerValue.map { ByteCount($0) }
    }

    /// The length that the server announced for a file of which nothing is held.
    private func announced(_ record: TaskRecord) -> ByteCount? {
        guard record.checkpoint == nil, let length = record.response?.expectedLength, length > 0 else { return nil }
        return ByteCount(length)
    }
}

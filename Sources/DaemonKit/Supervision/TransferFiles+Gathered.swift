import CurlEngine
import Threading
import TransferCore
import TransferModel

/// Delivery of bodies that were gathered in memory: no part file, no look at the store, one stay on a thread that blocks.
extension TransferFiles {
    /// What an earlier run of the task delivered without living to tell.
    func delivered(
        before record: TaskRecord, as name: String, in folder: Folder, _ policy: EffectivePolicy
    ) async throws -> GatheredDelivery.Placed? {
        guard record.status.attempts > 1 else { return nil }
        return try await pool.run { [storeID] () throws(TransferError) in
            try GatheredDelivery.recognised(
                in: folder, name: name, policy: policy.conflictPolicy, store: storeID, task: record.id,
                durability: policy.durability)
        }
    }

    /// Checks a body against the digests that are known of it.
    /// - Throws: `integrity.checksum`.
    func verify(
        _ bytes: [UInt8], expected: [DigestAlgorithm: String]
    ) async throws -> [DigestAlgorithm: String] {
        guard !expected.isEmpty else { return [:] }
        return try await pool.run { () throws(TransferError) in
            try Verification.verify(bytes: bytes, expected: expected)
        }
    }

    /// Brings `bytes` under `name`.
    /// - Returns: nil where the file system cannot do it without a part file.
    /// - Throws: `destination.*`, `disk.*`.
    func deliver(
        gathered bytes: [UInt8], of record: TaskRecord, to folder: Folder, name: String, _ policy: EffectivePolicy,
        isProven: Bool, modificationTime: Int64?
    ) async throws -> GatheredDelivery.Placed? {
        let delivery = GatheredDelivery(
            folder: folder, bytes: bytes, name: name,
            partName: PartName.make(task: record.id, store: storeID, wanted: name), policy: policy.conflictPolicy,
            store: storeID, task: record.id, durability: policy.durability, isProven: isProven,
            modificationTime: modificationTime)
        return try await pool.settled(in: folder) { () throws(TransferError) in
            let placed = try delivery.place()
            return (placed, delivery.durability.isSynced ? placed?.file : nil)
        }
    }

    /// Puts a gathered body into its part file after all.
    func write(_ bytes: [UInt8], to part: PartFile) async throws {
        try await pool.run { () throws(TransferError) in
            try part.open()
            try part.write(bytes)
        }
    }
}

extension BlockingPool {
    /// Runs `body`, then waits for a sync of `folder`, shared with others, where `body` returns a file beside its value.
    /// No thread waits for the sync.
    func settled<T: Sendable>(
        in folder: Folder,
        _ body: @escaping @Sendable () throws(TransferError) -> (value: T, unsynced: Descriptor?)
    ) async throws(TransferError) -> T {
        let result: Result<T, TransferError> = await withCheckedContinuation { continuation in
            post {
                do throws(TransferError) {
                    let (value, unsynced) = try body()
                    guard let unsynced else { return continuation.resume(returning: .success(value)) }
                    folder.sync(besides: unsynced, in: self) { synced in
                        continuation.resume(returning: synced.map { value })
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}

/// Takes the marks off delivered files that the store knows of, a batch at a time: nobody waits for it.
final class MarkCleaner: Sendable {
    private let files = Guarded([Descriptor]())
    private let pool: BlockingPool

    init(pool: BlockingPool) { self.pool = pool }

    func remove(from file: Descriptor) {
        let isFirst = files.withLock { files in
            files.append(file)
            return files.count == 1
        }
        if isFirst { pool.post { self.clean() } }
    }

    private func clean() {
        let batch = files.withLock { files in
            defer { files = [] }
            return files
        }
        for file in batch { DeliveryMark.remove(from: file.rawValue) }
    }
}

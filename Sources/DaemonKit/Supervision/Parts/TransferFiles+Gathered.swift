import CurlEngine
import FileKit
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
        return try await pool.run(on: folder.device) { [storeID] () throws(TransferError) in
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
        return try await deliveryPool(policy).settled(in: folder) { [marks] () throws(TransferError) in
            marks.clean(on: folder.device)
            let placed = try delivery.place()
            return (placed, delivery.durability.isSynced ? placed?.file : nil)
        }
    }

    /// Puts a gathered body into its part file after all.
    func write(_ bytes: [UInt8], to part: PartFile) async throws {
        try await pool.run(on: part.device) { () throws(TransferError) in
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
            post(on: folder.device) {
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

/// Takes the marks off delivered files that the store knows of: with the next delivery to their file system, or soon if
/// none comes.
final class MarkCleaner: Sendable {
    private struct State {
        /// By device.
        var files: [UInt64: [Descriptor]] = [:]
        var awaited: Set<UInt64> = []
    }

    private let state = Guarded(State())
    private let pool: BlockingPool
    private static let patience = Duration.milliseconds(20)

    init(pool: BlockingPool) { self.pool = pool }

    /// Returns at once; the file stays open until its mark is gone.
    func remove(from file: Descriptor, on device: UInt64) {
        let isFirst = state.withLock { state in
            state.files[device, default: []].append(file)
            return state.awaited.insert(device).inserted
        }
        guard isFirst else { return }
        Task {
            try? await Task.sleep(for: Self.patience)
            pool.post(on: device) {
                self.state.withLock { _ = $0.awaited.remove(device) }
                self.clean(on: device)
            }
        }
    }

    /// Takes off what waits on this file system; blocks.
    func clean(on device: UInt64) {
        let batch = state.withLock { $0.files.removeValue(forKey: device) ?? [] }
        for file in batch { DeliveryMark.remove(from: file.rawValue) }
    }
}

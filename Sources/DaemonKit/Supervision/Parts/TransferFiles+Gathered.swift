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

    /// What became of a body that was to be delivered from memory.
    enum MemoryDelivery: Sendable {
        /// - Parameter sha256: if it was computed of this very body.
        case placed(GatheredDelivery.Placed, sha256: String?)
        /// The file system cannot do it without a part file.
        case impossible
        /// `commit` did not allow it.
        case stopped
    }

    /// Checks a body against the digests that are known of it, and brings it under its name: one job for all of it.
    /// - Parameters:
    ///   - mayBeThere: an earlier run of the task may have delivered it without living to tell.
    ///   - commit: called when the body is proven; false if it must not be delivered.
    ///   - then: called once, on any thread. Fails with `integrity.checksum`, `destination.*`, `disk.*`.
    func deliver(
        _ delivery: GatheredDelivery, expected: [DigestAlgorithm: String], mayBeThere: Bool,
        commit: @escaping @Sendable () -> Bool,
        then: @escaping @Sendable (Result<MemoryDelivery, TransferError>) -> Void
    ) {
        let folder = delivery.folder
        let pool = delivery.durability.isSynced ? syncing : self.pool
        pool.runSynced(in: folder) {
            [marks] () throws(TransferError) -> (value: MemoryDelivery, unsynced: Descriptor?) in
            let digests = expected.isEmpty ? [:] : try Verification.verify(bytes: delivery.bytes, expected: expected)
            guard commit() else { return (.stopped, nil) }
            marks.clean(on: folder.device)
            if mayBeThere, let earlier = try delivery.recognised() { return (.placed(earlier, sha256: nil), nil) }
            guard let placed = try delivery.place() else { return (.impossible, nil) }
            return (.placed(placed, sha256: digests[.sha256]), delivery.durability.isSynced ? placed.file : nil)
        } then: {
            then($0)
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
    func runSynced<T: Sendable>(
        in folder: Folder,
        _ body: @escaping @Sendable () throws(TransferError) -> (value: T, unsynced: Descriptor?)
    ) async throws(TransferError) -> T {
        let result: Result<T, TransferError> = await withCheckedContinuation { continuation in
            runSynced(in: folder, body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// As above; calls `then` once, on any thread.
    func runSynced<T: Sendable>(
        in folder: Folder,
        _ body: @escaping @Sendable () throws(TransferError) -> (value: T, unsynced: Descriptor?),
        then: @escaping @Sendable (Result<T, TransferError>) -> Void
    ) {
        post(on: folder.device) {
            do throws(TransferError) {
                let (value, unsynced) = try body()
                guard let unsynced else { return then(.success(value)) }
                folder.sync(besides: unsynced, in: self) { synced in then(synced.map { value }) }
            } catch {
                then(.failure(error))
            }
        }
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

import CurlEngine
import FileKit
import Threading
import TransferCore
import TransferModel

/// Delivers bodies that were gathered in memory, without a part file, without reading the store, and in one job on a
/// blocking thread.
extension TransferFiles {
    /// The result of a delivery from memory.
    enum MemoryDelivery: Sendable {
        /// - Parameter sha256: the digest, if it was computed for this body.
        case placed(GatheredDelivery.Placed, sha256: String?)
        /// The file system needs a part file for this.
        case impossible
        /// `commit` did not allow it.
        case stopped
    }

    /// Compares a body with its known digests and puts it under its name, all in one job.
    /// - Parameters:
    ///   - mayBeThere: an earlier run of the task may have delivered it before its daemon died.
    ///   - commit: called when the body is verified. Returns false if the body must not be delivered.
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

    /// Writes a gathered body into its part file after all.
    func write(_ bytes: [UInt8], to part: PartFile) async throws {
        try await pool.run(on: part.device) { () throws(TransferError) in
            try part.open()
            try part.write(bytes)
        }
    }
}

extension BlockingPool {
    /// Runs `body`. If it returns a file with its value, waits for a sync of `folder` that is shared with other
    /// deliveries. No thread waits for the sync.
    func runSynced<T: Sendable>(
        in folder: Folder,
        _ body: @escaping @Sendable () throws(TransferError) -> (value: T, unsynced: Descriptor?)
    ) async throws(TransferError) -> T {
        let result: Result<T, TransferError> = await withCheckedContinuation { continuation in
            runSynced(in: folder, body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Like the function above. Calls `then` once, on any thread.
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

/// Removes the marks from delivered files that the store knows: with the next delivery to their file system, or soon if
/// there is none.
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

    /// Returns at once. The file stays open until its mark is removed.
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

    /// Removes the pending marks on this file system. Blocks.
    func clean(on device: UInt64) {
        let batch = state.withLock { $0.files.removeValue(forKey: device) ?? [] }
        for file in batch { DeliveryMark.remove(from: file.rawValue) }
    }
}

import Logging
import TransferModel
import TransferStore

/// Stores what has already happened outside the store, however long the store is out of space.
struct StorePatience: Sendable {
    let store: TransferStore
    let isStopping: @Sendable () -> Bool

    /// Tries again each second while the state folder is full or fails; gives up only when the daemon stops.
    @inline(never)  // Kept off the frames that wait.
    func persistently<T: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> T
    ) async throws -> T {
        while true {
            do {
                return try await store.write(body)
            } catch let error as TransferError where Self.passes(error.code) && !isStopping() {
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    static func passes(_ code: ErrorCode) -> Bool {
        code == .diskFull || code == .diskQuota || code == .diskIO
    }
}

extension Logger {
    /// Something failed that is tried again. Where the store is full or fails, the daemon says so once (`StoreHealth`), not
    /// with each try.
    func retried(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let isTheStores = (error as? TransferError).map { StorePatience.passes($0.code) } ?? false
        log(level: isTheStores ? .debug : .warning, message, metadata: metadata.merging(["error": "\(error)"]) { $1 })
    }
}

import Logging
import Threading
import TransferModel
import TransferStore

/// Stores what has already happened outside the store, however long the store is out of space.
struct StorePatience: Sendable {
    let store: TransferStore
    let isStopping: @Sendable () -> Bool
    private let givenUp = Guarded(false)

    init(store: TransferStore, isStopping: @escaping @Sendable () -> Bool) {
        self.store = store
        self.isStopping = isStopping
    }

    /// Whether something that has happened could not be stored: the next daemon finds it out anew.
    var hasGivenUp: Bool { givenUp.withLock { $0 } }

    /// Tries again each second while the state folder is full or fails; gives up only when the daemon stops.
    @inline(never)  // Kept off the frames that wait.
    func persistently<T: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> T
    ) async throws -> T {
        while true {
            do {
                return try await store.write(body)
            } catch let error as TransferError where Self.passes(error.code) {
                guard !isStopping() else {
                    givenUp.withLock { $0 = true }
                    throw error
                }
                // Of its own: in a task that was cancelled a sleep is over at once.
                await Task { try? await Task.sleep(for: .seconds(1)) }.value
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

import Logging
import Threading
import TransferModel
import TransferStore

/// Stores what has already happened outside the store, however long the store is out of space.
struct StorePatience: Sendable {
    let store: TransferStore
    let isStopping: @Sendable () -> Bool
    private let givenUp = Guarded(false)

    /// Something that has happened could not be stored. The next daemon must find it out again.
    var hasGivenUp: Bool { givenUp.withLock { $0 } }

    /// Tries again each second while the state folder is full or failing. Gives up only when the daemon stops.
    @inline(never)  // Keeps its locals out of suspended frames.
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
                // A separate task, because in a cancelled task a sleep ends at once.
                await Task { try? await Task.sleep(for: .seconds(1)) }.value
            }
        }
    }

    static func passes(_ code: ErrorCode) -> Bool {
        code == .diskFull || code == .diskQuota || code == .diskIO
    }
}

extension TransferStore {
    /// Reads page after page, each with what follows the last element of the one before, until a page is empty.
    func forEachPage<Element: Sendable>(
        _ page: @escaping @Sendable (StoreSnapshot, _ after: Element?) throws -> [Element],
        do body: ([Element]) async throws -> Void
    ) async throws {
        var last: Element?
        while true {
            let after = last
            let elements = try await read { try page($0, after) }
            guard let end = elements.last else { return }
            try await body(elements)
            last = end
        }
    }
}

extension Logger {
    /// Logs a failure that is tried again. If the store is full or failing, the daemon logs that once (`StoreHealth`)
    /// instead of with each try.
    func retried(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let isTheStores = (error as? TransferError).map { StorePatience.passes($0.code) } ?? false
        log(level: isTheStores ? .debug : .warning, message, metadata: metadata.merging(["error": "\(error)"]) { $1 })
    }
}

import Threading

/// Threads outside Swift's cooperative pool, for servers and for calls that block.
package enum Threads {
    package static func start(_ body: @escaping @Sendable () -> Void) throws {
        guard NamedThread.start("test", body) else { throw SupportError("The system gives no thread.") }
    }

    /// Runs a blocking body on its own thread.
    package static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        let result: Result<T, any Error> = await withCheckedContinuation { continuation in
            do {
                try start { continuation.resume(returning: Result { try body() }) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}

/// Polls until `condition` holds, `limit` seconds have passed, or the test's own time limit has passed, which cancels it.
/// Limits only end a broken run.
/// - Returns: whether it held.
package func eventually(
    within limit: Double = 60, every interval: Double = 0.02, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(limit)
    while true {
        if try await condition() { return true }
        if Task.isCancelled || ContinuousClock.now > deadline { return false }
        try? await Task.sleep(for: .seconds(interval))
    }
}

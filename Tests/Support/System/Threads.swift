import Glibc

/// Threads beside Swift's cooperative ones, for servers and for calls that block.
package enum Threads {
    /// Starts a detached thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws {
        let box = Unmanaged.passRetained(Body(body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, &attributes,
            { argument in
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, box.toOpaque())
        guard status == 0 else {
            box.release()
            throw SupportError("pthread_create: \(status)")
        }
    }

    /// Runs a blocking body on a thread of its own.
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

    private final class Body: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// Polls until `condition` holds or `limit` seconds are over. A limit is only there to end a broken run.
/// - Returns: whether it held.
package func eventually(
    within limit: Double = 60, every interval: Double = 0.02, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(limit)
    while true {
        if try await condition() { return true }
        if ContinuousClock.now > deadline { return false }
        try? await Task.sleep(for: .seconds(interval))
    }
}

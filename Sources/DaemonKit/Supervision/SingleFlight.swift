import Threading

/// Background work that runs at most once at a time.
final class SingleFlight: Sendable {
    private let work = Guarded<Task<Void, Never>?>(nil)

    /// Starts `body`, unless an earlier one has not ended yet.
    func start(_ body: @escaping @Sendable () async -> Void) {
        work.withLock { work in
            guard work == nil else { return }
            work = Task {
                await body()
                self.work.withLock { $0 = nil }
            }
        }
    }

    func cancel() {
        work.withLock { $0 }?.cancel()
    }
}

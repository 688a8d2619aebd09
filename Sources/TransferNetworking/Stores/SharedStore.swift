import Threading
import TransferModel
import TransferRPC

/// How a store of this process reaches the daemon: over a connection of its own for the user's store, or over those of the
/// sessions that have it.
///
/// Changes are sent in their order. A session adds its next task after they have arrived.
final class StoreLink: @unchecked Sendable {
    /// The user's own stores.
    static let user = StoreLink(SessionCore(.withoutStores, OperationQueue(), isForStores: true))

    private struct Values: Sendable {
        var cores: [SessionCore] = []
        var sent = 0
        var arrived = 0
        var waiting: [(number: Int, body: @Sendable () -> Void)] = []
    }
    private let values: Guarded<Values>
    private let isUsers: Bool

    init(_ core: SessionCore? = nil) {
        values = Guarded(Values(cores: core.map { [$0] } ?? []))
        isUsers = core != nil
    }

    /// A session has the store from now on.
    func attach(_ core: SessionCore) { if !isUsers { values.withLock { $0.cores.append(core) } } }
    func detach(_ core: SessionCore) { if !isUsers { values.withLock { $0.cores.removeAll { $0 === core } } } }
    var cores: [SessionCore] { values.withLock { $0.cores } }
    /// The session's name in parameters; nil for the user's own store.
    func name(of core: SessionCore) -> String? { isUsers ? nil : core.name }

    /// Sends a change to each session that has the store.
    func change<M: RPCMethod>(_ method: M, _ parameters: @escaping (String?) -> M.Parameters) {
        for core in cores {
            values.withLock { $0.sent += 1 }
            core.callWhenOpen(method, parameters(name(of: core))) { [self] _ in arrived() }
        }
    }

    /// Runs when the changes so far have arrived.
    func whenSettled(_ body: @escaping @Sendable () -> Void) {
        let isSettled = values.withLock { values in
            if values.arrived >= values.sent { return true }
            values.waiting.append((values.sent, body))
            return false
        }
        if isSettled { body() }
    }

    private func arrived() {
        let ready = values.withLock { values in
            values.arrived += 1
            let arrived = values.arrived
            defer { values.waiting.removeAll { $0.number <= arrived } }
            return values.waiting.filter { $0.number <= arrived }.map(\.body)
        }
        for body in ready { body() }
    }

    /// Asks the store for what it holds.
    func read<M: RPCMethod>(
        _ method: M, _ parameters: (String?) -> M.Parameters,
        _ done: @escaping @Sendable (M.Result?) -> Void
    ) {
        guard let core = cores.first else { return done(nil) }
        core.callWhenOpen(method, parameters(name(of: core))) { done(try? $0.get()) }
    }
}

/// Waits for a callback, at most 5 s: Apple's stores answer at once.
func waitBriefly(_ body: (@escaping @Sendable () -> Void) -> Void) {
    let semaphore = DispatchSemaphore(value: 0)
    body { semaphore.signal() }
    _ = semaphore.wait(timeout: .now() + 5)
}

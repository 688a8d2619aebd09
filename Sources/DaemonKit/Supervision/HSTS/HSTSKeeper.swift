import CurlEngine
import DaemonSetup
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The hosts that tasks reach over https alone (RFC 6797): those of owners, which are stored, and in memory those of ephemeral
/// sessions.
///
/// What a server says is handed to the store before the response's body is read, so it is stored no later than the end of
/// its task.
package final class HSTSKeeper: Sendable {
    package typealias Place = CookieKeeper.Place

    private struct State {
        var lists: [Place: HSTSList] = [:]
        /// What a full disk kept from the store; the owner's next change takes it along.
        var unstored: [UserID: [String]] = [:]
    }

    private let state = Guarded(State())
    private let store: TransferStore
    private let time: any TimeSource

    /// - Parameter store: the one on the disk.
    package init(store: TransferStore, time: any TimeSource = SystemTime()) {
        self.store = store
        self.time = time
    }

    /// Reads what is stored; before anything else is asked.
    func load() async throws {
        guard state.withLock({ $0.lists.isEmpty }) else { return }
        let now = time.reading().wall
        let stored = try await store.write { transaction in
            try transaction.removeHSTSHosts(expiredAt: now)
            return try transaction.hstsHosts()
        }
        let lists = Dictionary(grouping: stored, by: \.owner).map { owner, hosts in
            (Place.shared(owner), HSTSList(hosts.map(\.host)))
        }
        state.withLock { $0.lists = Dictionary(uniqueKeysWithValues: lists) }
    }

    // MARK: Tasks

    /// What a task of this session obeys and learns; nil if it does neither.
    func hosts(of session: SessionKey, _ policy: EffectivePolicy) -> TaskHSTS? {
        guard policy.$network.wrappedValue.obeysHSTS else { return nil }
        return TaskHSTS(self, policy.usesOwnersStores ? .shared(session.owner) : .volatile(session))
    }

    fileprivate func isKnown(_ host: String, in place: Place) -> Bool {
        let now = time.reading().wall
        return state.withLock { $0.lists[place]?.isKnown(host, at: now) ?? false }
    }

    fileprivate func receive(_ field: String, from host: String, in place: Place) {
        let now = time.reading().wall
        let changed = state.withLock {
            $0.lists[place, default: HSTSList()].receive(field, from: host, at: now)
        }
        guard case .shared(let owner) = place, !changed.isEmpty else { return }
        let due = state.withLock { ($0.unstored.removeValue(forKey: owner) ?? []) + changed }
        store.write(storing(due, of: owner)) { [weak self] in
            guard case .failure = $0 else { return }
            self?.state.withLock { $0.unstored[owner, default: []] += due }
        }
    }

    /// Hears of what was committed for volatile sessions: what one had for itself ends with it.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated {
            state.withLock { $0.lists[.volatile(event.session)] = nil }
        }
    }

    // MARK: The store

    /// Writes each host as it is by then: whichever change comes last to the store, the last one counts.
    private func storing(_ domains: [String], of owner: UserID) -> @Sendable (StoreTransaction) throws -> Void {
        { [self] transaction in
            for domain in Set(domains) {
                if let host = state.withLock({ $0.lists[.shared(owner)]?.host(domain) }) {
                    try transaction.put(host, owner: owner)
                } else {
                    try transaction.removeHSTSHost(domain, owner: owner)
                }
            }
        }
    }

    // MARK: Clients

    /// Those that have not expired, by name.
    package func list(_ place: Place) -> [HSTSHost] {
        let now = time.reading().wall
        return state.withLock { $0.lists[place]?.all(at: now) ?? [] }
    }

    /// Forgets a domain and the names below it, or all; durable when it returns. What the store does not take, the owner's
    /// next change takes along.
    /// - Returns: how many were known.
    package func forget(_ domain: String?, in place: Place) async throws -> Int {
        let now = time.reading().wall
        let (gone, count) = state.withLock { state -> ([String], Int) in
            let before = state.lists[place]?.all(at: now).count ?? 0
            let gone = state.lists[place]?.forget(domain) ?? []
            return (gone, before - (state.lists[place]?.all(at: now).count ?? 0))
        }
        guard case .shared(let owner) = place, !gone.isEmpty else { return count }
        do {
            try await store.write(storing(gone, of: owner))
        } catch {
            state.withLock { $0.unstored[owner, default: []] += gone }
            throw error
        }
        return count
    }
}

/// The same for one task while it runs.
final class TaskHSTS: HSTSKeeping {
    private let keeper: HSTSKeeper
    private let place: HSTSKeeper.Place

    init(_ keeper: HSTSKeeper, _ place: HSTSKeeper.Place) {
        self.keeper = keeper
        self.place = place
    }

    func isKnown(_ host: String) -> Bool { keeper.isKnown(host, in: place) }

    func receive(_ field: String, from host: String) { keeper.receive(field, from: host, in: place) }

    /// The URL over https; nil if it is not one of http, or its host is not known.
    func secured(_ url: String) -> String? {
        guard let parsed = try? URLRules.parse(url), parsed.scheme == .http, isKnown(parsed.host) else { return nil }
        return StrictTransportSecurity.secured(parsed.requestURL)
    }
}
